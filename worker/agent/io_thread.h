#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "worker/engine/io_engine.h"
#include "worker/sampler/recorder.h"
#include "worker/sampler/timeline.h"
#include "worker/workload/access.h"

namespace lockstep::worker {

// One thread's part of a workload.
struct IoThreadSetup {
  std::function<std::unique_ptr<IoEngine>()> make_engine;
  Access::Options access;
  const BlockSpace* space = nullptr;  // outlives the thread
  std::vector<int> files;             // open descriptors, outlive the thread
  std::vector<std::string> paths;     // of the descriptors
  uint32_t queue_depth = 1;
  uint32_t max_batch = 1;             // I/Os per Exchange(); 1 where the engine does them one by one
  bool reads = true;
  bool writes = false;
  bool buffered = false;              // through the page cache
  bool zeros = false;                 // write zeros instead of random bytes
  uint64_t quota = 0;                 // I/Os; 0 is no limit
  int64_t drain_ns = 0;               // how long I/Os in flight are waited for after the load's end
  int64_t spin_ns = 0;                // how long before T the thread spins instead of sleeping
};

struct IoThreadOutcome {
  int64_t first_io_ns = 0;    // first submission; 0 when there was none
  int64_t last_io_ns = 0;     // last completion
  int64_t cpu_ns = 0;
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  uint64_t exchanges = 0;     // batches submitted
  uint64_t submitted = 0;
  std::string engine;
  std::vector<std::string> notes;
  std::string first_error;    // the first failed I/O, in words
  std::string fatal;          // why the thread gave up; empty when it did not
  bool stuck = false;         // I/Os were still in flight at the end; their buffers are never reused
};

// The closed loop: keeps queue_depth I/Os in flight and records each. Arm() and Run() are called on the thread itself,
// everything else from anywhere; outcome() after Run(). Between T and the end of the drain it does not allocate,
// lock or log.
class IoThread {
 public:
  // `timeline` and `clock` outlive this.
  IoThread(IoThreadSetup setup, const Timeline* timeline, const common::Clock* clock);
  ~IoThread();

  absl::Status Arm();
  void Run();
  // Instead of Run(), when T will not come.
  void Skip() { recorder_.Finish(0); }

  Recorder& recorder() { return recorder_; }
  const IoThreadOutcome& outcome() const { return outcome_; }
  // Offset and age of the oldest I/O in flight, in words; empty when there is none older than `limit_ns`. Racy by
  // nature: a diagnosis, not a measurement.
  std::string OldestInFlight(int64_t now_ns, int64_t limit_ns) const;

 private:
  struct Slot {
    std::atomic<int64_t> submitted_ns{0};  // 0 when free
    IoRequest request;
  };

  void CloseIntervals(int64_t now_ns);
  int FillBatch(int64_t now_ns);
  void Complete(const IoCompletion& completion, int64_t now_ns);
  void GiveUpStuck(int64_t now_ns);
  std::string Describe(const IoRequest& request) const;

  const IoThreadSetup setup_;
  const Timeline* timeline_;
  const common::Clock* clock_;
  Access access_;
  Recorder recorder_;
  IoThreadOutcome outcome_;
  std::unique_ptr<IoEngine> engine_;
  std::unique_ptr<IoBuffers> buffers_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<IoRequest> batch_;
  std::vector<IoCompletion> completions_;
  uint32_t in_flight_ = 0;
};

}  // namespace lockstep::worker
