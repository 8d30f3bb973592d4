// What do the latencies of closed loops hide?
//
// A closed loop starts an I/O when another one completes. While nothing completes, the I/Os that
// would have started, and waited, are missing (G. Tene, "How NOT to Measure Latency", 2015:
// coordinated omission). The figure is the share of the threads' time in gaps between completions
// of more than 20 times the usual time of an I/O. A long tail alone is no gap, while the other I/Os
// of the queue complete. Beside it stands the p99 with the missing I/Os, as HdrHistogram's
// copyCorrectedForCoordinatedOmission() adds them: an I/O of latency L stands for further ones of
// L - E, L - 2E, …, where E is the usual time.
//
// The usual time is the median latency. A loop that the job holds back, by a rate limit or a think
// time, starts I/Os less often: its own mean wait for each I/O is added. Each host is judged alone,
// at its own pace: among the threads of many hosts the gaps of one are few. The report warns of a
// workload on the hosts where the gaps take 8 % of the time and the p99 would be twice as long.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/omission_rule.h"
#include "controller/analysis/thread_shares.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

std::span<const int64_t> GapsOf(const v1::WorkloadResult& result) {
  return {result.gaps_ns().data(), static_cast<size_t>(result.gaps_ns_size())};
}

// "node2", "node1 and node2", "node1 and 7 more".
std::string NamesOf(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return "all hosts together";
  if (hosts.size() == 1) return hosts[0];
  return hosts.size() == 2 ? absl::StrCat(hosts[0], " and ", hosts[1])
                           : absl::StrCat(hosts[0], " and ", hosts.size() - 1, " more");
}

// Loads together: the time of the closed loops among them, and the latencies of all, without and
// with the I/Os that are missing.
struct Loops {
  StallTime time;
  common::Histogram measured, corrected;

  void Add(const Loops& other) {
    time.Add(other.time);
    measured.Merge(other.measured);
    corrected.Merge(other.corrected);
  }
};

// The longest time for which the limits and the pauses of the job let a thread wait for its
// next I/O. `threads`: of all hosts, which share the limits.
double PauseNs(const v1::Workload& w, double threads) {
  const auto largest = static_cast<double>(LargestBlock(w));
  auto pause = static_cast<double>(LongestThinkNs(w));
  const auto add = [&](double iops, double bytes_per_second) {
    if (iops > 0) pause = std::max(pause, 1e9 * threads / iops);
    if (bytes_per_second > 0) pause = std::max(pause, 1e9 * threads * largest / bytes_per_second);
  };
  add(w.max_iops(), w.max_throughput_bytes_per_second());
  add(w.read_limit().iops(), w.read_limit().throughput_bytes_per_second());
  add(w.write_limit().iops(), w.write_limit().throughput_bytes_per_second());
  return pause;
}

// The waits of a worker's threads of one workload, for the rate and the think time.
struct ThreadWaits {
  double ns = 0;
  double operations = 0;
  bool think = false;
};

std::map<uint32_t, ThreadWaits> WaitsOf(const measure::WorkerPhaseData& worker) {
  std::map<uint32_t, ThreadWaits> waits;  // by workload
  for (const v1::ThreadResult& thread : worker.result.threads()) {
    ThreadWaits& own = waits[thread.workload()];
    own.ns += static_cast<double>(thread.rate_time_ns() + thread.think_time_ns());
    own.operations += static_cast<double>(thread.operations());
    own.think = own.think || thread.think_time_ns() > 0;
  }
  return waits;
}

// A workload of the phase, and what the hosts did of it.
class JudgedWorkload {
 public:
  JudgedWorkload(const PhaseView& view, uint32_t index)
      : workload_(view.load().workloads(static_cast<int>(index))) {
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        hosts_ += result.workload() == index ? 1 : 0;
      }
    }
    const double part = PartOfHosts(view, workload_);
    const double threads = std::max(1U, workload_.threads());
    pause_ns_ = PauseNs(workload_, threads * (part > 0 ? hosts_ / part : hosts_));
  }

  // Adds what one host did of it, and returns that.
  Loops Add(const ThreadWaits& waits, const v1::WorkloadResult& result, const std::string& host) {
    const Loops own = LoopsOf(waits, result);
    all_.Add(own);
    if (OmittedBeside(own.measured, own.corrected, own.time)) {
      still_.Add(own);
      still_hosts_.push_back(host);
    }
    return own;
  }

  const Loops& all() const { return all_; }

  // After all hosts were added.
  void AddOmission(v1::PhaseReport* report) const {
    const Loops& loops = still_hosts_.empty() ? all_ : still_;
    const std::optional<Omitted> omitted =
        OmittedBeside(loops.measured, loops.corrected, loops.time);
    if (!omitted) return;
    v1::Omission* out = report->add_omissions();
    out->set_workload(workload_.name());
    out->set_stalled_ratio(loops.time.ratio());
    out->mutable_hosts()->Add(still_hosts_.begin(), still_hosts_.end());
    out->set_p99_ns(omitted->p99_ns);
    out->set_corrected_p99_ns(omitted->corrected_p99_ns);
    const bool is_part = !still_hosts_.empty() && static_cast<double>(still_hosts_.size()) < hosts_;
    out->set_sentence(absl::StrFormat(
        "the threads of %s on %s completed nothing for %.0f %% of their time, in gaps of more than "
        "20 times %s, and started nothing during them; with the I/Os that are missing %s p99 would "
        "be about %s, not %s (coordinated omission; an `open_loop` measures it)",
        out->workload(), NamesOf(still_hosts_), 100 * loops.time.ratio(),
        pause_ns_ > 0 ? "the usual time of an I/O and its wait" : "the median latency",
        is_part ? "their" : "the", common::FormatDuration(omitted->corrected_p99_ns),
        common::FormatDuration(omitted->p99_ns)));
  }

 private:
  // Nothing where gaps do not tell of stalls.
  std::optional<Pace> PaceOf(const ThreadWaits& waits, double median_ns) const {
    // A flow waits for I/Os of other workloads.
    if (!(median_ns > 0) || workload_.flow() > 0) return std::nullopt;
    // The access pattern alone has pauses. They are rare and long where it has bursts: their mean
    // is no part of the usual time of an I/O.
    if (waits.think && workload_.think_time_ns() == 0) return std::nullopt;
    const double depth = std::max(1U, workload_.queue_depth());
    // A thread whose whole queue stands still waits for its I/Os: a stall is no part of these
    // waits. If it has more to start in a stall, it omits nothing.
    return Pace{median_ns + (waits.operations > 0 ? depth * waits.ns / waits.operations : 0),
                pause_ns_};
  }

  Loops LoopsOf(const ThreadWaits& waits, const v1::WorkloadResult& result) const {
    measure::StatsOfKinds kinds;
    measure::AddMeasured(result, &kinds);
    const measure::OperationStats ios = measure::Ios(kinds);
    Loops loops;
    loops.measured = ios.histogram(ios.main_metric());
    loops.corrected = loops.measured;
    // In an open loop the response time has it all.
    if (ios.has(v1::METRIC_RESPONSE_TIME)) return loops;
    const std::optional<Pace> pace = PaceOf(waits, loops.measured.Percentile(50));
    if (!pace) return loops;
    loops.time.Add(GapsOf(result), *pace);
    if (loops.time.moves_p99()) loops.corrected = WithMissing(loops.measured, pace->expected_ns);
    return loops;
  }

  const v1::Workload& workload_;
  double hosts_ = 0;
  double pause_ns_ = 0;
  Loops all_;
  Loops still_;  // of the hosts that stood still
  std::vector<std::string> still_hosts_;
};

// `Report`: WorkloadReport, HostReport or PhaseReport.
template <typename Report>
void SetCorrected(const Loops& loops, Report* report) {
  if (!loops.time.is_known()) return;
  // Like the measured one it needs I/Os above it. I/Os that are missing may be shorter than it, and
  // still make no p99 better.
  const double measured = loops.measured.PercentileIfAbove(99);
  if (!(measured > 0)) return;
  report->set_corrected_p99_ns(std::max(measured, loops.corrected.PercentileIfAbove(99)));
}

void AddOmissions(const PhaseView& view, v1::PhaseReport* report) {
  std::vector<JudgedWorkload> workloads;
  workloads.reserve(static_cast<size_t>(view.load().workloads_size()));
  for (int w = 0; w < view.load().workloads_size(); ++w) {
    workloads.emplace_back(view, static_cast<uint32_t>(w));
  }
  std::map<uint32_t, v1::HostReport*> hosts;
  for (v1::HostReport& host : *report->mutable_hosts()) hosts[host.worker_index()] = &host;
  Loops everything;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    v1::HostReport* host = hosts[worker.worker_index];
    Loops own;
    std::map<uint32_t, ThreadWaits> waits = WaitsOf(worker);
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() >= workloads.size()) continue;
      const Loops loops = workloads[result.workload()].Add(waits[result.workload()], result,
                                                           view.HostOf(worker.worker_index));
      own.Add(loops);
      if (host == nullptr || !loops.time.is_known()) continue;
      host->set_stalled_ratio(std::max(host->stalled_ratio(), loops.time.ratio()));
    }
    if (host != nullptr) SetCorrected(own, host);
    everything.Add(own);
  }
  for (int w = 0; w < report->workloads_size(); ++w) {
    const JudgedWorkload& workload = workloads[static_cast<size_t>(w)];
    v1::WorkloadReport* out = report->mutable_workloads(w);
    if (workload.all().time.is_known()) out->set_stalled_ratio(workload.all().time.ratio());
    SetCorrected(workload.all(), out);
    workload.AddOmission(report);
  }
  if (everything.time.is_known()) report->set_stalled_ratio(everything.time.ratio());
  SetCorrected(everything, report);
}

const RegisterAnalysis kOmissionsRegistered(order::kOmissions, "omissions", &AddOmissions);

}  // namespace
}  // namespace lockstep::controller
