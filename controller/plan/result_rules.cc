#include "controller/plan/result_rules.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::controller {

void CheckResultRules(const v1::RunPhase& run, const Complain& complain) {
  // Found here, or the load would run for its whole duration to no end.
  if (run.has_until_steady() && run.duration_ns() > 0 &&
      run.duration_ns() < int64_t{run.until_steady().window()} * run.until_steady().round_ns()) {
    complain(
        ".until_steady",
        absl::StrFormat("cannot be reached: its window of %d rounds of %s is longer than the "
                        "duration, %s",
                        run.until_steady().window(),
                        common::FormatDuration(static_cast<double>(run.until_steady().round_ns())),
                        common::FormatDuration(static_cast<double>(run.duration_ns()))));
  }
  if (run.expect().steady() && !run.has_until_steady()) {
    complain(".expect.steady", "needs until_steady, which says what steady is");
  }
  const auto& workloads = run.workloads();
  if (run.expect().complete_copy() && std::none_of(workloads.begin(), workloads.end(),
                                                   [](const auto& w) { return w.has_copy(); })) {
    complain(".expect.complete_copy", "needs a workload with copy");
  }
  if (run.has_promised() && !run.promised().has_iops() &&
      !run.promised().has_throughput_bytes_per_second()) {
    complain(".promised", "says nothing: write iops or throughput");
  }
}

}  // namespace lockstep::controller
