#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/engine/buffers.h"

namespace lockstep::worker {

enum class IoKind : uint8_t { kRead = 0, kWrite = 1 };
inline constexpr int kIoKinds = 2;

// One I/O. `slot` names it among those in flight (0 ≤ slot < queue depth) and comes back with its completion.
struct IoRequest {
  IoKind kind = IoKind::kRead;
  uint16_t file = 0;    // index into EngineSetup::files
  uint32_t slot = 0;
  uint32_t buffer = 0;  // index into EngineSetup::buffers
  uint32_t length = 0;  // bytes
  uint64_t offset = 0;  // bytes from the file's start
};

struct IoCompletion {
  uint32_t slot = 0;
  int32_t result = 0;  // bytes moved, or -errno
};

// What an engine works with; files and buffers belong to the caller and outlive the engine.
struct EngineSetup {
  std::vector<int> files;             // open descriptors
  const IoBuffers* buffers = nullptr;
  uint32_t queue_depth = 1;
  // Buffered writes: the kernel hands them to threads of its own, whose completions then need not pass through this one.
  bool buffered_writes = false;
};

// How one thread's I/O reaches the kernel: one virtual call per batch, never one per I/O. An engine belongs to the
// thread that opened it; no method may be called from another one.
class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // Acquires everything that I/O will need; afterwards Exchange() does not allocate. Fails with the system's words
  // and what to do about them.
  virtual absl::Status Open(const EngineSetup& setup) = 0;

  // Hands `requests` to the kernel and waits until `min_complete` I/Os have completed or CLOCK_MONOTONIC has
  // reached `deadline_ns`, then fills `completions` (as long as the queue depth) with all that have.
  // Returns how many; fails only when the engine itself cannot go on, never for a failed I/O.
  // REQUIRES: requests in flight, these included, have distinct slots.
  virtual absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete, int64_t deadline_ns,
                                       absl::Span<IoCompletion> completions) = 0;

  // "io_uring (registered files and buffers, single issuer)"
  virtual std::string Describe() const = 0;
  // What was fallen back from, and why.
  virtual const std::vector<std::string>& notes() const = 0;
};

// What a failed I/O means for the phase.
enum class ErrorConsequence {
  kCount,  // the medium or the transport failed this I/O: count it and go on
  kStop,   // the same will happen to every further I/O: stop the phase
};
ErrorConsequence ConsequenceOf(int error);

}  // namespace lockstep::worker
