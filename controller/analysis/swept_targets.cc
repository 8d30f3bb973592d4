#include "controller/analysis/swept_targets.h"

#include <set>
#include <string>

#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

std::string PathOf(const v1::TargetInspection& found) {
  // A device that the job selects by its properties has its path in a field of its own.
  if (!found.path().empty()) return found.path();
  return found.paths().empty() ? "" : found.paths(0);
}

// What the first host found, and how many others found something else.
void Describe(const measure::RunData& data, uint32_t index, v1::SweptTarget* out) {
  const v1::Target& target = data.run.job.targets(static_cast<int>(index));
  // Nothing lies behind a null target.
  if (target.has_null()) return;
  const bool is_device = target.has_device() || target.has_iscsi();
  const v1::TargetInspection* first = nullptr;
  for (const measure::RunWorker& worker : data.workers) {
    // What synthetic workers found is made up.
    if (worker.inspection.synthetic()) continue;
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() != index) continue;
      if (first == nullptr) {
        first = &found;
        out->set_host(worker.host);
      } else if (PathOf(found) != PathOf(*first) ||
                 found.device_identity() != first->device_identity()) {
        out->set_other_hosts(out->other_hosts() + 1);
      }
    }
  }
  if (out->other_hosts() == 0) out->clear_host();
  if (first == nullptr) return;
  out->set_path(PathOf(*first));
  // Under a file lies a device, too, which is not what the job names.
  if (is_device) out->set_identity(first->device_identity());
  if (target.has_file()) out->set_files(first->path_count());
  // The stamps at both ends of an enrolled device are among its bytes.
  const uint64_t bytes = first->size_bytes() + 2 * (is_device ? first->stamp_bytes() : 0);
  if (first->size_bytes() > 0) out->set_size_bytes(static_cast<double>(bytes));
}

}  // namespace

void AddSweptTargets(const measure::RunData& data, const v1::PhaseSpec& phase,
                     v1::SweepReport* sweep) {
  std::set<std::string> names;
  const v1::RunPhase load = LoadOf(data.run.job, phase);
  for (const v1::Workload& workload : load.workloads()) {
    names.insert(workload.targets().begin(), workload.targets().end());
  }
  for (int t = 0; t < data.run.job.targets_size(); ++t) {
    if (!names.contains(data.run.job.targets(t).name())) continue;
    v1::SweptTarget* target = sweep->add_targets();
    target->set_name(data.run.job.targets(t).name());
    Describe(data, static_cast<uint32_t>(t), target);
  }
}

}  // namespace lockstep::controller
