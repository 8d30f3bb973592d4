#pragma once

#include <cstdint>
#include <string>

#include "common/clock.h"
#include "worker/load/load_part.h"

namespace lockstep::worker {

// Finds I/Os of a load's threads that do not come back, and reports them while they are in flight.
// Used by one thread, beside the I/O threads.
class HangMonitor {
 public:
  // `parts` and `clock` outlive this; parts and their threads may be added until the load starts.
  HangMonitor(const LoadParts* parts, const common::Clock* clock, ReportEvent report)
      : parts_(parts), clock_(clock), report_(std::move(report)) {}

  // Reports an I/O once when it is older than its workload's limit, then whenever its age has
  // doubled, and when it has come back. To be called several times a second.
  void Poll();
  // Age of the oldest I/O in flight, nanoseconds; 0 when there is none.
  int64_t OldestInFlightNs() const;
  // The first thread's I/O that is in flight, for people: operation, offset, file and age.
  std::string Describe() const;

 private:
  const LoadParts* const parts_;
  const common::Clock* const clock_;
  const ReportEvent report_;
};

}  // namespace lockstep::worker
