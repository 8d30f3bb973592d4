#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The run for a pull request or a wiki: verdict, a table of the phases with load, what to look at,
// sweeps, and the environment folded away. What came from elsewhere is made plain text.
std::string RenderMarkdown(const v1::Report& report);

}  // namespace lockstep::controller
