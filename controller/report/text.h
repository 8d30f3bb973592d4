#pragma once

#include <cstddef>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

struct TextOptions {
  bool colour = false;
  size_t width = 100;   // columns; tables of figures may need more
  bool detail = false;  // all that is known, instead of one screen
  // The command that starts a controller on the results, when this one ends with its command.
  // Empty: the controller stays.
  std::string up_command;
};

// The report as text for people: the verdict, a table of the phases and the warnings; in detail
// also workloads, hosts, threads, devices and kernels. Names and messages from outside are made
// safe for a terminal. Ends with a line break.
std::string RenderText(const v1::Report& report, const TextOptions& options);

}  // namespace lockstep::controller
