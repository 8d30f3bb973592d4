#pragma once

#include <string>
#include <vector>

#include "controller/cli/commands.h"

namespace lockstep::cli {

struct AbFlags {
  std::string baseline, file;  // the two job files
  uint32_t repeat = 5;         // runs of each
  std::vector<std::string> sets;
  Submitter by;
  std::string format = "text";  // text, json, junit
  TranslateFlags translate;     // for both files
};

// Adds --ab and --repeat to a command that has the flags of a report. `baseline` and `repeat` must
// outlive the command.
void AddAbFlags(CLI::App* run, std::string* baseline, uint32_t* repeat);

// Runs the two jobs in turn, `repeat` times each and the baseline first, then prints the
// comparison. The first run that is not done ends this, and its exit status is returned. Earlier
// runs stay in the store. Otherwise returns 0, whatever the comparison says: `lockstep gate`
// judges.
int RunAb(const Context& context, const AbFlags& flags);

}  // namespace lockstep::cli
