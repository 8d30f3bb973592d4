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

// --ab and --repeat of a command that has a report's flags; both outlive the command.
void AddAbFlags(CLI::App* run, std::string* baseline, uint32_t* repeat);

// Runs both jobs so often, in turn, each waited for, and prints the comparison: the baseline first.
// A run that is not done ends it with that run's exit status; what has run stays in the store.
// Otherwise 0, whatever the comparison says: `lockstep gate` judges.
int RunAb(const Context& context, const AbFlags& flags);

}  // namespace lockstep::cli
