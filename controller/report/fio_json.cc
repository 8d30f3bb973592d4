#include "controller/report/fio_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "controller/report/fio_parts.h"
#include "controller/report/histogram_logs.h"
#include "controller/report/safe_report.h"
#include "controller/report/verdict.h"

namespace lockstep::controller {
namespace {

// The keys stay in the order in which they are set here, which is fio's.
using Json = nlohmann::ordered_json;
using Latencies = FioLatencies;

int64_t Whole(double value) { return std::llround(value); }

Json Summary(const Latencies& l) {
  return {{"min", l.Min()},
          {"max", l.Max()},
          {"mean", l.Mean()},
          {"stddev", l.Deviation()},
          {"N", Whole(l.count)}};
}

Json WithBins(const Latencies& l) {
  Json out = Summary(l);
  if (l.bins.empty()) return out;
  Json percentiles = Json::object();
  for (const double percent : kFioPercents) {
    percentiles[absl::StrFormat("%.6f", percent)] = Whole(l.Percentile(percent));
  }
  Json bins = Json::object();
  for (const auto& [bin, count] : l.bins) bins[absl::StrCat(bin)] = Whole(count);
  out["percentile"] = std::move(percentiles);
  out["bins"] = std::move(bins);
  return out;
}

// One workload of one phase.
class Job {
 public:
  Job(const v1::PhaseReport& phase, const v1::WorkloadReport& workload,
      const std::vector<v1::LatencyHistogram>& histograms)
      : phase_(phase), workload_(workload), histograms_(histograms) {}

  Json Make(int group) const {
    Json job = {{"jobname", absl::StrCat(phase_.name(), " ", workload_.name())},
                {"groupid", group},
                {"error", 0},
                {"eta", 0},
                {"elapsed", Whole(phase_.duration_seconds())},
                {"job options", Options()}};
    for (const char* kind : {"read", "write", "trim"}) job[kind] = Direction(kind);
    job["sync"] = {{"total_ios", Whole(OperationOf("fsync").operations())},
                   {"lat_ns", WithBins(Latencies(Find("fsync", "")))}};
    job["job_runtime"] = Whole(Seconds() * 1e3);
    // A figure that is not known is left out: 0 would be a figure.
    if (const auto time = ProcessorTimeOf(phase_, workload_)) {
      job["usr_cpu"] = time->user;
      job["sys_cpu"] = time->system;
    }
    if (const auto switches = ContextSwitchesOf(phase_, workload_)) job["ctx"] = Whole(*switches);
    job["majf"] = 0;
    job["minf"] = 0;
    AddDepths(&job);
    AddBands(&job);
    job["latency_depth"] = workload_.settings().queue_depth();
    job["latency_target"] = 0;
    job["latency_percentile"] = 100.0;
    job["latency_window"] = 0;
    AddNotes(&job);
    return job;
  }

 private:
  double Seconds() const { return WindowSeconds(phase_, workload_); }

  Json Options() const {
    const v1::WorkloadSettings& s = workload_.settings();
    const bool mixed = s.read_share() > 0 && s.read_share() < 1;
    // fio prints all options as texts, numbers among them.
    Json options = {{"name", workload_.name()},
                    {"ioengine", workload_.engine()},
                    {"rw", FioDirection(s)},
                    {"iodepth", absl::StrCat(s.queue_depth())},
                    {"numjobs", absl::StrCat(FioJobsOf(workload_))},
                    {"direct", s.is_direct() ? "1" : "0"},
                    {"runtime", absl::StrFormat("%.0f", Seconds())}};
    if (s.has_block_size_bytes()) options["bs"] = absl::StrFormat("%.0f", s.block_size_bytes());
    if (mixed) options["rwmixread"] = absl::StrFormat("%.0f", 100 * s.read_share());
    return options;
  }

  const v1::OperationReport& OperationOf(const std::string& kind) const {
    for (const v1::OperationReport& o : workload_.operations()) {
      if (o.kind() == kind) return o;
    }
    return v1::OperationReport::default_instance();
  }

  const v1::LatencyHistogram* Find(const std::string& kind, const std::string& metric) const {
    return FindHistogram(histograms_, phase_.index(), workload_.name(), kind, metric);
  }

  // Whether the phase's IOPS over time are those of this direction. The report has them for the
  // phase as a whole only, so the spread of a mixed load is not known.
  bool IsAlone() const { return phase_.workloads_size() == 1 && workload_.operations_size() == 1; }
  // A point that a host lacks is NaN. A phase of such points alone has no spread.
  bool KnowsSpread() const {
    return IsAlone() &&
           std::any_of(phase_.iops_by_interval().begin(), phase_.iops_by_interval().end(),
                       [](const double point) { return !std::isnan(point); });
  }

  Json Direction(const std::string& kind) const {
    const v1::OperationReport& o = OperationOf(kind);
    Json out = {{"io_bytes", Whole(o.bytes())},
                {"io_kbytes", Whole(o.bytes() / 1024)},
                {"bw_bytes", Whole(o.bytes_per_second())},
                {"bw", Whole(o.bytes_per_second() / 1024)},
                {"iops", o.iops()},
                {"runtime", o.operations() > 0 ? Whole(Seconds() * 1e3) : 0},
                {"total_ios", Whole(o.operations())},
                {"short_ios", Whole(o.short_transfers())},
                {"drop_ios", 0}};
    const Latencies all(Find(kind, ""));
    out["slat_ns"] = WithBins(Latencies(Find(kind, "submission_latency")));
    // fio's completion latency is the time from submission to completion: the service time.
    out["clat_ns"] = WithBins(Latencies(Find(kind, "service_time")));
    out["lat_ns"] = WithBins(all);
    AddSpread(o, &out);
    return out;
  }

  void AddSpread(const v1::OperationReport& o, Json* out) const {
    // Of a direction without I/Os it is known: as in fio, all of it is 0.
    const bool is_idle = !(o.operations() > 0);
    std::vector<double> points;
    // Readers of fio's files index these keys without looking whether they are there. Where the
    // spread is not known, they are those of no samples.
    if (!is_idle && KnowsSpread()) {
      points.assign(phase_.iops_by_interval().begin(), phase_.iops_by_interval().end());
      // A point that a host lacks is no sample.
      std::erase_if(points, [](const double point) { return std::isnan(point); });
    }
    double sum = 0;
    double squares = 0;
    for (const double point : points) {
      sum += point;
      squares += point * point;
    }
    const auto n = static_cast<double>(points.size());
    const double mean = points.empty() ? 0 : sum / n;
    const double deviation =
        points.empty() ? 0 : std::sqrt(std::max(0.0, squares / n - mean * mean));
    const double least = points.empty() ? 0 : *std::min_element(points.begin(), points.end());
    const double most = points.empty() ? 0 : *std::max_element(points.begin(), points.end());
    // The report has only the IOPS over time. The mean size of the I/Os makes them a bandwidth.
    const double kib = o.operations() > 0 ? o.bytes() / o.operations() / 1024 : 0;
    (*out)["bw_min"] = Whole(least * kib);
    (*out)["bw_max"] = Whole(most * kib);
    (*out)["bw_agg"] = points.empty() ? 0.0 : 100.0;
    (*out)["bw_mean"] = mean * kib;
    (*out)["bw_dev"] = deviation * kib;
    (*out)["bw_samples"] = points.size();
    (*out)["iops_min"] = Whole(least);
    (*out)["iops_max"] = Whole(most);
    (*out)["iops_mean"] = mean;
    (*out)["iops_stddev"] = deviation;
    (*out)["iops_samples"] = points.size();
  }

  void AddDepths(Json* job) const {
    // fio always prints these keys. Lockstep does not measure them, as AddNotes() says, and the
    // zeros keep the layout whole.
    for (const char* name : {"iodepth_level", "iodepth_submit", "iodepth_complete"}) {
      Json levels = Json::object();
      const bool is_level = std::string(name) == "iodepth_level";
      for (const char* depth : {"0", "1", "2", "4", "8", "16", "32", "64", ">=64"}) {
        const std::string text = depth;
        // fio's lists have different keys: iodepth_level begins at 1, the other two at 0 and then
        // 4.
        if (text == (is_level ? "0" : "1") || (is_level && text == "64")) continue;
        if (!is_level && text == "2") continue;
        levels[depth] = 0.0;
      }
      (*job)[name] = std::move(levels);
    }
  }

  // Shares of the I/Os by the bands that fio prints, percent.
  void AddBands(Json* job) const {
    std::vector<Latencies> all;
    for (const char* kind : {"read", "write", "trim"}) all.emplace_back(Find(kind, ""));
    for (const FioBand& band : FioBands(all)) {
      (*job)[absl::StrCat("latency_", band.unit)][band.below] = band.percent;
    }
  }

  void AddNotes(Json* job) const {
    double clamped = 0;
    for (const char* kind : {"read", "write", "trim"}) {
      clamped += Latencies(Find(kind, "")).clamped;
    }
    Json notes = Json::array();
    if (clamped > 0) {
      notes.push_back(absl::StrFormat(
          "%.0f latencies are above fio's last bin and are counted in that, %.0f ns", clamped,
          kFioLongestNs));
    }
    if (!workload_.total().has_iops()) {
      notes.push_back(
          "it ran for no part of the measured time: its rates and latencies are not known, and are "
          "written as 0");
    }
    if (!KnowsSpread()) {
      notes.push_back(
          "the spread of IOPS over time (iops_min to iops_samples, bw_min to bw_samples) is not "
          "known by direction: it is that of 0 samples");
    }
    if (!ContextSwitchesOf(phase_, workload_)) notes.push_back("ctx is not known, and is left out");
    if (!ProcessorTimeOf(phase_, workload_)) {
      notes.push_back("usr_cpu and sys_cpu are not known, and are left out");
    }
    notes.push_back("majf, minf and the iodepth distributions are not measured");
    (*job)["lockstep"] = {{"phase", phase_.index()},
                          {"state", phase_.state()},
                          {"hosts", phase_.workers() - phase_.workers_lost()},
                          {"hosts_lost", phase_.workers_lost()},
                          {"invalid", phase_.invalid()},
                          {"notes", std::move(notes)}};
  }

  const v1::PhaseReport& phase_;
  const v1::WorkloadReport& workload_;
  const std::vector<v1::LatencyHistogram>& histograms_;
};

}  // namespace

std::string RenderFioJson(const v1::Report& report,
                          const std::vector<v1::LatencyHistogram>& histograms) {
  const v1::Report safe = SafeToShow(report);
  absl::Time started;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, safe.run().started_at(), &started, &error)) {
    // A run that never started has no time, and fio's layout always has one.
    started = absl::UnixEpoch();
  }
  // Since fio 3.0 latencies are in nanoseconds (clat_ns), so the version must not be an older one.
  Json out = {{"fio version", absl::StrCat("fio-3.33 (written by Lockstep ", safe.version(), ")")},
              {"timestamp", absl::ToUnixSeconds(started)},
              {"timestamp_ms", absl::ToUnixMillis(started)},
              {"time", absl::FormatTime("%a %b %e %H:%M:%S %Y", started, absl::UTCTimeZone())},
              {"global options", {{"description", safe.run().job_name()}}},
              {"jobs", Json::array()}};
  Json devices = Json::array();
  int group = 0;
  for (const v1::PhaseReport& phase : safe.phases()) {
    // fio has no job that does no I/O.
    if (phase.has_observed()) continue;
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      out["jobs"].push_back(Job(phase, workload, histograms).Make(group));
    }
    // The workloads of a phase ran together, as the jobs of one group of fio do.
    group += phase.workloads().empty() ? 0 : 1;
    const double seconds = WindowSeconds(phase);
    for (const v1::DeviceReport& d : phase.devices()) {
      // fio prints the counters of the disks. Here they follow from the rates and the window.
      devices.push_back(
          {{"name", d.name()},
           {"read_ios", Whole(d.reads_per_second() * seconds)},
           {"write_ios", Whole(d.writes_per_second() * seconds)},
           {"read_merges", Whole(d.read_merges_per_second() * seconds)},
           {"write_merges", Whole(d.write_merges_per_second() * seconds)},
           {"read_ticks", Whole(d.read_await_ms() * d.reads_per_second() * seconds)},
           {"write_ticks", Whole(d.write_await_ms() * d.writes_per_second() * seconds)},
           {"in_queue", Whole(d.queue_size() * seconds * 1e3)},
           {"util", 100 * d.busy_ratio()}});
    }
  }
  out["disk_util"] = std::move(devices);
  // By default, dump() throws on text that is not valid UTF-8.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::controller
