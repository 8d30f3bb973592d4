#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/plan/stamp_registry.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// EnrollDevice.left_out of a device that was to be released and has no stamp.
inline constexpr char kNotEnrolled[] = "is not enrolled";

// The effect that enrolling, or releasing, would have.
struct EnrolListing {
  // One for each device that the request means.
  struct Entry {
    v1::EnrollDevice device;
    // The worker that writes to it, and what it is told; nothing where device.left_out says why.
    std::string worker_id;
    v1::StampOrder order;
    std::string device_key;  // DeviceKey(); empty of a device without identity
    std::string history;     // StampRegistry::HistoryOf() it
  };
  std::vector<Entry> entries;

  bool HasOrders() const;
  // The text that a token covers: every order, the history of its device so far, so that no token
  // counts twice, and nothing of those that are left out.
  std::string Text() const;
};

// `fleet`: what every attached worker says of its devices, after a close look; `hellos`: of the
// same workers. `used`: runs in progress, by the keys (DeviceKey) of the devices that they use.
// Devices that carry a signature are left out unless the request names them; those that no worker
// may open are not listed, unless it names them. INVALID_ARGUMENT for a request that says nothing,
// NOT_FOUND for hosts that are not attached or for what it names and nobody has, UNAVAILABLE when a
// worker has not said what its kernel uses, RESOURCE_EXHAUSTED beyond limits::kEnrollDevices. Pure.
// `fleet` was judged by `stamps`.
absl::StatusOr<EnrolListing> ListEnrolment(const v1::EnrollRequest& request,
                                           const v1::DevicesReply& fleet,
                                           const std::vector<v1::Hello>& hellos,
                                           const std::map<std::string, std::string>& used,
                                           const StampRegistry& stamps);

}  // namespace lockstep::controller
