#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// What a run came to, in one word: passed, done, running, queued, expectations failed, degraded,
// invalid, errors, failed, aborted, cancelled. "passed" is said only where the job expected
// something.
struct Verdict {
  std::string word;
  bool good = false;  // done or passed
  bool over = true;   // not queued or running
  std::vector<std::string> reasons;
};
Verdict VerdictOf(const v1::Report& report);
// The same, and Warnings(), as the report's `verdict`.
void AddVerdict(v1::Report* report);

// What somebody who has one minute should look at, the gravest first: each once, with the phases
// that it is of.
std::vector<std::string> Warnings(const v1::Report& report);

std::string StragglerText(const v1::Straggler& straggler);
std::string StarvationText(const v1::Starvation& starvation);

// How a device's bytes stand to the engines': "agree", "page cache", "coalesced", …
std::string CrossCheckText(const v1::CrossCheck& check);

}  // namespace lockstep::controller
