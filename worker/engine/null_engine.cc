#include "worker/engine/null_engine.h"

#include <algorithm>

namespace lockstep::worker {
namespace {

class NullEngine final : public IoEngine {
 public:
  NullEngine(const NullScript& script, const common::Clock* clock)
      : script_(script),
        clock_(clock),
        instant_(script.latency_ns == 0 && script.stall_every_ns == 0) {}

  absl::Status Open(const EngineSetup& setup) override {
    if (setup.completion_polling || setup.submission_polling) {
      return absl::UnimplementedError("polling is io_uring's; choose engine: io_uring");
    }
    waiting_.reserve(setup.queue_depth);
    timed_ = setup.timed_submission;
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    // No clock is read on this path unless the job asks for submission times: it measures what
    // Lockstep itself costs.
    if (instant_) {
      for (size_t i = 0; i < requests.size(); ++i) {
        completions[i] = {requests[i].slot, static_cast<int32_t>(requests[i].length)};
      }
      if (timed_) submitted_at_ns_ = clock_->MonotonicNs();
      return static_cast<int>(requests.size());
    }
    int64_t now = clock_->MonotonicNs();
    if (timed_) submitted_at_ns_ = now;
    // Stalls count from the first I/O, so that a phase finds the script the same each time.
    if (first_ns_ == 0 && !requests.empty()) first_ns_ = now;
    for (const IoRequest& request : requests) {
      Add({DoneAt(now), request.slot, static_cast<int32_t>(request.length)});
    }
    while (true) {
      int count = 0;
      while (!waiting_.empty() && waiting_.front().at_ns <= now) {
        completions[count++] = {waiting_.front().slot, waiting_.front().length};
        std::pop_heap(waiting_.begin(), waiting_.end());
        waiting_.pop_back();
      }
      if (count > 0 || min_complete == 0 || now >= deadline_ns) return count;
      clock_->SleepUntil(
          std::min(deadline_ns, waiting_.empty() ? deadline_ns : waiting_.front().at_ns));
      now = clock_->MonotonicNs();
    }
  }

  std::string Describe() const override {
    return instant_ ? "null (no storage)" : "null (no storage, scripted latency)";
  }

 private:
  struct Waiting {
    int64_t at_ns;
    uint32_t slot;
    int32_t length;
    // a heap whose front is the earliest
    bool operator<(const Waiting& other) const { return at_ns > other.at_ns; }
  };

  void Add(const Waiting& waiting) {
    waiting_.push_back(waiting);
    std::push_heap(waiting_.begin(), waiting_.end());
  }

  int64_t DoneAt(int64_t now_ns) const {
    const int64_t at = now_ns + script_.latency_ns;
    if (script_.stall_every_ns == 0) return at;
    // An I/O that would complete during a stall completes at its end, as on a device that stands
    // still.
    const int64_t into = (at - first_ns_) % script_.stall_every_ns;
    return into < script_.stall_ns ? at - into + script_.stall_ns : at;
  }

  const NullScript script_;
  const common::Clock* clock_;
  const bool instant_;
  bool timed_ = false;
  int64_t first_ns_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace

std::unique_ptr<IoEngine> NewNullEngine(const NullScript& script, const common::Clock* clock) {
  return std::make_unique<NullEngine>(script, clock);
}

namespace {

const RegisterEngine kNull({.name = "null",
                            .reaches = [](const EngineFile& file) { return !file.has_storage(); },
                            .make =
                                [](const EngineContext& context) {
                                  return NewNullEngine(context.script, context.clock);
                                }});

}  // namespace

}  // namespace lockstep::worker
