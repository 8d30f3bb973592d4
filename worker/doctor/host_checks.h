#pragma once

#include <cstdint>
#include <string>

#include "doctor/findings.h"

namespace lockstep::worker {

// The kernel's answer to a request for a ring of io_uring.
struct RingAttempt {
  int setup_error = 0;     // of io_uring_setup(2); 0 when it worked
  int register_error = 0;  // of registering one buffer of kRingBufferBytes
};
inline constexpr uint32_t kRingEntries = 128;
inline constexpr uint64_t kRingBufferBytes = 1 << 20;

// Sets up a ring, registers a buffer, and closes it again. No I/O.
RingAttempt TryRing();

// The state of the wall clock as the kernel has it (adjtimex(2)).
enum class WallClock { kSynchronised, kNotSynchronised, kUnknown };
WallClock ReadWallClock();

// Checks kernel, io_uring, limits, clocks and processors of a host, by its /proc and /sys below
// `root` (empty: this host's, and of this process), and by what was tried. Pure but for reading.
struct HostProbes {
  RingAttempt ring;
  WallClock wall_clock = WallClock::kUnknown;
  uint32_t cpus = 1;
};
void CheckHost(const std::string& root, const HostProbes& probes, doctor::Findings* findings);

// Checks the worker's state directory: that it can be made or written, and that the disk part of
// the outbox fits there. It makes nothing. Gives up on a file system that does not answer.
void CheckStateDirectory(const std::string& path, uint64_t outbox_bytes,
                         doctor::Findings* findings);

}  // namespace lockstep::worker
