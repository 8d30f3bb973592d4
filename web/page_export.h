#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/controller.grpc.pb.h"
#include "web/calls.h"

namespace lockstep::web {

struct ExportedPage {
  std::string name;  // for a file
  std::string html;
};

// A run's report as one file that needs nothing else: the page itself with its data inside, for
// which it asks nobody. Its script and style are allowed by their hashes in its own
// Content-Security-Policy, and nothing else is. Blocks; `calls` may be null. The controller's
// status; FAILED_PRECONDITION for a run that has not ended.
absl::StatusOr<ExportedPage> ExportPage(v1::Controller::Stub* stub, Calls* calls,
                                        const std::string& run_id);

}  // namespace lockstep::web
