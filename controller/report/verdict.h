#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/report_states.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// How grave a verdict is. Unknown: the run goes on, or a person ended it, which is no fault.
enum class VerdictSeverity { kUnknown, kGood, kWarning, kBad };

// The outcome of a run, in one word: passed, done, running, queued, data corrupted, expectations
// failed, nothing measured, degraded, invalid, errors, backlog, failed, aborted, cancelled.
// "passed" is said only where the job expected something.
struct Verdict {
  // Nothing for a state that is none of ours, as of a newer controller. `text` is that state then.
  std::optional<measure::VerdictWord> word;
  std::string text;
  VerdictSeverity severity = VerdictSeverity::kBad;
  bool good = false;  // done or passed
  bool over = true;   // not queued or running
  std::vector<std::string> reasons;
};
Verdict VerdictOf(const v1::Report& report);
// The errors that verification found, over all phases: "24 of 4,096 checked blocks are not as
// written, on vm-3 and vm-6"; empty when there are none.
std::string CorruptionText(const v1::Report& report);
// The loads that ended as planned although none of their I/Os was completed in the measured time:
// "no I/O was measured in mix and 1 more"; empty when there are none.
std::string UnmeasuredText(const v1::Report& report);
// The verdict, and Warnings(), as the report's `verdict`.
void AddVerdict(v1::Report* report);

// The warnings for a reader who has one minute, the gravest first: each once, with its phases.
std::vector<std::string> Warnings(const v1::Report& report);
// The warnings of these phases alone, without the expectations that they did not meet.
std::vector<std::string> WarningsOf(const v1::Report& report, const std::set<uint32_t>& phases);

// How long rates are over: of a workload, of all together. Reports of earlier versions say only
// from when to when.
inline double WindowSeconds(const v1::PhaseReport& phase) {
  return phase.window_seconds() > 0 ? phase.window_seconds()
                                    : phase.window_end_seconds() - phase.window_begin_seconds();
}
inline double WindowSeconds(const v1::PhaseReport& phase, const v1::WorkloadReport& workload) {
  return workload.window_seconds() > 0 ? workload.window_seconds() : WindowSeconds(phase);
}

std::string StragglerText(const v1::Straggler& straggler);
std::string StarvationText(const v1::Starvation& starvation);
// The files that a copy left out, with its name and why.
std::string CopyText(const v1::WorkloadReport& workload);

// How a device's bytes stand to the engines': "agree", "page cache", "coalesced", …
std::string CrossCheckText(const v1::CrossCheck& check);

}  // namespace lockstep::controller
