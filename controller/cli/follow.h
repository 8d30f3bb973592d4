#pragma once

#include <memory>
#include <string>

#include "controller/cli/live_view.h"

namespace lockstep::cli {

// A run outlives its controller: the workers go on with their phase, and the controller comes back
// or another one takes over.

// Whether a call failed because the controller is gone, so that its successor may answer it.
bool IsGone(const absl::Status& status);

// Says on standard error that the controller is gone, and waits for its successor at any address of
// --controller. nullptr if none answers within 60 s.
std::unique_ptr<v1::Controller::Stub> AwaitSuccessor(const Context& context,
                                                     const absl::Status& gone);

// FollowRun(), from one controller to the next. `stub` is then the last controller's. A status that
// is not OK says how to follow the run again.
Watched FollowToEnd(const Context& context, const std::string& run_id, Owner owner,
                    std::unique_ptr<v1::Controller::Stub>* stub);

}  // namespace lockstep::cli
