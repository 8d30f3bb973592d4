#include "worker/load/workload_targets.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/workload.h"
#include "worker/host/byte_ranges.h"

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

// Bytes of files, as FileRanges packs them: each is one thing as a whole.
std::vector<v1::ByteRange> FilesAsRanges(const std::string& packed) {
  std::vector<v1::ByteRange> ranges;
  for (size_t at = 0; at + 8 <= packed.size(); at += 8) {
    uint64_t thing = 0;
    for (size_t byte = 8; byte-- > 0;) {
      thing = thing << 8 | static_cast<unsigned char>(packed[at + byte]);
    }
    ranges.emplace_back().set_thing(thing);
  }
  return ranges;
}

// The bytes behind the names by which the targets were opened.
std::vector<v1::ByteRange> BytesOf(const OpenTargets& opened) {
  FileRanges files;
  std::vector<v1::ByteRange> ranges;
  for (const OpenedFile& file : opened.files) {
    struct stat facts;
    if (!file.descriptor.valid() || fstat(file.descriptor.get(), &facts) != 0) continue;
    if (!S_ISBLK(facts.st_mode)) {
      files.AddFile(file.descriptor);
      continue;
    }
    for (v1::ByteRange& range : DeviceRanges(facts.st_rdev, file.descriptor.get())) {
      ranges.push_back(std::move(range));
    }
  }
  for (v1::ByteRange& range : FilesAsRanges(files.bytes())) ranges.push_back(std::move(range));
  return ranges;
}

// The controller has compared what the inspection saw. A hard link, a loop device or a mapping may
// have been made since then.
absl::Status CheckApart(const OpenTargets& from, const OpenTargets& to) {
  std::multimap<uint64_t, v1::ByteRange> read;  // by thing
  for (const v1::ByteRange& range : BytesOf(from)) read.emplace(range.thing(), range);
  const auto is_before = [](const v1::ByteRange& a, const v1::ByteRange& b) {
    return a.end_bytes() != 0 && a.end_bytes() <= b.begin_bytes();
  };
  for (const v1::ByteRange& written : BytesOf(to)) {
    const auto [begin, end] = read.equal_range(written.thing());
    const bool overlaps = std::any_of(begin, end, [&](const auto& one) {
      return !is_before(one.second, written) && !is_before(written, one.second);
    });
    if (!overlaps) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        from.files.front().path, " and ", to.files.front().path,
        ": the copy's source and its destination are the same bytes under two names; name two "
        "different ones"));
  }
  return absl::OkStatus();
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
  if (absl::Status status = CheckApart(*from, *to); !status.ok()) return status;
  return Joined(*std::move(from), *std::move(to));
}

}  // namespace lockstep::worker
