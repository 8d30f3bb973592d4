#include "controller/plan/space_needs.h"

#include <algorithm>

namespace lockstep::controller {
namespace {

struct Parts {
  SpaceNeed space;
  std::map<uint32_t, double> bytes;  // by target
};

// The variants of a target have files one at a time: the largest counts.
double SumOf(const v1::JobSpec& job, const std::map<uint32_t, double>& bytes) {
  std::map<std::string, double> variants;
  double sum = 0;
  for (const auto& [target, own] : bytes) {
    const std::string& name = job.targets(static_cast<int>(target)).variant_of();
    if (name.empty()) sum += own;
    if (!name.empty()) variants[name] = std::max(variants[name], own);
  }
  for (const auto& [name, largest] : variants) sum += largest;
  return sum;
}

}  // namespace

std::map<std::string, SpaceNeed> SpaceNeeds(const v1::JobSpec& job,
                                            const std::vector<PlanWorker>& workers,
                                            const std::vector<TargetUse>& use) {
  std::map<std::string, Parts> systems;
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= use.size() || found.filesystem_id().empty() ||
          !use[found.target()].prepared) {
        continue;
      }
      Parts& parts = systems[found.filesystem_id()];
      SpaceNeed& space = parts.space;
      const auto free = static_cast<double>(found.free_bytes());
      // Hosts report a shared file system at different moments. The smallest value counts.
      space.free = space.hosts.empty() ? free : std::min(space.free, free);
      space.total = static_cast<double>(found.filesystem_bytes());
      space.hosts.insert(worker.hello.host().name());
      if (space.path.empty() && found.paths_size() > 0) space.path = found.paths(0);
      const auto missing = static_cast<double>(found.missing_bytes());
      double& bytes = parts.bytes[found.target()];
      // The files of a shared target exist once, and every worker reports what they lack. The
      // largest of these values counts, not their sum.
      const bool is_private =
          job.targets(static_cast<int>(found.target())).sharing() == v1::SHARING_PRIVATE;
      bytes = is_private ? bytes + missing : std::max(bytes, missing);
    }
  }
  std::map<std::string, SpaceNeed> needs;
  for (auto& [id, parts] : systems) {
    parts.space.needed = SumOf(job, parts.bytes);
    needs[id] = std::move(parts.space);
  }
  return needs;
}

}  // namespace lockstep::controller
