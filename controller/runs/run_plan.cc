#include "controller/runs/run_plan.h"

#include <algorithm>

#include "common/timing.h"
#include "controller/fleet/clock_estimator.h"

namespace lockstep::controller {

RunPlan PlanOf(const SettledRun& run) {
  RunPlan plan;
  for (const PlanWorker& worker : run.workers) plan.hosts.push_back(worker.hello.host().name());
  plan.on_worker_loss = run.job.on_worker_loss() == v1::LOSS_POLICY_CONTINUE ? LossPolicy::kContinue
                        : run.job.on_worker_loss() == v1::LOSS_POLICY_RETRY  ? LossPolicy::kRetry
                                                                             : LossPolicy::kAbort;
  plan.rejoin_ns = run.job.deadlines().rejoin_ns();
  plan.min_hosts = run.job.min_hosts();
  plan.arm_deadline_ns = run.job.deadlines().arm_ns();
  // A worker may need all of the drain time before it can answer.
  plan.stop_deadline_ns = run.job.deadlines().drain_ns() + timing::kStopAnswerNs;
  return plan;
}

PhasePlan PlanOf(const v1::JobSpec& job, const PhaseStep& step) {
  // To the machine all loads are alike: also a precondition, verify or observe phase begins at T.
  const PhaseKind kind = step.spec.has_prepare()   ? PhaseKind::kPrepare
                         : step.spec.has_cleanup() ? PhaseKind::kCleanup
                                                   : PhaseKind::kRun;
  return {step.spec.name(), kind, PhaseDeadlineNs(job, step.spec), step.last};
}

std::vector<std::string> PhasesAfter(const v1::JobSpec& job, uint32_t phase, size_t max) {
  std::vector<std::string> names;
  for (int i = static_cast<int>(phase) + 1; i < job.phases_size() && names.size() < max; ++i) {
    names.push_back(job.phases(i).name());
  }
  return names;
}

void DescribeLost(const SettledRun& run, const std::set<uint32_t>& lost, size_t max,
                  v1::PhaseChange* change) {
  change->set_run_hosts(static_cast<uint32_t>(run.workers.size()));
  change->set_lost_count(static_cast<uint32_t>(lost.size()));
  for (const uint32_t worker : lost) {
    if (static_cast<size_t>(change->lost_size()) == max) break;
    change->add_lost(run.workers[worker].hello.host().name());
  }
}

bool StillLaysOut(const v1::JobSpec& job, uint32_t phase) {
  for (int i = static_cast<int>(phase); i < job.phases_size(); ++i) {
    const v1::PhaseSpec& spec = job.phases(i);
    if (spec.has_prepare()) return true;
    const auto& workloads = spec.run().workloads();
    if (std::any_of(workloads.begin(), workloads.end(), [](const auto& w) { return w.create(); })) {
      return true;
    }
    if (spec.run().sweep().has_prepare()) return true;
    if (!spec.run().has_sweep()) continue;
    v1::JobSpec points;
    *points.add_phases() = spec;
    // A point of the sweep may create files where the phase itself does not.
    points = Unrolled(points);
    for (const v1::PhaseSpec& point : points.phases()) {
      for (const v1::Workload& w : point.run().workloads()) {
        if (w.create()) return true;
      }
    }
  }
  return false;
}

int64_t LongestQuarantineNs(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  const int64_t longest = HardStopNs(job, phase) + job.deadlines().drain_ns() + timing::kGivenUpNs;
  // A worker's clock may run slower than this one by the drift that is assumed.
  return longest + static_cast<int64_t>(ClockEstimator::kDriftBound * static_cast<double>(longest));
}

int64_t QuarantineBeforeGoNs(const v1::JobSpec& job) {
  return GoWithinNs(job) + job.deadlines().drain_ns() + timing::kGivenUpNs;
}

}  // namespace lockstep::controller
