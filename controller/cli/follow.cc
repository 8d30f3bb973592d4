#include "controller/cli/follow.h"

#include <chrono>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::cli {
namespace {

constexpr auto kSuccessorWait = std::chrono::seconds(60);

}  // namespace

bool IsGone(const absl::Status& status) {
  // A server that shuts down cancels its calls, so CANCELLED means the same as UNAVAILABLE.
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

std::unique_ptr<v1::Controller::Stub> AwaitSuccessor(const Context& context,
                                                     const absl::Status& gone) {
  std::cerr << "the controller is gone (" << common::Printable(std::string(gone.message()))
            << "); the workers go on with their phase; waiting for it, or one that takes over\n";
  const auto deadline = std::chrono::steady_clock::now() + kSuccessorWait;
  // Connect() tries all addresses of --controller, and the successor usually has another one.
  while (std::chrono::steady_clock::now() < deadline) {
    auto stub = context.Connect();
    if (stub.ok()) return *std::move(stub);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  return nullptr;
}

Watched FollowToEnd(const Context& context, const std::string& run_id, Owner owner,
                    std::unique_ptr<v1::Controller::Stub>* stub) {
  while (true) {
    Watched watched = FollowRun(stub->get(), run_id, context.Colour(2), owner);
    // A watcher who leaves ends the call with CANCELLED, too.
    if (watched.left || watched.status.ok()) return watched;
    // The controller is there and does not know the run. Waiting for another one would not help.
    if (watched.status.error_code() == grpc::StatusCode::NOT_FOUND ||
        watched.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      return watched;
    }
    std::unique_ptr<v1::Controller::Stub> successor;
    const absl::Status broken = ToAbsl(watched.status);
    if (IsGone(broken)) successor = AwaitSuccessor(context, broken);
    if (successor == nullptr) {
      watched.status = grpc::Status(
          watched.status.error_code(),
          absl::StrCat("the connection to the controller broke (", watched.status.error_message(),
                       "); lockstep watch ", run_id.substr(0, 8), " follows the run again"));
      return watched;
    }
    *stub = std::move(successor);
  }
}

}  // namespace lockstep::cli
