#include "controller/analysis/phase_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

// Empty for a row whose phase the job does not have.
v1::RunPhase LoadOfStored(const storage::RunData& data, const storage::PhaseData& phase) {
  const auto index = static_cast<int>(phase.phase.phase);
  return index < data.run.job.phases_size() ? LoadOf(data.run.job, data.run.job.phases(index))
                                            : v1::RunPhase();
}

}  // namespace

PhaseView::PhaseView(const storage::RunData& data, const storage::PhaseData& phase)
    : data_(data), phase_(phase), load_(LoadOfStored(data, phase)) {}

const storage::RunWorker* PhaseView::WorkerOf(uint32_t index) const {
  for (const storage::RunWorker& worker : data_.workers) {
    if (worker.worker_index == index) return &worker;
  }
  return nullptr;
}

std::string PhaseView::HostOf(uint32_t index) const {
  const storage::RunWorker* worker = WorkerOf(index);
  return worker == nullptr ? absl::StrCat("worker ", index) : worker->host;
}

std::vector<const storage::RunWorker*> PhaseView::Absent() const {
  std::vector<const storage::RunWorker*> absent;
  for (const storage::RunWorker& worker : data_.workers) {
    const bool there = std::any_of(
        phase_.workers.begin(), phase_.workers.end(),
        [&](const storage::WorkerPhaseData& w) { return w.worker_index == worker.worker_index; });
    if (!there) absent.push_back(&worker);
  }
  return absent;
}

bool PhaseView::IsSynthetic() const {
  return std::any_of(
      data_.workers.begin(), data_.workers.end(),
      [](const storage::RunWorker& worker) { return worker.inspection.synthetic(); });
}

IoSums SumsOf(const v1::IntervalSample& interval) {
  IoSums sums;
  for (const v1::WorkloadSample& workload : interval.workloads()) {
    for (const v1::OperationCounters& c : workload.operations()) {
      if (c.kind() == v1::OPERATION_KIND_FSYNC) continue;
      sums.operations += c.operations();
      sums.bytes += c.bytes();
    }
  }
  return sums;
}

}  // namespace lockstep::controller
