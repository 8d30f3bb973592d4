#pragma once

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "controller/cli/client.h"

namespace lockstep::cli {

// run --local: a controller and workers of this machine for one command.
struct LocalFlags {
  bool is_local = false;
  int workers = 1;
  std::vector<std::string> allow;
  std::vector<std::string> allow_expendable;
  std::vector<std::string> allow_settings;
  std::string observe = "allowed";  // which devices observe phases see
  std::string state_directory;
  // The directory in which the command itself has the job make its files; empty: the job says it.
  std::string directory;
};

// --local and what belongs to it; `flags` outlive the command.
void AddLocalFlags(CLI::App* command, LocalFlags* flags);

// Refuses flags that mean nothing to a controller that runs already.
enum class FleetOf { kThisMachine, kSshHosts };
absl::Status CheckLocalFlags(const LocalFlags& flags, FleetOf fleet);

// Calls `run` with the controller of a fleet that lives as long as the call, and returns its exit
// status; without --local with the caller's controller. The store stays. A worker refuses
// what it does not allow, as elsewhere.
int WithLocalFleet(const Context& caller, const LocalFlags& flags,
                   const std::function<int(const Context&)>& run);

// The names of so many workers of this machine.
std::vector<std::string> WorkerNames(int count);
// The entries that workers may use: those of --allow, or STATE_DIR/data, which is made, if there is
// none. NOT_FOUND with what to do if an entry is not there: a worker would refuse it when
// everything else is up.
absl::StatusOr<std::vector<std::string>> AllowedOr(const std::string& state_directory,
                                                   const std::vector<std::string>& allow);

}  // namespace lockstep::cli
