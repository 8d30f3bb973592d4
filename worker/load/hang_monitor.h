#pragma once

#include <cstdint>
#include <string>

#include "common/clock.h"
#include "worker/load/load_part.h"

namespace lockstep::worker {

// Finds I/Os of a load's threads that do not complete, and reports them while they are in flight.
// One thread that is not an I/O thread uses it.
class HangMonitor {
 public:
  // `parts` and `clock` outlive this; parts and their threads may be added until the load starts.
  HangMonitor(const LoadParts* parts, const common::Clock* clock, ReportEvent report)
      : parts_(parts), clock_(clock), report_(std::move(report)) {}

  // Reports an I/O when it becomes older than its workload's limit, each time its age has doubled,
  // and when it has completed. The caller calls this several times a second.
  void Poll();
  // Age of the oldest I/O in flight, nanoseconds; 0 when there is none.
  int64_t OldestInFlightNs() const;
  // A message about an I/O in flight of the first thread that has one: operation, offset, file,
  // age.
  std::string Describe() const;

 private:
  const LoadParts* const parts_;
  const common::Clock* const clock_;
  const ReportEvent report_;
};

}  // namespace lockstep::worker
