#include <algorithm>
#include <string>
#include <vector>

#include "controller/analysis/devices.h"
#include "controller/analysis/phase_view.h"
#include "controller/plan/layers.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the load ended with a sync of all that the workload had written. A sync after each write
// may leave out the writes in flight at the end, which are few.
bool HasSyncedAll(const v1::Workload& workload, const v1::WorkloadResult& result) {
  if (workload.direct() || workload.write_through() > v1::WRITE_THROUGH_NONE) return true;
  // After a failed sync pages may be clean that were never written (fsync(2), EIO).
  if (measure::CountsOf(result, v1::OPERATION_KIND_FSYNC).errors > 0) return false;
  return workload.fsync().at_end() || workload.fsync().every() == 1;
}

// The way of a workload's I/O, seen from one device.
struct Route {
  bool here = false;       // to it
  bool elsewhere = false;  // to another device
  bool through = false;    // to it through a layer above it
  bool spreads = false;    // to it and others from one target
  // A copy may have its source alone on it, or its destination.
  bool reads = false, writes = false;
};

Route RouteOf(const PhaseView& view, const measure::RunWorker& worker, const v1::Workload& workload,
              const std::string& device, EnginesOn* found) {
  Route route;
  for (const v1::TargetInspection& target : worker.inspection.targets()) {
    const v1::Target& spec = view.data().run.job.targets(static_cast<int>(target.target()));
    if (std::find(workload.targets().begin(), workload.targets().end(), spec.name()) ==
        workload.targets().end()) {
      continue;
    }
    const TargetDevices under = DevicesUnder(worker.inspection, target);
    const bool is_top = Has(under.top, device);
    route.here = route.here || is_top;
    // A target without a device, such as a null target, takes I/O away as well.
    route.elsewhere = route.elsewhere || !is_top || under.top.size() > 1;
    route.spreads = route.spreads || (is_top && under.top.size() > 1);
    const bool is_under = !is_top && Has(under.lower, device);
    route.through = route.through || is_under;
    if (is_top || is_under) {
      route.reads |= !workload.has_copy() || v1::ReadsFrom(workload, spec.name());
      route.writes |= !workload.has_copy() || v1::WritesTo(workload, spec.name());
    }
    found->files = found->files || (is_top && !spec.has_device());
    if (target.device_name() == device) found->identity = target.device_identity();
  }
  return route;
}

}  // namespace

EnginesOn FindEngines(const PhaseView& view, const std::string& boot_id, const std::string& device,
                      Reach reach) {
  EnginesOn found;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    // A device's counters belong to the kernel. Workers in several containers of one kernel all add
    // to them, so that their engines are added up, too.
    if (self == nullptr || self->boot_id != boot_id) continue;
    found.lost = found.lost || !worker.has_result;
    bool sees = false;
    bool others = false;
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) >= view.load().workloads_size()) continue;
      const v1::Workload& workload = view.load().workloads(static_cast<int>(result.workload()));
      const Route route = RouteOf(view, *self, workload, device, &found);
      const bool is_here = route.here || (reach == Reach::kAnyLayer && route.through);
      // Its bytes are among the device's, and cannot be told from those of the others.
      if (route.through) found.attributable = false;
      others = others || !is_here || route.elsewhere;
      if (!is_here) continue;
      sees = true;
      // Each side of a copy lies on one device: its reads and its writes can be told apart.
      if (route.spreads || (route.elsewhere && !workload.has_copy())) found.attributable = false;
      const EnginesOn::Part part{&worker, &result, route.reads, route.writes};
      if (!workload.direct()) found.buffered = true;
      found.syncs =
          found.syncs || workload.has_fsync() || workload.write_through() > v1::WRITE_THROUGH_NONE;
      if (route.writes && measure::CountsOf(result, v1::OPERATION_KIND_WRITE).operations > 0) {
        found.synced = found.synced && HasSyncedAll(workload, result);
      }
      if (SmallestBlock(workload) == LargestBlock(workload)) {
        found.blocks.insert(static_cast<double>(LargestBlock(workload)));
      }
      found.in_flight += static_cast<double>(workload.threads()) * workload.queue_depth();
      found.parts.push_back(part);
    }
    if (sees) found.workers.push_back(self->worker_index);
    if (sees && others) found.alone = false;
  }
  return found;
}

}  // namespace lockstep::controller
