#include "controller/runs/target_locks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

// The byte ranges that the job writes on one worker, and those of the devices whose settings it
// changes, with the target that each belongs to. Targets that are only read are not locked: any
// number of runs may read the same bytes.
struct Written {
  std::vector<ByteRange> ranges;
  std::vector<uint32_t> targets;
};

Written WrittenRanges(const std::vector<TargetUse>& use, const v1::Inspection& inspection) {
  Written written;
  for (const v1::TargetInspection& found : inspection.targets()) {
    if (found.target() >= use.size()) continue;
    // A run that changes the scheduler of a disk changes the figures of every other run on it.
    std::vector<ByteRange> ranges = RangesOf("", found.settings_ranges());
    if (use[found.target()].changed()) {
      const std::vector<ByteRange> own = RangesOf(found);
      ranges.insert(ranges.end(), own.begin(), own.end());
    }
    for (const ByteRange& range : ranges) {
      written.ranges.push_back(range);
      written.targets.push_back(found.target());
    }
  }
  return written;
}

}  // namespace

TargetLocks::TargetLocks(storage::RunStore* store, const common::Clock* clock, Loop* loop,
                         common::Safeguards safeguards, std::function<void()> freed)
    : store_(store), clock_(clock), loop_(loop), freed_(std::move(freed)), locks_(safeguards) {}

std::optional<TargetLocks::Conflict> TargetLocks::FindWritten(
    const std::string& run_id, const v1::JobSpec& job, const std::vector<PlanWorker>& workers) {
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (const PlanWorker& worker : workers) {
    const Written written = WrittenRanges(use, worker.inspection);
    const RangeLocks::Conflict taken = locks_.Find(run_id, written.ranges, clock_->MonotonicNs());
    if (taken.run_id.empty()) continue;
    if (!taken.locks_all.empty()) {
      return Conflict{taken.run_id,
                      absl::StrCat("and the worker of ", taken.locks_all,
                                   " is idle: the store cannot tell where it may still write")};
    }
    const std::string& target = job.targets(static_cast<int>(written.targets[taken.range])).name();
    return Conflict{taken.run_id, absl::StrCat("or its lost workers have left target ", target,
                                               " of ", worker.hello.host().name())};
  }
  return std::nullopt;
}

std::optional<TargetLocks::Conflict> TargetLocks::FindFilled(const std::string& run_id,
                                                             const FleetCheck& check) const {
  for (const auto& [filesystem, space] : check.spaces) {
    const SpaceLedger::Others others = spaces_.GrantedToOthers(run_id, filesystem);
    // Without another run's grant, the file system's own free space decides, and CheckFleet() has
    // compared that already.
    if (others.bytes > 0 && space.needed_bytes + others.bytes > space.usable_bytes) {
      return Conflict{others.run_id,
                      absl::StrCat("has laid out its files on the file system of ", space.path)};
    }
  }
  return std::nullopt;
}

void TargetLocks::Take(const std::string& run_id, const v1::JobSpec& job,
                       const std::vector<PlanWorker>& workers) {
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (const PlanWorker& worker : workers) {
    locks_.Lock(run_id, worker.hello.worker_id(), WrittenRanges(use, worker.inspection).ranges);
  }
}

void TargetLocks::TakeSpace(const std::string& run_id, const FleetCheck& check) {
  std::map<std::string, double> bytes;
  for (const auto& [filesystem, space] : check.spaces) bytes[filesystem] = space.needed_bytes;
  spaces_.Grant(run_id, bytes);
}

std::string TargetLocks::TakeOpened(const std::string& worker_id, const v1::Armed& armed) {
  const std::vector<ByteRange> ranges = RangesOf(armed.file_ranges(), armed.ranges());
  // No run has more ranges: the inspection refuses it. A worker that names more must not fill the
  // table.
  if (ranges.size() > static_cast<size_t>(limits::kMaxRangesOfARun)) return "";
  const RangeLocks::Conflict taken =
      locks_.Find(armed.phase().run_id(), ranges, clock_->MonotonicNs());
  if (taken.run_id.empty()) locks_.Lock(armed.phase().run_id(), worker_id, ranges);
  return taken.run_id;
}

void TargetLocks::SettleSpace(const std::string& run_id) {
  if (spaces_.Settle(run_id)) freed_();
}

void TargetLocks::Lose(const std::string& run_id, const std::string& worker_id,
                       int64_t quarantine_ns) {
  locks_.Lose(run_id, worker_id, clock_->MonotonicNs() + quarantine_ns);
  held_.insert(worker_id);
  spaces_.Lose(run_id, worker_id);
}

void TargetLocks::Release(const std::string& worker_id) {
  loop_->Persist([store = store_, worker_id] { return store->ReleaseQuarantine(worker_id); },
                 [](const absl::Status&) {});
}

void TargetLocks::Confirm(const std::string& worker_id) {
  locks_.Confirm(worker_id);
  ++writers_ended_;
  if (spaces_.Leave(worker_id)) freed_();
  // Every status of an idle worker comes here. Only one that was lost costs a change of the store.
  if (held_.erase(worker_id) != 0) Release(worker_id);
}

void TargetLocks::End(const std::string& run_id) {
  SettleSpace(run_id);
  ++writers_ended_;
  LetGoAt(locks_.End(run_id));
}

void TargetLocks::Restore(const storage::Quarantine& held, bool goes_on) {
  if (held.is_unknown) {
    locks_.LockAll(held.run_id, held.worker_id, held.host);
  } else {
    locks_.Lock(held.run_id, held.worker_id,
                WrittenRanges(UseOfTargets(held.job), held.inspection).ranges);
  }
  // The time that has passed since the loss is not known on this controller's clock. The quarantine
  // begins again in full.
  Lose(held.run_id, held.worker_id, held.quarantine_ns);
  if (!goes_on) LetGoAt(locks_.End(held.run_id));
}

void TargetLocks::LetGoAt(int64_t free_ns) {
  if (free_ns != 0) {
    const int64_t left_ns = std::max<int64_t>(0, free_ns - clock_->MonotonicNs());
    loop_->After(absl::Nanoseconds(left_ns), [this] { LetGo(); });
  }
}

void TargetLocks::LetGo() {
  // A worker can be lost in several runs. ReleaseQuarantine() ends its holds in all of them, so it
  // waits for the last.
  const std::set<std::string> held = held_;
  for (const std::string& worker : held) {
    if (locks_.Holds(worker, clock_->MonotonicNs())) continue;
    held_.erase(worker);
    ++writers_ended_;
    (void)spaces_.Leave(worker);  // told below
    Release(worker);
  }
  freed_();
}

}  // namespace lockstep::controller
