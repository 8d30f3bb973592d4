#pragma once

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "controller/cli/client.h"

namespace lockstep::cli {

// run --local: a controller and workers of this machine for one command.
struct LocalFlags {
  bool is_local = false;
  int workers = 1;
  std::vector<std::string> allow;
  std::vector<std::string> allow_expendable;
  std::string state_directory;
};

// --local and what belongs to it; `flags` outlive the command.
void AddLocalFlags(CLI::App* command, LocalFlags* flags);

// Calls `run` with the controller of a fleet that lives as long as the call, and returns its exit
// status; without --local with the caller's controller. The store stays. Nothing is consented to:
// what a worker does not allow is refused as elsewhere.
int WithLocalFleet(const Context& caller, const LocalFlags& flags,
                   const std::function<int(const Context&)>& run);

// The names of so many workers of this machine.
std::vector<std::string> WorkerNames(int count);
// Whether the entries of --allow are there: OK, or NOT_FOUND with what to do. Checked before
// anything is started, since a worker would refuse an entry when everything else is up.
absl::Status CheckAllowed(const std::vector<std::string>& allow);

}  // namespace lockstep::cli
