#include "worker/load/workload_targets.h"

#include <fcntl.h>

#include <string>
#include <utility>

#include "proto/workload.h"

namespace lockstep::worker {
namespace {

void SetOptions(const v1::Workload& workload, OpenOptions* options) {
  options->write = Writes(workload);
  options->direct = workload.direct();
  options->create = workload.create();
  const v1::Content& content = workload.content();
  options->changes_content = workload.trim_ratio() > 0 || content.has_zeros() ||
                             content.compressed_ratio() < 1 || content.duplicate_ratio() > 0 ||
                             workload.has_copy();
  // The source may be readable for this worker alone. A copy of it must not be readable for others.
  options->owner_only = workload.has_copy();
  options->flags = workload.write_through() == v1::WRITE_THROUGH_SYNC    ? O_SYNC
                   : workload.write_through() == v1::WRITE_THROUGH_DSYNC ? O_DSYNC
                                                                         : 0;
}

std::vector<v1::TargetAssignment> Named(const std::vector<v1::TargetAssignment>& targets,
                                        const std::string& name) {
  std::vector<v1::TargetAssignment> named;
  for (const v1::TargetAssignment& target : targets) {
    if (target.target().name() == name) named.push_back(target);
  }
  return named;
}

// Both sides of a copy as the targets of one workload.
OpenTargets Joined(OpenTargets from, OpenTargets to) {
  const size_t first = from.files.size();
  for (BlockSpace::Extent extent : to.extents) {
    extent.file = static_cast<uint16_t>(extent.file + first);
    from.copy_extents.push_back(extent);
  }
  for (OpenedFile& file : to.files) from.files.push_back(std::move(file));
  // One device that is not in memory is enough: the workload then has to wait for completions.
  from.in_memory = from.in_memory && to.in_memory;
  from.file_ranges += to.file_ranges;
  from.ranges.insert(from.ranges.end(), to.ranges.begin(), to.ranges.end());
  return from;
}

}  // namespace

absl::StatusOr<OpenTargets> OpenTargetsOf(const Guard& guard, const v1::Workload& workload,
                                          const std::vector<v1::TargetAssignment>& targets,
                                          const RunIdentity& who, OpenOptions options) {
  SetOptions(workload, &options);
  if (!workload.has_copy()) return OpenAll(guard, targets, who, options);
  // The source is opened as by a workload that only reads: without a claim, and without a mark that
  // its content changes.
  OpenOptions read = options;
  read.write = read.create = read.changes_content = read.owner_only = false;
  read.flags = 0;
  auto from = OpenAll(guard, Named(targets, workload.copy().from()), who, read);
  if (!from.ok()) return from.status();
  auto to = OpenAll(guard, Named(targets, workload.copy().to()), who, options);
  if (!to.ok()) return to.status();
  constexpr size_t kMaxFiles = 65535;  // the engines number them with 16 bits
  if (from->files.size() + to->files.size() > kMaxFiles) {
    return absl::InvalidArgumentError("a copy has at most 65,535 files, of both sides together");
  }
  return Joined(*std::move(from), *std::move(to));
}

}  // namespace lockstep::worker
