#include "controller/plan/result_rules.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/plan/selection.h"
#include "google/protobuf/util/message_differencer.h"

namespace lockstep::controller {
namespace {

// Whether the selector takes one host at most, whatever the fleet is.
bool TakesOneHost(const v1::HostSelector& hosts) {
  if (hosts.count() == 1) return true;
  if (hosts.names_size() != 1) return false;
  const auto names = ExpandHostNames(hosts.names(0));
  return names.ok() && names->size() == 1;
}

// Whether the phase can never have two hosts. Two selectors of one host each may take different
// ones: HostProblems() knows the fleet.
bool HasOneHost(const v1::HostSelector& hosts, const v1::RunPhase& run) {
  if (TakesOneHost(hosts)) return true;
  const auto& workloads = run.workloads();
  const auto& axes = run.sweep().axes();
  // The points say which hosts they have.
  if (workloads.empty() || std::any_of(axes.begin(), axes.end(), [](const auto& axis) {
        return absl::StrContains(axis.field(), "hosts.");
      })) {
    return false;
  }
  const v1::HostSelector& first = workloads[0].hosts();
  return TakesOneHost(first) && std::all_of(workloads.begin(), workloads.end(), [&](const auto& w) {
           return google::protobuf::util::MessageDifferencer::Equals(w.hosts(), first);
         });
}

}  // namespace

void CheckResultRules(const v1::HostSelector& hosts, const v1::RunPhase& run,
                      const Complain& complain) {
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
  if (run.expect().steady() && !run.has_until_steady() && !run.sweep().has_until_steady()) {
    complain(".expect.steady", "needs until_steady, which says what steady is");
  }
  if (run.expect().has_fairness() && HasOneHost(hosts, run)) {
    complain(".expect.fairness",
             "cannot be met: it is over hosts, and only one host runs the phase; let two or more "
             "run it, or leave fairness out");
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
