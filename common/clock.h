#pragma once

#include <cstdint>

namespace lockstep::common {

// The clock that main() hands to everything below it; nothing else reads the system's clocks.
class Clock {
 public:
  virtual ~Clock() = default;
  // CLOCK_MONOTONIC of this process's time namespace, nanoseconds. Thread-safe.
  virtual int64_t MonotonicNs() const = 0;
  // Nanoseconds since 1970 UTC. Only ever recorded or shown, never compared between hosts.
  // Thread-safe.
  virtual int64_t WallNs() const = 0;
  // Returns once MonotonicNs() >= `at_ns`. Thread-safe.
  virtual void SleepUntil(int64_t at_ns) const = 0;
};

// The system's clock; lives as long as the process.
const Clock& SystemClock();

// As SleepUntil, but spins the last `spin_ns` before the instant, to meet it within a microsecond.
void SleepThenSpinUntil(const Clock& clock, int64_t at_ns, int64_t spin_ns);

}  // namespace lockstep::common
