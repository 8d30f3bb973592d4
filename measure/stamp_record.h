#pragma once

#include <cstdint>
#include <string>

namespace lockstep::measure {

// A stamp that was written to a device, or was to be: it counts from then until `ended_ns`. Only
// what the store has as live is enrolled, whatever lies on the device.
struct StampRecord {
  std::string number;  // UUID
  // The device's key (controller/plan/fleet_uses.h, DeviceKey()): the same on all hosts that see
  // it.
  std::string device_key;
  std::string identity;  // as BlockDevice
  std::string host, path;
  std::string enrolled_by;
  int64_t enrolled_ns = 0;  // wall clock, nanoseconds since 1970, as the next
  std::string ended_by;     // who released it, or enrolled the device anew
  int64_t ended_ns = 0;     // 0: it is live
  bool operator==(const StampRecord&) const = default;
};

}  // namespace lockstep::measure
