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

// One I/O. `slot` identifies it among the I/Os in flight (0 ≤ slot < queue depth). Its completion
// has the same slot.
struct IoRequest {
  IoKind kind = IoKind::kRead;
  uint16_t file = 0;  // index into EngineSetup::files
  uint32_t slot = 0;
  uint32_t buffer = 0;  // index into EngineSetup::buffers; reads and writes only
  uint32_t length = 0;  // bytes; not for syncs
  uint64_t offset = 0;  // bytes from the file's start; not for syncs
  // Class and level as in IOPRIO_PRIO_VALUE (linux/ioprio.h); 0: the thread's own. Engines whose
  // system calls take none leave it out.
  uint16_t priority = 0;
};

struct IoCompletion {
  uint32_t slot = 0;
  int32_t result = 0;  // bytes moved, 0 for trims and syncs, or -errno
};

// How io_uring's completions reach the thread.
enum class TaskWork { kByRule, kDeferred, kCooperative, kPlain };

// Everything that an engine works with. Files and buffers belong to the caller and outlive the
// engine.
struct EngineSetup {
  std::vector<EngineFile> files;
  const IoBuffers* buffers = nullptr;
  uint32_t queue_depth = 1;
  // The load has buffered writes. The kernel hands these to its own threads, so their completions
  // need not pass through this thread.
  bool buffered_writes = false;
  SyncMode sync_mode = SyncMode::kFsync;
  TaskWork task_work = TaskWork::kByRule;
  bool submission_polling = false;
  bool completion_polling = false;
  bool unregistered = false;      // no registered buffers and files
  bool timed_submission = false;  // submitted_at_ns() will be asked for
};

// Submits one thread's I/O to the kernel: one virtual call per batch, never one per I/O. An engine
// belongs to the thread that opened it. No other thread may call its methods.
class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // Acquires everything that I/O will need. After that, Exchange() does not allocate. Errors have
  // the system's message and say what to do. UNIMPLEMENTED if the host does not support the engine
  // or an option.
  virtual absl::Status Open(const EngineSetup& setup) = 0;

  // Hands `requests` to the kernel and waits until `min_complete` I/Os have completed or
  // CLOCK_MONOTONIC has reached `deadline_ns`. Then fills `completions` (as long as the queue
  // depth) with all I/Os that have completed, and returns their number. Fails only when the engine
  // itself cannot continue, never for a failed I/O. All requests in flight, including `requests`,
  // have distinct slots.
  virtual absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                                       int64_t deadline_ns,
                                       absl::Span<IoCompletion> completions) = 0;

  // The load is over. Adds the engine's remarks about the load to notes().
  virtual void Finish() {}

  // The instant at which the last Exchange() had handed over its requests, CLOCK_MONOTONIC,
  // nanoseconds. 0 without timed_submission.
  int64_t submitted_at_ns() const { return submitted_at_ns_; }

  // "io_uring (registered files and buffers, single issuer)"
  virtual std::string Describe() const = 0;
  // Features that this engine had to do without, and why.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  int64_t submitted_at_ns_ = 0;
  std::vector<std::string> notes_;
};

// The consequence of a failed I/O for the load.
enum class ErrorConsequence {
  kRetry,  // the kernel wants the same I/O to be submitted again
  // The medium or the transport failed this I/O: count it and continue, up to the workload's limit.
  kCount,
  kStop,  // every further I/O will fail in the same way: stop the phase
};
ErrorConsequence ConsequenceOf(int error);

}  // namespace lockstep::worker
