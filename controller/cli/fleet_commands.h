#pragma once

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "controller/cli/client.h"
#include "controller/cli/local_run.h"

namespace lockstep::cli {

// --ssh and what belongs to it, of `fleet up` and of `run`.
struct SshFlags {
  std::vector<std::string> hosts;  // node sets
  std::string hosts_file;
  std::string config;
  std::string archive;
  std::string directory;
  std::string way = "socket";
  std::vector<std::string> allow, allow_expendable, allow_settings;
  std::string observe = "allowed";
  std::string pki;  // the directory of the authority that signs the workers' certificates
  std::string valid_for = "24h";
  bool all_or_nothing = false;
  bool allow_problems = false;
  size_t parallel = 16;
  int alone_seconds = 300;
  std::string state_directory;
  bool any() const { return !hosts.empty() || !hosts_file.empty(); }
};

// The flags of `run --ssh`; `local` has those that --local and --ssh share.
void AddSshRunFlags(CLI::App* command, SshFlags* flags);

// Calls `run` with the controller of a fleet that ends with the call: workers on the hosts of
// --ssh, and a controller of this machine unless the caller has named one. Returns the exit status
// of `run`. Without --ssh it does what WithLocalFleet() does.
int WithSshFleet(const Context& caller, const SshFlags& ssh, const LocalFlags& local,
                 const std::function<int(const Context&)>& run);

}  // namespace lockstep::cli
