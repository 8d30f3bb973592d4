#include "controller/analysis/thread_shares.h"

#include <vector>

#include "controller/plan/selection.h"

namespace lockstep::controller {

ThreadShares ThreadSharesOf(const v1::PhaseReport& report, const std::string& workload) {
  ThreadShares shares;
  for (const v1::ThreadReport& t : report.threads()) {
    if (t.workload() != workload) continue;
    shares.io += t.wait_ratio();
    shares.fsync += t.fsync_ratio();
    shares.rate += t.rate_ratio();
    shares.think += t.think_ratio();
    shares.cpu += t.cpu_ratio();
    ++shares.threads;
  }
  // The report has no threads of a workload whose hosts were all lost.
  if (shares.threads == 0) return shares;
  for (double* share : {&shares.io, &shares.fsync, &shares.rate, &shares.think, &shares.cpu}) {
    *share /= shares.threads;
  }
  return shares;
}

double QueueFull(const PhaseView& view, int workload) {
  double sum = 0;
  int count = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) != workload) continue;
      sum += result.queue_full_ratio();
      ++count;
    }
  }
  return count == 0 ? 0 : sum / count;
}

double PartOfHosts(const PhaseView& view, const v1::Workload& workload) {
  std::vector<PlanWorker> fleet;
  std::vector<bool> has_result;
  bool lost = false;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    if (self == nullptr) continue;
    fleet.push_back({self->hello, {}});
    has_result.push_back(worker.has_result);
    lost = lost || !worker.has_result;
  }
  // Nearly always: the selection need not be made again.
  if (!lost) return 1;
  // The same workers give the same selection as when the phase was planned.
  const auto chosen = Select(workload.hosts(), fleet);
  if (!chosen.ok() || chosen->empty()) return 1;
  double left = 0;
  for (const uint32_t index : *chosen) left += has_result[index] ? 1 : 0;
  return left / static_cast<double>(chosen->size());
}

}  // namespace lockstep::controller
