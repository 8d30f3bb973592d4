#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/text.h"
#include "common/timing.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::controller {

// The time for which a caller's thread waits for an answer. Code that may answer later says so
// before.
inline constexpr int64_t kAnswerWaitNs = 10 * timing::kSecond;

inline grpc::Status ToGrpc(const absl::Status& status) {
  return status.ok() ? grpc::Status::OK
                     : grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                                    common::Printable(std::string(status.message()), 2000));
}

// Waits on the caller's thread, up to kAnswerWaitNs (10 s), for an answer from the coordinator's
// thread, which never does anything slow. UNAVAILABLE when none comes by then: the controller is
// shutting down.
template <typename T, typename Ask>
absl::StatusOr<T> Await(const Ask& ask) {
  auto promise = std::make_shared<std::promise<T>>();
  auto answer = promise->get_future();
  ask([promise](T value) { promise->set_value(std::move(value)); });
  if (answer.wait_for(std::chrono::nanoseconds(kAnswerWaitNs)) != std::future_status::ready) {
    return absl::UnavailableError("the controller is shutting down");
  }
  return answer.get();
}

}  // namespace lockstep::controller
