#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "controller/cli/live_view.h"

namespace lockstep::cli {

// Whether a call failed because its controller is lost or cannot answer, so that the same one or a
// successor may answer later.
bool IsControllerLost(const absl::Status& status);

// The controllers that a command asks one after the other. A run outlives its controller: the
// workers go on with their phase, and the controller comes back or another one takes over.
class Successors {
 public:
  explicit Successors(const Context& context) : context_(context) {}

  // The next controller to ask, at any address of --controller; nullptr if none has answered for
  // 60 s, and at once for a fleet that lives as long as the command. `during` says what goes on
  // during that time; it is printed when the wait begins.
  std::unique_ptr<v1::Controller::Stub> Next(const absl::Status& lost, const std::string& during);
  // A controller did what it was asked to, and the next loss is a new one.
  void Answered() { lost_at_.reset(); }

 private:
  const Context& context_;
  std::optional<std::chrono::steady_clock::time_point> lost_at_;
};

// FollowRun(), from one controller to the next. `stub` is then the last controller's. `sysbench`
// may be null.
Watched FollowToEnd(const Context& context, const std::string& run_id, Owner owner,
                    LiveSysbench* sysbench, std::unique_ptr<v1::Controller::Stub>* stub);

}  // namespace lockstep::cli
