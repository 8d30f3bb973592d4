#include "controller/service/run_plan.h"

namespace lockstep::controller {
namespace {

// Workers answer a stop after their drain; their answers have this long to arrive.
constexpr int64_t kStopAnswerNs = 10000000000;

}  // namespace

RunPlan PlanOf(const SettledRun& run) {
  RunPlan plan;
  for (const PlanWorker& worker : run.workers) plan.hosts.push_back(worker.hello.host().name());
  plan.on_worker_loss = run.job.on_worker_loss() == v1::LOSS_POLICY_CONTINUE ? LossPolicy::kContinue
                        : run.job.on_worker_loss() == v1::LOSS_POLICY_RETRY  ? LossPolicy::kRetry
                                                                             : LossPolicy::kAbort;
  plan.rejoin_ns = run.job.deadlines().rejoin_ns();
  plan.min_hosts = run.job.min_hosts();
  plan.arm_deadline_ns = run.job.deadlines().arm_ns();
  plan.stop_deadline_ns = run.job.deadlines().drain_ns() + kStopAnswerNs;
  return plan;
}

PhasePlan PlanOf(const v1::JobSpec& job, const PhaseStep& step) {
  const PhaseKind kind = step.spec.has_prepare()   ? PhaseKind::kPrepare
                         : step.spec.has_cleanup() ? PhaseKind::kCleanup
                                                   : PhaseKind::kRun;
  return {step.spec.name(), kind, PhaseDeadlineNs(job, step.spec), step.last};
}

}  // namespace lockstep::controller
