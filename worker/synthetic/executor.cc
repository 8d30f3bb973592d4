#include "worker/synthetic/executor.h"

#include <algorithm>

#include "common/mutex.h"
#include "measure/result_stats.h"
#include "proto/workload.h"

namespace lockstep::worker {
namespace {

// Which kinds of operations a workload has.
std::vector<v1::OperationKind> KindsOf(const v1::Workload& workload) {
  std::vector<v1::OperationKind> kinds;
  if (workload.read_ratio() > 0) kinds.push_back(v1::OPERATION_KIND_READ);
  if (workload.read_ratio() < 1) kinds.push_back(v1::OPERATION_KIND_WRITE);
  return kinds;
}

}  // namespace

absl::Status SyntheticExecutor::Assign(const v1::Assignment& assignment) {
  {
    common::MutexLock lock(&mutex_);
    if (busy_) return absl::FailedPreconditionError("busy");
    busy_ = true;
    // Timers cannot be cancelled: one of an earlier assignment finds another turn, and does
    // nothing.
    ++turn_;
    assignment_ = assignment;
    go_ns_ = stop_at_ = 0;
    interval_ = 0;
    taken_.clear();
  }
  v1::Armed armed;
  *armed.mutable_phase() = assignment.phase();
  ports_.armed(armed);
  return absl::OkStatus();
}

absl::Status SyntheticExecutor::Go(const v1::Go& go) {
  uint64_t turn = 0;
  {
    common::MutexLock lock(&mutex_);
    if (!busy_ || go_ns_ != 0) return absl::FailedPreconditionError("no phase is armed");
    go_ns_ = go.at_ns();
    // Schedule() takes the lock itself. The turn tells it whether this assignment has ended in
    // between.
    turn = turn_;
  }
  Schedule(turn);
  return absl::OkStatus();
}

int64_t SyntheticExecutor::LoadEndLocked() const {
  if (!assignment_.has_run()) return 0;
  const v1::RunAssignment& run = assignment_.run();
  // A load that ends by its quota has no duration, and figures that are made up reach no quota.
  const int64_t own =
      run.duration_ns() == 0 ? 10 * assignment_.interval_ns() : run.ramp_ns() + run.duration_ns();
  return stop_at_ == 0 ? own : std::min(own, stop_at_);
}

void SyntheticExecutor::Schedule(uint64_t turn) {
  int64_t at = 0;
  bool over = false;
  {
    common::MutexLock lock(&mutex_);
    if (!busy_ || turn != turn_) return;
    over = interval_ * assignment_.interval_ns() >= LoadEndLocked();
    at = go_ns_ + (over ? std::max<int64_t>(LoadEndLocked(), 0)
                        : (interval_ + 1) * assignment_.interval_ns());
  }
  ports_.at(at, [this, turn, over] {
    if (over) return Finish(turn, End::kOfLoad);
    OnInterval(turn);
  });
}

void SyntheticExecutor::OnInterval(uint64_t turn) {
  v1::PhaseId phase;
  v1::IntervalSample sample;
  {
    common::MutexLock lock(&mutex_);
    if (!busy_ || turn != turn_) return;
    phase = assignment_.phase();
    sample = Measure();
    ++interval_;
  }
  // The lock is released: a protocol whose outbox is full calls StopNow() from within this call.
  ports_.sample(phase, std::move(sample));
  Schedule(turn);
}

// One interval.
v1::IntervalSample SyntheticExecutor::Measure() {
  v1::IntervalSample sample;
  sample.set_interval(interval_);
  const int64_t begin = interval_ * assignment_.interval_ns();
  sample.set_interval_class(begin < assignment_.run().ramp_ns() ? v1::INTERVAL_CLASS_RAMP
                                                                : v1::INTERVAL_CLASS_MEASURED);
  sample.set_begin_ns(begin);
  sample.set_end_ns(begin + assignment_.interval_ns());
  for (const v1::WorkloadAssignment& workload : assignment_.run().workloads()) {
    v1::WorkloadSample* out = sample.add_workloads();
    out->set_workload(workload.index());
    out->set_ended_ns(EndedBy(workload.workload(), sample.end_ns()));
    if (begin < workload.workload().start_delay_ns() || out->ended_ns() > 0) continue;
    for (const v1::OperationKind kind : KindsOf(workload.workload())) {
      // The result must be the sum of the intervals, bucket by bucket (PhaseSeries::CheckResult()).
      // The indices of the seconds that were sent are all that is needed to add it up.
      const auto index = static_cast<uint32_t>(position_++ % model_->size());
      const LatencyModel::Second& second = model_->At(index);
      taken_[{workload.index(), static_cast<int>(kind)}].push_back(index);
      v1::OperationCounters* counters = out->add_operations();
      *counters = second.counters;
      counters->set_kind(kind);
      counters->set_bytes(second.counters.operations() *
                          static_cast<uint64_t>(workload.workload().block_size_bytes()));
    }
  }
  return sample;
}

// When the workload has ended on time, by this instant; 0 if it has not. Figures that are made up
// are of whole intervals: of one in which the workload ends there are none.
int64_t SyntheticExecutor::EndedBy(const v1::Workload& workload, int64_t at_ns) const {
  const int64_t end = v1::OwnEndNs(workload, assignment_.run().ramp_ns());
  return end <= at_ns ? end : 0;
}

void SyntheticExecutor::AddSums(const v1::WorkloadAssignment& workload, size_t ramp,
                                v1::WorkloadResult* out) {
  for (const v1::OperationKind kind : KindsOf(workload.workload())) {
    measure::OperationStats in_ramp;
    measure::OperationStats measured;
    const std::vector<uint32_t>& taken = taken_[{workload.index(), static_cast<int>(kind)}];
    for (size_t i = 0; i < taken.size(); ++i) {
      (i < ramp ? in_ramp : measured).Add(model_->At(taken[i]).stats);
    }
    const auto add = [&](const measure::OperationStats& stats, measure::CountersList* list) {
      if (stats.empty()) return;
      *list->Add() = stats.Encode(kind);
      list->rbegin()->set_bytes(stats.counts().operations *
                                static_cast<uint64_t>(workload.workload().block_size_bytes()));
    };
    add(in_ramp, out->mutable_ramp());
    add(measured, out->mutable_measured());
  }
}

void SyntheticExecutor::Finish(uint64_t turn, End end) {
  v1::PhaseId phase;
  v1::PhaseResult result;
  {
    common::MutexLock lock(&mutex_);
    if (!busy_ || turn != turn_) return;
    // Both change before the answer. It may bring the next assignment at once, and timers of this
    // one must find another turn.
    busy_ = false;
    ++turn_;
    phase = assignment_.phase();
    result.set_go_ns(go_ns_);
    result.set_end_ns(ports_.clock->MonotonicNs());
    result.set_stopped_early(end == End::kStopped);
    result.set_intervals(interval_);
    if (assignment_.has_run() && interval_ > 0) {
      result.set_first_io_ns(go_ns_);
      result.set_last_io_ns(go_ns_ + interval_ * assignment_.interval_ns());
      const int64_t interval = std::max<int64_t>(1, assignment_.interval_ns());
      const int64_t ramp = assignment_.run().ramp_ns() / interval;
      for (const v1::WorkloadAssignment& workload : assignment_.run().workloads()) {
        v1::WorkloadResult* out = result.add_workloads();
        out->set_workload(workload.index());
        out->set_engine("synthetic");
        out->set_ended_ns(EndedBy(workload.workload(), interval_ * interval));
        // It was silent in the intervals before the one that begins with it.
        const int64_t silent = (workload.workload().start_delay_ns() + interval - 1) / interval;
        AddSums(workload, static_cast<size_t>(std::max<int64_t>(0, ramp - silent)), out);
      }
    }
  }
  ports_.result(phase, std::move(result));
}

void SyntheticExecutor::StopAt(const v1::StopAt& stop) {
  common::MutexLock lock(&mutex_);
  if (!busy_ || !SamePhase(stop.phase(), assignment_.phase())) return;
  // An interval that was delivered cannot be taken back.
  const uint32_t interval = std::max(stop.interval(), interval_);
  stop_at_ = (int64_t{interval} + 1) * assignment_.interval_ns();
}

void SyntheticExecutor::StopNow(const std::string& run_id) {
  uint64_t turn = 0;
  {
    common::MutexLock lock(&mutex_);
    if (!busy_ || (!run_id.empty() && run_id != assignment_.phase().run_id())) return;
    turn = turn_;
  }
  // The answer must not come on the caller's stack, which may hold a lock that the answer needs.
  ports_.at(ports_.clock->MonotonicNs(), [this, turn] { Finish(turn, End::kStopped); });
}

}  // namespace lockstep::worker
