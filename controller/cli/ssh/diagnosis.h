#pragma once

#include <string>

#include "controller/cli/ssh/connection.h"

namespace lockstep::cli {

// What the doctor says against a host that is to get a worker.
struct HostDiagnosis {
  int problems = 0;
  // The problems, then the warnings: lines that begin with blanks. It has no control characters,
  // and at most ten findings; a last line counts the others. Empty if all is well.
  std::string text;
};

// The host's answer, which may be anything. A doctor that has not answered is a problem. Pure.
HostDiagnosis ReadDiagnosis(const SshConnection::DoctorAnswer& answer);

}  // namespace lockstep::cli
