#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/cli/client.h"
#include "doctor/controller_call.h"
#include "proto/doctor.pb.h"

namespace lockstep::cli {

// The flags with which the worker of this host would be started.
struct DoctorFlags {
  std::vector<std::string> allow;
  std::vector<std::string> allow_expendable;
  std::string state_directory;  // empty: the worker's own default
};

struct Diagnosis {
  v1::DoctorReport report;
  std::unique_ptr<doctor::ReachedController> controller;  // null when none answers
  // The settings of the store's server that are not its defaults, one on a line.
  std::string store_settings;
};
// Checks this host (by lockstep-worker --doctor, where it lies beside this program), the controller
// and its store. Changes nothing.
Diagnosis Diagnose(const Context& context, const DoctorFlags& flags);

// The part about the store, as the reading role of `stub`'s controller sees it. `settings`
// gets the server's settings that are not its defaults, one on a line.
void CheckStore(v1::Controller::Stub* stub, v1::DoctorReport* report, std::string* settings);

// Ends the program after Diagnose(), whose threads may hang in a file system that does not answer:
// exit(3) would run destructors under them, and some file systems (FUSE) keep even _exit(2)
// waiting, for which nobody who reads the output must wait.
[[noreturn]] void EndAtOnce(int status);

}  // namespace lockstep::cli
