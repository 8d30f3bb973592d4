#include "controller/analysis/underneath.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "controller/plan/layers.h"

namespace lockstep::controller {
namespace {

// Whether such a file system has no block device of this host below it. A FUSE daemon often serves
// a remote store.
bool IsRemote(const std::string& filesystem) {
  static constexpr absl::string_view kRemote[] = {"nfs", "smb", "ceph", "lustre", "beegfs", "fuse"};
  return absl::c_linear_search(kRemote, filesystem);
}

// Adds the reports of these devices of the worker, each once.
void AddReports(const v1::PhaseReport& report, uint32_t worker,
                const std::vector<std::string>& names,
                std::vector<const v1::DeviceReport*>* found) {
  for (const v1::DeviceReport& device : report.devices()) {
    const auto& workers = device.workers();
    const bool here = std::find(workers.begin(), workers.end(), worker) != workers.end();
    if (here && std::find(names.begin(), names.end(), device.name()) != names.end() &&
        std::find(found->begin(), found->end(), &device) == found->end()) {
      found->push_back(&device);
    }
  }
}

}  // namespace

Underneath FindUnderneath(const PhaseView& view, const v1::Workload& w,
                          const v1::PhaseReport& report) {
  Underneath found;
  for (const measure::RunWorker& worker : view.data().workers) {
    for (const v1::TargetInspection& target : worker.inspection.targets()) {
      const std::string& name =
          view.data().run.job.targets(static_cast<int>(target.target())).name();
      if (std::find(w.targets().begin(), w.targets().end(), name) == w.targets().end()) continue;
      if (IsRemote(target.filesystem())) found.remote = target.filesystem();
      const TargetDevices under = DevicesUnder(worker.inspection, target);
      found.elsewhere = found.elsewhere || under.top.empty();
      AddReports(report, worker.worker_index, under.top, &found.devices);
      AddReports(report, worker.worker_index, under.lower, &found.lower);
    }
  }
  for (const v1::DeviceReport* device : found.devices) found.requests.Add(*device);
  return found;
}

}  // namespace lockstep::controller
