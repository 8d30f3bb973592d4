#include "controller/plan/block_claims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "measure/block_runs.h"
#include "measure/target_key.h"

namespace lockstep::controller {
namespace {

constexpr uint64_t kSector = 512;

// Whether bytes [from, to) of a target are in the part.
bool IsIn(const v1::TargetAssignment& part, uint64_t from, uint64_t to) {
  if (part.stripe_bytes() != 0) {
    // The next stripe belongs to another worker unless there is only one. So all blocks of a run
    // must lie in the stripe of the first one.
    const uint64_t first = from / part.stripe_bytes();
    return part.stripe_step() <= 1 ||
           (first % part.stripe_step() == part.first_stripe() % part.stripe_step() &&
            (to - 1) / part.stripe_bytes() == first);
  }
  return part.slice_length_bytes() == 0 ||
         (from >= part.slice_begin_bytes() &&
          to <= part.slice_begin_bytes() + part.slice_length_bytes());
}

// Drops what grows with the files and devices of the fleet. This copy lives as long as the run, and
// the dropped fields are not needed to judge blocks.
SettledRun Trimmed(SettledRun run) {
  run.job.clear_phases();
  for (PlanWorker& worker : run.workers) {
    worker.hello.clear_devices();
    for (v1::TargetInspection& found : *worker.inspection.mutable_targets()) {
      found.clear_file_ranges();
      found.clear_ranges();
      found.clear_settings_ranges();
    }
    worker.inspection.clear_layers();
  }
  return run;
}

}  // namespace

BlockClaims::BlockClaims(const SettledRun& run, Writers writers)
    : run_(Trimmed(run)), known_writers_(writers) {}

void BlockClaims::AddWriter(uint32_t worker, uint32_t target) {
  const common::MutexLock lock(&mutex_);
  writers_.emplace(worker, target);
}

BlockClaims::Things BlockClaims::ThingsOf(uint32_t worker) const {
  // The worker makes its keys from the same facts with the same functions. If this code resolved a
  // path differently, honest reports would name unknown targets.
  Things things;
  const PlanWorker& who = run_.workers[worker];
  const std::string& host = who.hello.host().name();
  for (const v1::TargetInspection& found : who.inspection.targets()) {
    if (found.target() >= static_cast<uint32_t>(run_.job.targets_size())) continue;
    const v1::Target& target = run_.job.targets(static_cast<int>(found.target()));
    if (target.has_file()) {
      const auto size = static_cast<uint64_t>(target.file().size_bytes());
      for (uint32_t file = 0; file < target.file().count(); ++file) {
        const std::string path = measure::FilePath(target.file(), file, host, worker);
        const std::string thing = measure::ThingOfFile(target, path, host);
        things[measure::TargetKey(thing)] = {found.target(), file * size, size, 0};
      }
      continue;
    }
    if (!target.has_device() && !target.has_iscsi()) continue;
    std::string path = target.iscsi().url();
    if (target.has_device()) {
      const auto own = target.device().path_on_host().find(host);
      path = own == target.device().path_on_host().end() ? target.device().path() : own->second;
      if (path.empty()) path = found.path();
    }
    const std::string thing =
        measure::ThingOfDevice(found.device_identity(), path, who.hello.host().boot_id());
    const uint64_t stamp = found.stamp_bytes();
    things[measure::TargetKey(thing)] = {found.target(), 0, stamp + found.size_bytes(), stamp};
  }
  return things;
}

absl::Status BlockClaims::Check(uint32_t worker, const v1::BlockWrites& writes) {
  Thing thing;
  bool writes_it = false;
  {
    // The lock covers the look-up only. The report is decoded without it, so that workers do not
    // wait for each other.
    const common::MutexLock lock(&mutex_);
    auto things = things_.find(worker);
    // The table is made at the first report. Runs that do not verify never build it, and it can
    // have 65,536 entries for each worker.
    if (things == things_.end()) things = things_.emplace(worker, ThingsOf(worker)).first;
    const auto found = things->second.find(writes.target_key());
    if (found == things->second.end()) {
      return absl::PermissionDeniedError("it speaks of blocks that are on none of its targets");
    }
    thing = found->second;
    writes_it = known_writers_ == Writers::kAny || writers_.contains({worker, thing.target});
  }
  if (!writes_it) {
    return absl::PermissionDeniedError(absl::StrCat(
        "it speaks of blocks of target ", run_.job.targets(static_cast<int>(thing.target)).name(),
        ", to which it does not write"));
  }
  return CheckRuns(worker, thing, writes);
}

absl::Status BlockClaims::CheckRuns(uint32_t worker, const Thing& thing,
                                    const v1::BlockWrites& writes) const {
  if (writes.runs().empty()) return absl::OkStatus();
  // The worker chooses these numbers. A size of 0 would end the controller in the division below.
  const uint64_t block = writes.block_size_bytes();
  if (block < kSector || block % kSector != 0) {
    return absl::PermissionDeniedError(absl::StrCat("it speaks of blocks of ", block, " bytes"));
  }
  const v1::TargetAssignment part = OwnPart(run_, thing.target, worker);
  absl::Status denied;
  // ReadBlockRuns stops at the end of the file or device. The products and sums below then stay
  // within 64 bits.
  const absl::Status read = measure::ReadBlockRuns(
      writes.runs(), thing.size_bytes / block,
      [&](uint64_t first, uint64_t count, uint32_t generation, measure::BlockContent content) {
        if (!denied.ok() || count == 0) return;
        const bool is_possible = generation <= measure::kMaxReportedGeneration &&
                                 (generation > 0 || content == measure::BlockContent::kUnknown);
        const bool is_behind_stamp = first * block >= thing.stamp_bytes;
        // Slices are counted from the end of the stamp, stripes from the start of the device.
        // Within the stamp the difference wraps, but `is_behind_stamp` is tested first.
        const uint64_t from =
            thing.base + first * block - (part.stripe_bytes() == 0 ? thing.stamp_bytes : 0);
        if (is_possible && is_behind_stamp && IsIn(part, from, from + count * block)) return;
        denied = absl::PermissionDeniedError(absl::StrCat(
            "it says that it wrote blocks ", first, " to ", first + count - 1, " (", block,
            " bytes each) of target ", run_.job.targets(static_cast<int>(thing.target)).name(),
            is_possible ? ", which are not its part" : ", with a number of writes that cannot be"));
      });
  if (!read.ok()) return absl::PermissionDeniedError(std::string(read.message()));
  return denied;
}

}  // namespace lockstep::controller
