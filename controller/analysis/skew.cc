// Did the hosts start together? The job's limit of the skew becomes an expectation, and marks the
// phase invalid when it does not hold.

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

v1::Expectation* ExpectLimit(v1::PhaseReport* report) {
  v1::Expectation* expectation = report->add_expectations();
  expectation->set_text(
      absl::StrCat("start skew <= ", common::FormatDuration(report->start_skew_limit_ns())));
  return expectation;
}

void HoldToLimit(v1::PhaseReport* report) {
  const double limit = report->start_skew_limit_ns();
  const std::string found =
      report->has_start_skew_ns()
          ? absl::StrCat(common::FormatDuration(report->start_skew_ns()), " ± ",
                         common::FormatDuration(report->start_skew_bound_ns()))
          : "one host began";
  v1::Expectation* expectation = ExpectLimit(report);
  expectation->set_found(found);
  // The estimate is held to the limit, not its upper bound: otherwise slow links alone would make a
  // phase invalid. The uncertainty gets a remark instead.
  expectation->set_met(report->start_skew_ns() <= limit);
  if (!expectation->met()) {
    report->set_invalid(true);
    report->set_invalid_reason(
        absl::StrFormat("the start skew of %s is beyond the job's limit of %s", found,
                        common::FormatDuration(limit)));
    report->add_remarks(absl::StrCat("INVALID: ", report->invalid_reason()));
  } else if (report->start_skew_ns() + report->start_skew_bound_ns() > limit) {
    report->add_remarks(absl::StrFormat(
        "the start skew of %s may be beyond the job's limit of %s: the links are too slow to tell",
        found, common::FormatDuration(limit)));
  }
}

// When the first of the worker's workloads was to begin, nanoseconds from T.
int64_t FirstBegin(const PhaseView& view, const measure::WorkerPhaseData& worker) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const v1::WorkloadResult& workload : worker.result.workloads()) {
    first = std::min(first, view.BeginNs(workload.workload()));
  }
  return first == std::numeric_limits<int64_t>::max() ? 0 : first;
}

// The first I/Os are mapped to the controller's clock, and each lies within its host's bound. The
// largest and the smallest possible spread follow from all hosts, not from the two that look
// furthest apart: another host with a wide bound may be the true first or last.
void AddSkew(const PhaseView& view, v1::PhaseReport* report) {
  // When each host started, by the controller's clock: somewhere from start - bound to start +
  // bound.
  struct Start {
    int64_t at, low, high;
  };
  std::vector<Start> starts;
  // A delay that the job wants is no skew.
  const auto start_of = [&](const measure::WorkerPhaseData& w) {
    return w.result.first_io_ns() - FirstBegin(view, w) - w.clock.offset_ns;
  };
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    if (!worker.has_result || worker.result.first_io_ns() == 0) continue;
    const int64_t start = start_of(worker);
    starts.push_back({start, start - worker.clock.bound_ns, start + worker.clock.bound_ns});
  }
  report->set_start_skew_limit_ns(static_cast<double>(view.load().start_skew_limit_ns()));
  report->set_start_skew_hosts(static_cast<uint32_t>(starts.size()));
  if (starts.empty()) {
    // Without this the limit would be met by hosts that never began.
    if (report->start_skew_limit_ns() > 0) ExpectLimit(report)->set_found("nothing measured");
    return;
  }
  const auto by = [&](int64_t Start::*field) {
    return std::minmax_element(
        starts.begin(), starts.end(),
        [field](const Start& a, const Start& b) { return a.*field < b.*field; });
  };
  const int64_t first = by(&Start::at).first->at;
  const int64_t skew = by(&Start::at).second->at - first;
  // The widest and the narrowest that the true spread can be: of two different hosts, since one
  // host starts once.
  int64_t widest = 0;
  const auto lowest = by(&Start::low).first, highest = by(&Start::high).second;
  for (auto other = starts.begin(); other != starts.end(); ++other) {
    if (other != lowest) widest = std::max(widest, other->high - lowest->low);
    if (other != highest) widest = std::max(widest, highest->high - other->low);
  }
  const int64_t narrowest =
      std::max<int64_t>(0, by(&Start::low).second->low - by(&Start::high).first->high);
  // One host has no spread, and 0 would be the best one.
  if (starts.size() > 1) {
    report->set_start_skew_ns(static_cast<double>(skew));
    // The report prints one symmetric bound, which has to cover both directions.
    report->set_start_skew_bound_ns(static_cast<double>(std::max(widest - skew, skew - narrowest)));
  }
  for (v1::HostReport& host : *report->mutable_hosts()) {
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      if (worker.worker_index != host.worker_index() || worker.result.first_io_ns() == 0) continue;
      host.set_start_offset_ns(static_cast<double>(start_of(worker) - first));
      host.set_start_bound_ns(static_cast<double>(worker.clock.bound_ns));
    }
  }
  if (report->start_skew_limit_ns() > 0) HoldToLimit(report);
}

const RegisterAnalysis kSkewRegistered(order::kSkew, "skew", &AddSkew);

}  // namespace
}  // namespace lockstep::controller
