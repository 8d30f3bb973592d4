#include "frontends/fio/targets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/fio/regions.h"

namespace lockstep::frontends::fio {
namespace {

constexpr size_t kMaxTargets = 256;

std::string KeyOf(const v1::Target& target) {
  // fio's jobs that name one file work on the same bytes, so that they share a target.
  if (target.has_file()) return target.file().path();
  if (target.has_device()) return target.device().path();
  if (target.has_iscsi()) return target.iscsi().url();
  return absl::StrCat("null ", target.null().size_bytes(), " ", target.null().device());
}

// 0: all of a device.
int64_t SizeOf(const v1::Target& target) {
  if (target.has_file()) return target.file().size_bytes();
  if (target.has_device()) return target.device().size_bytes();
  return target.iscsi().size_bytes();
}

void SetSize(int64_t bytes, v1::Target* target) {
  if (target->has_file()) target->mutable_file()->set_size_bytes(bytes);
  if (target->has_device()) target->mutable_device()->set_size_bytes(bytes);
  if (target->has_iscsi()) target->mutable_iscsi()->set_size_bytes(bytes);
}

std::string WithoutSize(v1::Target target) {
  if (!target.has_null()) SetSize(0, &target);
  return target.SerializeAsString();
}

}  // namespace

std::string UniqueName(const std::string& wanted, std::set<std::string>* taken) {
  std::string name = wanted;
  for (int i = 2; !taken->insert(name).second; ++i) name = absl::StrCat(wanted, " ", i);
  return name;
}

int TargetBook::Find(const SectionReader& reader, const TargetUse& use, uint32_t hosts) {
  const auto [found, is_new] =
      numbers_.emplace(KeyOf(use.target), static_cast<int>(targets_.size()));
  if (is_new) {
    if (targets_.size() == kMaxTargets) reader.Fail("is beyond the 256 targets of a job");
    targets_.push_back({use, reader.section().where, UniqueName(use.name, &names_)});
    return found->second;
  }
  KnownTarget& known = targets_[static_cast<size_t>(found->second)];
  if (!Join(use, hosts, &known)) {
    findings_.Fail(use.size_origin.line > 0 ? use.size_origin : reader.section().where,
                   absl::StrCat("cannot be translated; '", known.first.option,
                                "' uses the same file with another size or number, and a job "
                                "would need files of several sizes in one target"));
  }
  // A target is laid out once, for all jobs that use it.
  known.use.needs_data = known.use.needs_data || use.needs_data;
  known.use.unlink = known.use.unlink || use.unlink;
  return found->second;
}

bool TargetBook::Join(const TargetUse& use, uint32_t hosts, KnownTarget* known) const {
  v1::Target* target = &known->use.target;
  if (WithoutSize(*target) != WithoutSize(use.target)) return false;
  const int64_t size = SizeOf(*target);
  const int64_t other = SizeOf(use.target);
  if (size == other) return true;
  if (!target->has_file()) {
    // Each host has a slice, whose length is no job's.
    if (hosts > 1) return false;
  }
  // A device that one job uses as a whole has room for the parts of the others.
  if (size == 0 || (other != 0 && other < size)) return true;
  SetSize(target->has_file() ? other : WholeSlices(other), target);
  known->use.size_origin = use.size_origin;
  return true;
}

void TargetBook::NoteReach(int target, const TargetUse& use, v1::Workload* workload, Field size) {
  if (use.reached_bytes == 0) return;
  reaches_.push_back({target, use.reached_bytes, use.size_origin, workload, std::move(size)});
}

bool TargetBook::EndsBefore(const Reach& reach) const {
  // A region without an end goes on to the end of its target, which another job may have made
  // larger.
  const v1::Region& region = reach.workload->region();
  if (region.size_bytes() != 0 || region.size_share_ratio() != 0) return false;
  const int64_t size = SizeOf(at(reach.target).use.target);
  return size == 0 || region.increment_bytes() != 0 || region.increment_share_ratio() != 0 ||
         region.offset_bytes() + reach.bytes < size;
}

void TargetBook::EndRegions() {
  for (const Reach& reach : reaches_) {
    if (!EndsBefore(reach)) continue;
    reach.workload->mutable_region()->set_size_bytes(reach.bytes);
    (*reach.size.origins)[reach.size.name] = reach.origin;
  }
}

}  // namespace lockstep::frontends::fio
