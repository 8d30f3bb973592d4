#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/engine/buffers.h"
#include "worker/engine/engine_file.h"
#include "worker/workload/io_kind.h"

namespace lockstep::worker {

// One I/O. `slot` names it among those in flight (0 ≤ slot < queue depth) and comes back with its
// completion.
struct IoRequest {
  IoKind kind = IoKind::kRead;
  uint16_t file = 0;  // index into EngineSetup::files
  uint32_t slot = 0;
  uint32_t buffer = 0;  // index into EngineSetup::buffers; reads and writes only
  uint32_t length = 0;  // bytes; not for syncs
  uint64_t offset = 0;  // bytes from the file's start; not for syncs
};

struct IoCompletion {
  uint32_t slot = 0;
  int32_t result = 0;  // bytes moved, 0 for trims and syncs, or -errno
};

// How io_uring's completions reach the thread.
enum class TaskWork { kByRule, kDeferred, kCooperative, kPlain };

// What an engine works with; files and buffers belong to the caller and outlive the engine.
struct EngineSetup {
  std::vector<EngineFile> files;
  const IoBuffers* buffers = nullptr;
  uint32_t queue_depth = 1;
  // Buffered writes: the kernel hands them to threads of its own, whose completions then need not
  // pass through this one.
  bool buffered_writes = false;
  SyncMode sync_mode = SyncMode::kFsync;
  TaskWork task_work = TaskWork::kByRule;
  bool submission_polling = false;
  bool completion_polling = false;
  bool unregistered = false;      // no registered buffers and files
  bool timed_submission = false;  // submitted_at_ns() will be asked for
};

// How one thread's I/O reaches the kernel: one virtual call per batch, never one per I/O. An engine
// belongs to the thread that opened it; no method may be called from another one.
class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // Acquires everything that I/O will need; afterwards Exchange() does not allocate. Errors carry
  // the system's message and what to do; UNIMPLEMENTED for an option that the host does not
  // support.
  virtual absl::Status Open(const EngineSetup& setup) = 0;

  // Hands `requests` to the kernel and waits until `min_complete` I/Os have completed or
  // CLOCK_MONOTONIC has reached `deadline_ns`, then fills `completions` (as long as the queue
  // depth) with all that have. Returns how many; fails only when the engine itself cannot go on,
  // never for a failed I/O. Requests in flight, these included, have distinct slots.
  virtual absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                                       int64_t deadline_ns,
                                       absl::Span<IoCompletion> completions) = 0;

  // The load is over: what is to be said of it is added to notes().
  virtual void Finish() {}

  // When the last Exchange() had handed its requests over, CLOCK_MONOTONIC; with timed_submission
  // only, else 0.
  int64_t submitted_at_ns() const { return submitted_at_ns_; }

  // "io_uring (registered files and buffers, single issuer)"
  virtual std::string Describe() const = 0;
  // Features that this engine had to do without, and why.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  int64_t submitted_at_ns_ = 0;
  std::vector<std::string> notes_;
};

// What a failed I/O means.
enum class ErrorConsequence {
  kRetry,  // the kernel asks for it: the same I/O again
  // the medium or the transport failed this I/O: count it and go on, up to the workload's limit
  kCount,
  kStop,  // the same will happen to every further I/O: stop the phase
};
ErrorConsequence ConsequenceOf(int error);

}  // namespace lockstep::worker
