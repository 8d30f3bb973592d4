#include "controller/cli/follow.h"

#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSuccessorWait = std::chrono::seconds(60);
// A stream that lasted for so long was served.
constexpr auto kServed = std::chrono::seconds(10);

}  // namespace

bool IsControllerLost(const absl::Status& status) {
  // A server that shuts down cancels its calls, so CANCELLED means the same as UNAVAILABLE.
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

std::unique_ptr<v1::Controller::Stub> Successors::Next(const absl::Status& lost,
                                                       const std::string& during) {
  if (context_.is_local) return nullptr;
  if (!lost_at_) {
    lost_at_ = Clock::now();
    std::cerr << "the controller is lost or cannot answer ("
              << common::Printable(std::string(lost.message())) << "); " << during
              << "waiting for it, or one that takes over, for " << kSuccessorWait.count() << " s\n";
  }
  while (Clock::now() < *lost_at_ + kSuccessorWait) {
    // Also before the first try: a controller whose store is unavailable answers at once, again and
    // again.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    // Connect() tries all addresses of --controller, and the successor usually has another one.
    auto stub = context_.Connect();
    if (stub.ok()) return *std::move(stub);
  }
  return nullptr;
}

Watched FollowToEnd(const Context& context, const std::string& run_id, Owner owner,
                    LiveSysbench* sysbench, std::unique_ptr<v1::Controller::Stub>* stub) {
  Successors successors(context);
  while (true) {
    const auto began = Clock::now();
    Watched watched = FollowRun(stub->get(), run_id, context.Colour(2), owner, sysbench);
    // A watcher who leaves ends the call with CANCELLED, too.
    if (watched.left || watched.status.ok()) return watched;
    // The controller is there and does not know the run. Waiting for another one would not help.
    if (watched.status.error_code() == grpc::StatusCode::NOT_FOUND ||
        watched.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      return watched;
    }
    if (Clock::now() > began + kServed) successors.Answered();
    std::unique_ptr<v1::Controller::Stub> next;
    const absl::Status broken = ToAbsl(watched.status);
    if (IsControllerLost(broken)) {
      next = successors.Next(broken, "the workers go on with their phase; ");
    }
    if (next == nullptr) {
      watched.status = grpc::Status(
          watched.status.error_code(),
          absl::StrCat("the connection to the controller broke (", watched.status.error_message(),
                       "); lockstep watch ", run_id.substr(0, 8), " follows the run again"));
      return watched;
    }
    *stub = std::move(next);
  }
}

}  // namespace lockstep::cli
