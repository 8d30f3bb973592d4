#pragma once

#include <functional>
#include <map>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "worker/load/phase_executor.h"
#include "worker/synthetic/latency_model.h"

namespace lockstep::worker {

// Pretends to carry out assignments: is armed at once, and takes the samples at the end of each
// interval, and the result, from a model. Uses the timers that it is given. Thread-safe.
class SyntheticExecutor final : public PhaseExecutor {
 public:
  struct Ports {
    // on some thread, at an instant of the clock
    std::function<void(int64_t at_ns, std::function<void()>)> at;
    std::function<void(const v1::Armed&)> armed;
    std::function<void(const v1::PhaseId&, v1::IntervalSample)> sample;
    std::function<void(const v1::PhaseId&, v1::PhaseResult)> result;
    const common::Clock* clock = nullptr;
  };
  // `model` outlives this.
  SyntheticExecutor(Ports ports, const LatencyModel* model, uint64_t seed)
      : ports_(std::move(ports)), model_(model), position_(seed) {}

  absl::Status Assign(const v1::Assignment& assignment) override;
  absl::Status Go(const v1::Go& go) override;
  void StopAt(const v1::StopAt& stop) override;
  void StopNow(const std::string& run_id) override;

 private:
  void Schedule(uint64_t turn);
  void OnInterval(uint64_t turn);
  enum class End { kOfLoad, kStopped };
  void Finish(uint64_t turn, End end);
  int64_t EndedBy(const v1::Workload& workload, int64_t at_ns) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the sums of a workload, whose first `ramp` intervals are its ramp.
  void AddSums(const v1::WorkloadAssignment& workload, size_t ramp, v1::WorkloadResult* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::IntervalSample Measure() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t LoadEndLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Ports ports_;
  const LatencyModel* model_;
  common::Mutex mutex_;
  uint64_t position_ ABSL_GUARDED_BY(mutex_);  // in the model
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // of the assignment that is in progress
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  v1::Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  int64_t go_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t stop_at_ ABSL_GUARDED_BY(mutex_) = 0;  // from T; 0: at its own end
  uint32_t interval_ ABSL_GUARDED_BY(mutex_) = 0;
  // workload and kind → seconds of the model, ramp and measured
  std::map<std::pair<uint32_t, int>, std::vector<uint32_t>> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::worker
