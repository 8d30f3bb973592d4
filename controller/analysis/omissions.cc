// What do the latencies of closed loops hide?
//
// A closed loop starts an I/O when another one completes. While nothing completes, the I/Os that
// would have started, and waited, are missing (G. Tene, "How NOT to Measure Latency", 2015:
// coordinated omission). The report warns of it if a workload's threads spent 8 % of their time in
// gaps between completions of more than 20 times the median latency. A long tail alone is no gap,
// while the other I/Os of the queue complete. Beside it stands the p99 with the missing I/Os, as
// HdrHistogram's copyCorrectedForCoordinatedOmission() adds them: an I/O of latency L stands for
// further ones of L - E, L - 2E, …, where E is the median.

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Whether the threads of the workload may wait although nothing is in flight.
bool Waits(const v1::Workload& w, const v1::PhaseReport& report) {
  if (w.think_time_ns() > 0) return true;
  return std::any_of(report.threads().begin(), report.threads().end(), [&](const auto& thread) {
    return thread.workload() == w.name() && (thread.rate_ratio() > 0 || thread.think_ratio() > 0);
  });
}

void AddOmission(const PhaseView& view, uint32_t workload, v1::PhaseReport* report) {
  measure::StatsOfKinds kinds;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() == workload) measure::AddMeasured(result, &kinds);
    }
  }
  const measure::OperationStats ios = measure::Ios(kinds);
  // In an open loop the response time has it all.
  if (ios.has(v1::METRIC_RESPONSE_TIME)) return;
  if (Waits(view.load().workloads(static_cast<int>(workload)), *report)) return;
  const common::Histogram& measured = ios.histogram(v1::METRIC_SERVICE_TIME);
  const double expected = measured.Percentile(50);
  if (!(expected > 0)) return;
  StallTime all;
  std::vector<std::string> hosts;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    StallTime own;
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() != workload) continue;
      own.Add(GapsOf(result), expected);
      all.Add(GapsOf(result), expected);
    }
    // A lost worker has no result, and a host without the workload no stall of it.
    if (!own.is_known()) continue;
    for (v1::HostReport& host : *report->mutable_hosts()) {
      if (host.worker_index() != worker.worker_index) continue;
      host.set_stalled_ratio(std::max(host.stalled_ratio(), own.ratio()));
    }
    if (own.is_much()) hosts.push_back(view.HostOf(worker.worker_index));
  }
  const std::optional<Omitted> omitted = OmittedBeside(measured, expected, all);
  if (!omitted) return;
  v1::Omission* out = report->add_omissions();
  out->set_workload(report->workloads(static_cast<int>(workload)).name());
  out->set_stalled_ratio(all.ratio());
  out->mutable_hosts()->Add(hosts.begin(), hosts.end());
  out->set_p99_ns(omitted->p99_ns);
  out->set_corrected_p99_ns(omitted->corrected_p99_ns);
  out->set_sentence(absl::StrFormat(
      "the threads of %s on %s completed nothing for %.0f %% of their time, in gaps of more than "
      "20 "
      "times the median latency, and started nothing during them; with the I/Os that are missing "
      "the p99 "
      "would be about %s, not %s (coordinated omission; an `open_loop` measures it)",
      out->workload(), NamesOf(hosts), 100 * all.ratio(),
      common::FormatDuration(omitted->corrected_p99_ns), common::FormatDuration(omitted->p99_ns)));
}

void AddOmissions(const PhaseView& view, v1::PhaseReport* report) {
  for (int w = 0; w < report->workloads_size(); ++w) {
    AddOmission(view, static_cast<uint32_t>(w), report);
  }
}

const RegisterAnalysis kOmissionsRegistered(order::kOmissions, "omissions", &AddOmissions);

}  // namespace
}  // namespace lockstep::controller
