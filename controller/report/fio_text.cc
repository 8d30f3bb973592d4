#include "controller/report/fio_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "controller/report/fio_parts.h"
#include "controller/report/kind_sums.h"
#include "controller/report/safe_report.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// The operations for the words "read", "write" and "trim", which fio prints, too.
measure::Operations OperationsOf(const std::string& kind) {
  return measure::Parse<measure::Operations>(kind).value_or(measure::Operations::kTotal);
}

using FioHistograms = std::vector<v1::LatencyHistogram>;

constexpr const char* kFioKinds[] = {"read", "write", "trim"};
constexpr int kFioDigits = 4;

// fio cuts these figures to whole numbers, and does not round them.
int64_t Cut(double value) { return std::isfinite(value) ? static_cast<int64_t>(value) : 0; }

// fio's numbers: at most so many digits, with the first prefix under which they suffice. If there
// is space for a decimal point and digits behind it, they are filled up with these.
std::string FioNumber(double value, int digits, double step, const char* unit) {
  const char* const decimal[] = {"", "k", "M", "G", "T", "P"};
  const char* const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  value = std::floor(value);
  size_t prefix = 0;
  const auto length = [](double v) {
    return static_cast<int>(absl::StrFormat("%.0f", std::floor(v)).size());
  };
  while (length(value) > digits && prefix + 1 < std::size(decimal)) {
    // A prefix is chosen after whole numbers. Only the last step has decimals.
    value = length(std::floor(value / step)) > digits ? std::floor(value / step) : value / step;
    ++prefix;
  }
  const int decimals = prefix == 0 ? 0 : std::max(0, digits - length(value) - 1);
  return absl::StrFormat("%.*f%s%s", decimals, value, (step > 1000 ? binary : decimal)[prefix],
                         unit);
}
std::string Binary(double bytes) { return FioNumber(bytes, kFioDigits, 1024, "B"); }
std::string Decimal(double bytes) { return FioNumber(bytes, kFioDigits, 1000, "B"); }

// "55.6MiB/s (58.3MB/s)"
std::string FioRate(double bytes) {
  return absl::StrCat(Binary(bytes), "/s (", Decimal(bytes), "/s)");
}

// A line of minimum, maximum, mean and deviation, in the unit that fio would choose.
std::string SummaryLine(const std::string& name, const FioLatencies& l) {
  if (!(l.count > 0)) return "";
  auto min = static_cast<double>(l.Min());
  auto max = static_cast<double>(l.Max());
  double mean = l.Mean();
  double deviation = l.Deviation();
  const char* unit = "nsec";
  double divisor = 1;
  // The thresholds are fio's: programs that read its output expect the same unit.
  if (min > 2e6 && max > 99999999 && deviation > 1e6) {
    unit = "msec";
    divisor = 1e6;
  } else if (min > 2000 && max > 99999 && deviation > 1000) {
    unit = "usec";
    divisor = 1e3;
  }
  min /= divisor;
  max /= divisor;
  mean /= divisor;
  deviation /= divisor;
  return absl::StrFormat("    %s (%s): min=%s, max=%s, avg=%5.2f, stdev=%5.2f\n", name, unit,
                         FioNumber(min, 6, 1000, ""), FioNumber(max, 6, 1000, ""), mean, deviation);
}

std::string PercentileLines(const std::string& name, const FioLatencies& l) {
  if (!(l.count > 0)) return "";
  const double least = l.Percentile(kFioPercents[0]);
  const double most = l.Percentile(kFioPercents[std::size(kFioPercents) - 1]);
  const char* unit = "nsec";
  double divisor = 1;
  if (least > 2e6 && most > 99999999) {
    unit = "msec";
    divisor = 1e6;
  } else if (least > 2000 && most > 99999) {
    unit = "usec";
    divisor = 1e3;
  }
  const int digits = static_cast<int>(absl::StrFormat("%.0f", std::floor(most / divisor)).size());
  const int width = std::max(5, digits);
  // As many as lines of 80 columns have space for.
  const int per_line = 73 / (12 + width);
  std::string text = absl::StrFormat("    %s percentiles (%s):\n     |", name, unit);
  const int all = static_cast<int>(std::size(kFioPercents));
  for (int i = 0; i < all; ++i) {
    if (i > 0 && i % per_line == 0) text += "     |";
    const bool is_last = i + 1 == all;
    const bool ends_line = is_last || (i + 1) % per_line == 0;
    absl::StrAppendFormat(&text, " %5.2fth=[%*.0f]%s%s", kFioPercents[i], width,
                          std::ceil(l.Percentile(kFioPercents[i]) / divisor), is_last ? "" : ",",
                          ends_line ? "\n" : "");
  }
  return text;
}

// Jobs that fio's report adds up: the workloads of a phase, or some of them.
struct TextGroup {
  const v1::PhaseReport& phase;
  int number = 0;
  int begin = 0, end = 0;  // of its workloads in the phase

  // Of all its jobs together.
  double BytesPerSecond(const std::string& kind) const {
    if (begin == 0 && end == phase.workloads_size()) {
      return SumOfKind(phase, OperationsOf(kind)).bytes_per_second;
    }
    // As in fio: all bytes over the longest time of a job.
    double bytes = 0;
    double seconds = 0;
    for (int w = begin; w < end; ++w) {
      for (const v1::OperationReport& o : phase.workloads(w).operations()) {
        if (o.kind() != kind || !(o.operations() > 0)) continue;
        bytes += o.bytes();
        seconds = std::max(seconds, WindowSeconds(phase, phase.workloads(w)));
      }
    }
    return seconds > 0 ? bytes / seconds : 0;
  }
};

// The phase as a group, or as those that its file of fio has made with new_group. The translation
// keeps their numbers of workloads in a label of the run: fio.groups.PHASE=2,1.
std::vector<TextGroup> GroupsOf(const v1::Report& report, const v1::PhaseReport& phase,
                                int number) {
  const int all = phase.workloads_size();
  const std::vector<TextGroup> one{{phase, number, 0, all}};
  const auto label = report.run().labels().find("fio.groups." + phase.name());
  if (label == report.run().labels().end()) return one;
  std::vector<TextGroup> groups;
  int begin = 0;
  for (const absl::string_view part : absl::StrSplit(label->second, ',')) {
    int size = 0;
    // A person may have changed the label.
    if (!absl::SimpleAtoi(part, &size) || size < 1 || size > all - begin) return one;
    groups.push_back({phase, number + static_cast<int>(groups.size()), begin, begin + size});
    begin += size;
  }
  return begin == all ? groups : one;
}

// Rates of a workload and a kind, interval by interval.
struct RateSamples {
  std::vector<double> kib, iops;  // per second
};

RateSamples SamplesOf(const v1::PhaseReport& phase, const v1::WorkloadReport& workload,
                      const std::string& kind, const FioHistograms& intervals) {
  RateSamples samples;
  for (const v1::LatencyHistogram& h : intervals) {
    const double seconds = h.end_seconds() - h.begin_seconds();
    if (h.phase() != phase.index() || h.workload() != workload.name() || h.kind() != kind ||
        !h.is_reported() || !(seconds > 0)) {
      continue;
    }
    double operations = 0;
    for (const double count : h.counts()) operations += count;
    samples.kib.push_back(h.bytes() / 1024 / seconds);
    samples.iops.push_back(operations / seconds);
  }
  return samples;
}

struct Spread {
  double min = 0, max = 0, mean = 0, deviation = 0;
};

Spread SpreadOf(const std::vector<double>& values) {
  Spread s;
  s.min = *std::min_element(values.begin(), values.end());
  s.max = *std::max_element(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  for (const double v : values) s.mean += v / n;
  for (const double v : values) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = n > 1 ? std::sqrt(s.deviation / (n - 1)) : 0;
  return s;
}

std::string SampleLines(const RateSamples& samples, double group_bytes_per_second) {
  if (samples.kib.empty()) return "";
  Spread bw = SpreadOf(samples.kib);
  double share = 100;
  if (group_bytes_per_second > 1024) {
    // As in fio: the mean over intervals may exceed the rate of the whole.
    share = std::min(100.0, 100 * bw.mean / (group_bytes_per_second / 1024));
  }
  const bool is_large = bw.mean > 1024 * 1024;
  const double divisor = is_large ? 1024 : 1;
  const Spread iops = SpreadOf(samples.iops);
  return absl::StrFormat(
      "   bw (%5s/s): min=%5d, max=%5d, per=%3.2f%%, avg=%5.2f, stdev=%5.2f, samples=%d\n"
      "   iops        : min=%5d, max=%5d, avg=%5.2f, stdev=%5.2f, samples=%d\n",
      is_large ? "MiB" : "KiB", Cut(bw.min / divisor), Cut(bw.max / divisor), share,
      bw.mean / divisor, bw.deviation / divisor, samples.kib.size(), Cut(iops.min), Cut(iops.max),
      iops.mean, iops.deviation, samples.iops.size());
}

// "  lat (usec)   : 4=0.02%, 10=97.00%": five bands a line, those without I/Os left out.
std::string BandLines(const std::vector<FioBand>& bands, const std::string& unit) {
  std::string text;
  int in_line = 0;
  for (const FioBand& band : bands) {
    if (unit != band.unit || !(band.percent > 0)) continue;
    if (in_line == 5) {
      text += "\n";
      in_line = 0;
    }
    text += in_line == 0 ? absl::StrCat("  lat (",
                                        unit[0] == 'n' ? "nsec"
                                        : unit == "us" ? "usec"
                                                       : "msec",
                                        ")   : ")
                         : ", ";
    // As in fio: a band with few I/Os would read 0.00 %.
    absl::StrAppendFormat(&text, "%s=%3.2f%%", band.below, std::max(0.01, band.percent));
    ++in_line;
  }
  return text.empty() ? "" : text + "\n";
}

// One workload of one phase.
class TextJob {
 public:
  TextJob(const TextGroup& group, const v1::WorkloadReport& workload, const FioHistograms& phases,
          const FioHistograms& intervals)
      : group_(group),
        phase_(group.phase),
        workload_(workload),
        phases_(phases),
        intervals_(intervals) {}

  // The lines that fio prints before it starts.
  std::string Announced() const {
    const v1::WorkloadSettings& s = workload_.settings();
    // If there are several sizes, the report does not know which.
    const std::string one = Binary(s.block_size_bytes());
    const std::string size = s.block_size_bytes() > 0 ? absl::StrCat(one, "-", one) : "-";
    return absl::StrCat(
        Name(), ": (g=", group_.number, "): rw=", FioDirection(s), ", bs=(R) ", size, ", (W) ",
        size, ", (T) ", size, ", ioengine=", FioEngine(workload_.engine()),
        ", iodepth=", std::max<uint32_t>(1, s.queue_depth()), "\n", Threads() > 1 ? "...\n" : "");
  }

  std::string Result(absl::Time ended) const {
    std::string text = absl::StrCat(
        Name(), ": (groupid=", group_.number, ", jobs=", Threads(),
        "): err= 0: pid=0: ", absl::FormatTime("%a %b %e %H:%M:%S %Y", ended, absl::UTCTimeZone()),
        "\n");
    std::vector<FioLatencies> all;
    for (const char* kind : kFioKinds) {
      text += Direction(kind);
      all.emplace_back(Find(kind, ""));
    }
    const std::vector<FioBand> bands = FioBands(all);
    for (const char* unit : {"ns", "us", "ms"}) text += BandLines(bands, unit);
    if (const FioLatencies syncs(Find("fsync", "")); syncs.count > 0) {
      absl::StrAppend(&text, "  fsync/fdatasync/sync_file_range:\n", SummaryLine("sync", syncs),
                      PercentileLines("sync", syncs));
    }
    return absl::StrCat(text, Processor(), Depths(), Issued());
  }

  uint32_t Threads() const { return FioJobsOf(workload_); }
  double Milliseconds() const { return std::max(1.0, WindowSeconds(phase_, workload_) * 1e3); }
  const v1::OperationReport& Of(const std::string& kind) const {
    for (const v1::OperationReport& o : workload_.operations()) {
      if (o.kind() == kind) return o;
    }
    return v1::OperationReport::default_instance();
  }

 private:
  std::string Name() const { return absl::StrCat(phase_.name(), " ", workload_.name()); }
  const v1::LatencyHistogram* Find(const std::string& kind, const std::string& metric) const {
    return FindHistogram(phases_, phase_.index(), workload_.name(), kind, metric);
  }

  std::string Direction(const std::string& kind) const {
    const v1::OperationReport& o = Of(kind);
    if (!(o.operations() > 0)) return "";
    const FioLatencies completions(Find(kind, "service_time"));
    return absl::StrCat(
        "  ", kind, ": IOPS=", FioNumber(o.iops(), kFioDigits, 1000, ""),
        ", BW=", FioRate(o.bytes_per_second()), "(", Binary(o.bytes()),
        absl::StrFormat("/%.0fmsec)", Milliseconds()),
        // fio 3.33 counts them also where there are no zones.
        OperationsOf(kind) == measure::Operations::kWrite ? "; 0 zone resets\n" : "\n",
        SummaryLine("slat", FioLatencies(Find(kind, "submission_latency"))),
        SummaryLine("clat", completions), SummaryLine(" lat", FioLatencies(Find(kind, ""))),
        PercentileLines("clat", completions),
        SampleLines(SamplesOf(phase_, workload_, kind, intervals_), group_.BytesPerSecond(kind)));
  }

  std::string Processor() const {
    std::string known;
    if (const auto time = ProcessorTimeOf(phase_, workload_)) {
      absl::StrAppendFormat(&known, "usr=%3.2f%%, sys=%3.2f%%, ", time->user, time->system);
    }
    if (const auto switches = ContextSwitchesOf(phase_, workload_)) {
      absl::StrAppendFormat(&known, "ctx=%.0f, ", *switches);
    }
    // A figure that is not known is left out: fio's 0 means none.
    return known.empty() ? "" : absl::StrCat("  cpu          : ", known, "majf=0, minf=0\n");
  }

  // Lockstep does not measure them, and fio prints zeros for a job of which it knows none.
  static std::string Depths() {
    const std::string batches = "0=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%\n";
    return absl::StrCat(
        "  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%\n",
        "     submit    : ", batches, "     complete  : ", batches);
  }

  std::string Issued() const {
    const v1::OperationReport& r = Of("read");
    const v1::OperationReport& w = Of("write");
    const v1::OperationReport& t = Of("trim");
    std::string text = absl::StrFormat(
        "     issued rwts: total=%.0f,%.0f,%.0f,%.0f short=%.0f,%.0f,%.0f,0 dropped=0,0,0,0\n",
        r.operations(), w.operations(), t.operations(), Of("fsync").operations(),
        r.short_transfers(), w.short_transfers(), t.short_transfers());
    const double errors = r.errors() + w.errors() + t.errors() + Of("fsync").errors();
    if (errors > 0) {
      // The report has messages, and no numbers of errors.
      const std::string first = workload_.errors().empty() ? "Success" : workload_.errors(0);
      absl::StrAppendFormat(&text, "     errors    : total=%.0f, first_error=0/<%s>\n", errors,
                            first);
    }
    absl::StrAppendFormat(&text,
                          "     latency   : target=0, window=0, percentile=100.00%%, depth=%d\n",
                          std::max<uint32_t>(1, workload_.settings().queue_depth()));
    return text;
  }

  const TextGroup group_;
  const v1::PhaseReport& phase_;
  const v1::WorkloadReport& workload_;
  const FioHistograms& phases_;
  const FioHistograms& intervals_;
};

std::string GroupStatus(const TextGroup& group, const std::vector<TextJob>& jobs) {
  const std::map<std::string, std::string> titles = {
      {"read", "   READ"}, {"write", "  WRITE"}, {"trim", "   TRIM"}};
  std::string text = absl::StrCat("\nRun status group ", group.number, " (all jobs):\n");
  for (const char* kind : kFioKinds) {
    double bytes = 0;
    std::vector<double> rates;
    std::vector<double> times;
    for (const TextJob& job : jobs) {
      const v1::OperationReport& o = job.Of(kind);
      if (!(o.operations() > 0)) continue;
      bytes += o.bytes();
      rates.push_back(o.bytes_per_second());
      times.push_back(job.Milliseconds());
    }
    if (rates.empty()) continue;
    const auto [slow, fast] = std::minmax_element(rates.begin(), rates.end());
    const auto [brief, full] = std::minmax_element(times.begin(), times.end());
    absl::StrAppendFormat(
        &text, "%s: bw=%s, %s/s-%s/s (%s/s-%s/s), io=%s (%s), run=%.0f-%.0fmsec\n", titles.at(kind),
        FioRate(group.BytesPerSecond(kind)), Binary(*slow), Binary(*fast), Decimal(*slow),
        Decimal(*fast), Binary(bytes), Decimal(bytes), *brief, *full);
  }
  return text;
}

// The counters of a disk over all phases. They follow from its rates and the windows.
struct DiskCounters {
  double reads = 0, writes = 0, read_merges = 0, write_merges = 0;
  double read_ms = 0, write_ms = 0, queue_ms = 0, busy_seconds = 0, seconds = 0;

  void Add(const v1::DeviceReport& d, double s) {
    reads += d.reads_per_second() * s;
    writes += d.writes_per_second() * s;
    read_merges += d.read_merges_per_second() * s;
    write_merges += d.write_merges_per_second() * s;
    read_ms += d.read_await_ms() * d.reads_per_second() * s;
    write_ms += d.write_await_ms() * d.writes_per_second() * s;
    queue_ms += d.queue_size() * s * 1e3;
    busy_seconds += d.busy_ratio() * s;
    seconds += s;
  }
};

std::string DiskStats(const v1::Report& report) {
  std::vector<std::string> names;  // in the order of the report
  std::map<std::string, DiskCounters> disks;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phase.has_observed() || phase.workloads().empty()) continue;
    for (const v1::DeviceReport& d : phase.devices()) {
      // Without rates no counters follow from them.
      if (!d.not_rated().empty()) continue;
      // Hosts have devices of one name. fio --client prints a list for each host.
      const bool is_alone = phase.workers() <= 1 || d.hosts().empty();
      const std::string name = is_alone ? d.name() : absl::StrCat(d.hosts(0), ":", d.name());
      if (!disks.contains(name)) names.push_back(name);
      disks[name].Add(d, WindowSeconds(phase));
    }
  }
  std::string text = names.empty() ? "" : "\nDisk stats (read/write):\n";
  for (const std::string& name : names) {
    const DiskCounters& c = disks[name];
    absl::StrAppendFormat(
        &text,
        "  %s: ios=%.0f/%.0f, merge=%.0f/%.0f, ticks=%.0f/%.0f, in_queue=%.0f, util=%3.2f%%\n",
        name, c.reads, c.writes, c.read_merges, c.write_merges, c.read_ms, c.write_ms, c.queue_ms,
        c.seconds > 0 ? std::min(100.0, 100 * c.busy_seconds / c.seconds) : 0);
  }
  return text;
}

absl::Time EndOf(const v1::PhaseReport& phase) {
  absl::Time at;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, phase.started_at(), &at, &error)) {
    // fio's layout always has a time.
    return absl::UnixEpoch();
  }
  return at + absl::Seconds(phase.duration_seconds());
}

}  // namespace

std::string RenderFioText(const v1::Report& report, const FioHistograms& phases,
                          const FioHistograms& intervals) {
  const v1::Report safe = SafeToShow(report);
  std::string announced;
  std::string results;
  std::string groups;
  uint32_t threads = 0;
  int number = 0;  // of the next group
  for (const v1::PhaseReport& phase : safe.phases()) {
    // fio has no job that does no I/O.
    if (phase.has_observed() || phase.workloads().empty()) continue;
    for (const TextGroup& group : GroupsOf(report, phase, number)) {
      std::vector<TextJob> jobs;
      for (int w = group.begin; w < group.end; ++w) {
        jobs.emplace_back(group, phase.workloads(w), phases, intervals);
        announced += jobs.back().Announced();
        results += jobs.back().Result(EndOf(phase));
        threads += jobs.back().Threads();
      }
      groups += GroupStatus(group, jobs);
      ++number;
    }
  }
  if (number == 0) return "";
  return absl::StrCat(announced, "fio-3.33 (layout; measured by Lockstep ", safe.version(), ")\n",
                      "Starting ", threads, threads == 1 ? " thread\n\n" : " threads\n\n", results,
                      groups, DiskStats(safe));
}

}  // namespace lockstep::controller
