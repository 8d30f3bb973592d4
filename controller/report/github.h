#pragma once

#include <string>

#include "proto/comparison.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Workflow commands by which GitHub Actions, and systems that took them over, annotate a run of a
// pipeline: a line for each thing, error, warning or notice. No text can end its line or begin
// another command.

// The annotations of one run: an error when it is not done, when data was corrupted, and for each
// expectation that was not met; its warnings; one notice with what it came to.
std::string RenderGithub(const v1::Report& report);
// The annotations of a comparison: an error for each regression, a warning for each figure that is
// missing or that nobody can tell, and for each warning.
std::string RenderGithub(const v1::Comparison& comparison);

}  // namespace lockstep::controller
