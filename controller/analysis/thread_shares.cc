#include "controller/analysis/thread_shares.h"

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

}  // namespace lockstep::controller
