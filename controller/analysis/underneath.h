#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "controller/analysis/devices.h"
#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The topmost devices under the workload's targets, those underneath them, and the file system of a
// target that another host or a daemon serves.
struct Underneath {
  std::vector<const v1::DeviceReport*> devices;
  std::vector<const v1::DeviceReport*> lower;
  std::string remote;
  // A target has no device: its I/Os are not among the devices' requests.
  bool elsewhere = false;
  RequestTimes requests;  // of the topmost devices
};
// Whether most requests of devices can be those of so many I/Os. The mean of others' requests says
// nothing of the I/Os' own: small ones are faster. Queues may split large blocks.
inline bool CanBeMostRequests(double ios, double block_bytes, double requests) {
  constexpr double kRequestBytes = 64 << 10;
  constexpr double kMinShare = 0.5;
  return ios * std::max(1.0, std::ceil(block_bytes / kRequestBytes)) >= kMinShare * requests;
}
// `report` has the phase's devices, and outlives what is returned.
Underneath FindUnderneath(const PhaseView& view, const v1::Workload& w,
                          const v1::PhaseReport& report);

}  // namespace lockstep::controller
