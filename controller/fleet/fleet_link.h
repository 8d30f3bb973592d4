#pragma once

#include <string>
#include <vector>

#include "controller/fleet/clock_estimator.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// The fleet, as the coordinator and the run actors use it. Thread-safe.
class FleetLink {
 public:
  virtual ~FleetLink() = default;
  // Sends a command. False when the worker has no connection now.
  virtual bool Send(const std::string& worker_id, v1::ControllerMessage message) = 0;
  // Begins several quick exchanges of pings with each worker, for a good estimate of its clock
  // soon.
  virtual void PingBurst(const std::vector<std::string>& worker_ids) = 0;
  // The time that the worker's clock will show at an instant of the controller's.
  virtual ClockEstimator::Estimate ClockAt(const std::string& worker_id, int64_t at_ns) const = 0;
  // Those that have a connection.
  virtual std::vector<v1::Hello> Hellos() const = 0;
  // Its wall clock minus the controller's, nanoseconds: for the record only.
  virtual int64_t WallDifferenceNs(const std::string& worker_id) const = 0;
  virtual int64_t lease_ns() const = 0;
};

}  // namespace lockstep::controller
