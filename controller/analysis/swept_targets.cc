#include "controller/analysis/swept_targets.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/limits.h"
#include "controller/plan/loads.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {
namespace {

std::string PathOf(const v1::TargetInspection& found) {
  // A device that the job selects by its properties has its path in a field of its own.
  if (!found.path().empty()) return found.path();
  return found.paths().empty() ? "" : found.paths(0);
}

bool IsDevice(const v1::Target& target) { return target.has_device() || target.has_iscsi(); }

// The first host's finding about a target, and how many others found something else.
struct Sighting {
  bool is_swept = false;
  const measure::RunWorker* worker = nullptr;
  const v1::TargetInspection* found = nullptr;
  uint32_t others = 0;
};

// The names that the sweep's targets have at its points.
std::set<std::string> NamesIn(const v1::RunPhase& load) {
  const v1::Sweep& sweep = load.sweep();
  const uint64_t once = StepsOf(sweep) / std::max<uint64_t>(1, sweep.repeat());
  std::set<std::string> names;
  SweepSteps steps(sweep);
  for (uint32_t step = 0; step < std::min<uint64_t>(once, limits::kJobSteps); ++step) {
    const SweepStep& at = steps.At(step);
    if (at.kind != StepKind::kRun) continue;
    for (const v1::Workload& workload : load.workloads()) {
      for (const std::string& target : workload.targets()) {
        names.insert(TargetAt(target, at.point));
      }
    }
  }
  return names;
}

// By number of the target. A job may have 256, of which each of 10,000 workers tells: each worker's
// are gone through once.
std::vector<Sighting> SightingsOf(const measure::RunData& data,
                                  const std::set<std::string>& names) {
  const v1::JobSpec& job = data.run.job;
  std::vector<Sighting> sightings(static_cast<size_t>(job.targets_size()));
  for (int t = 0; t < job.targets_size(); ++t) {
    sightings[static_cast<size_t>(t)].is_swept = names.contains(job.targets(t).name());
  }
  for (const measure::RunWorker& worker : data.workers) {
    // The findings of synthetic workers are made up.
    if (worker.inspection.synthetic()) continue;
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= sightings.size()) continue;
      Sighting& sighting = sightings[found.target()];
      if (!sighting.is_swept) continue;
      if (sighting.found == nullptr) {
        sighting.worker = &worker;
        sighting.found = &found;
        continue;
      }
      // Under a file lies a device, too, which is not what the job names.
      const bool is_other_device = IsDevice(job.targets(static_cast<int>(found.target()))) &&
                                   found.device_identity() != sighting.found->device_identity();
      sighting.others += PathOf(found) != PathOf(*sighting.found) || is_other_device;
    }
  }
  return sightings;
}

void Describe(const v1::Target& target, const Sighting& sighting, v1::SweptTarget* out) {
  // Nothing lies behind a null target.
  if (target.has_null() || sighting.found == nullptr) return;
  const v1::TargetInspection& found = *sighting.found;
  if (sighting.others > 0) out->set_host(sighting.worker->host);
  out->set_other_hosts(sighting.others);
  out->set_path(PathOf(found));
  if (IsDevice(target)) out->set_identity(found.device_identity());
  if (target.has_file()) out->set_files(found.path_count());
  if (found.size_bytes() == 0) return;
  // The stamps at both ends of an enrolled device are among its bytes.
  const double stamps = IsDevice(target) ? 2 * static_cast<double>(found.stamp_bytes()) : 0;
  out->set_size_bytes(static_cast<double>(found.size_bytes()) + stamps);
}

}  // namespace

void AddSweptTargets(const measure::RunData& data, const v1::PhaseSpec& phase,
                     v1::SweepReport* sweep) {
  const v1::JobSpec& job = data.run.job;
  const std::vector<Sighting> sightings = SightingsOf(data, NamesIn(LoadOf(job, phase)));
  for (int t = 0; t < job.targets_size(); ++t) {
    const Sighting& sighting = sightings[static_cast<size_t>(t)];
    if (!sighting.is_swept) continue;
    v1::SweptTarget* target = sweep->add_targets();
    target->set_name(job.targets(t).name());
    Describe(job.targets(t), sighting, target);
  }
}

}  // namespace lockstep::controller
