#include "controller/runs/target_holds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

// Places that the job writes, of the worker that was inspected, and which target each is of.
struct Written {
  std::vector<Place> places;
  std::vector<uint32_t> targets;
};

Written WrittenPlaces(const std::vector<TargetUse>& use, const v1::Inspection& inspection) {
  Written written;
  for (const v1::TargetInspection& found : inspection.targets()) {
    if (found.target() >= use.size() || !use[found.target()].changed()) continue;
    for (const Place& place : PlacesOf(found)) {
      written.places.push_back(place);
      written.targets.push_back(found.target());
    }
  }
  return written;
}

}  // namespace

TargetHolds::TargetHolds(storage::Store* store, const common::Clock* clock, Loop* loop,
                         common::Safeguards safeguards, std::function<void()> freed)
    : store_(store), clock_(clock), loop_(loop), freed_(std::move(freed)), places_(safeguards) {}

std::optional<TargetHolds::Conflict> TargetHolds::FindWritten(
    const std::string& run_id, const v1::JobSpec& job, const std::vector<PlanWorker>& workers) {
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (const PlanWorker& worker : workers) {
    const Written written = WrittenPlaces(use, worker.inspection);
    const PlaceLedger::Conflict taken = places_.Find(run_id, written.places, clock_->MonotonicNs());
    if (taken.run_id.empty()) continue;
    if (!taken.holds_all.empty()) {
      return Conflict{taken.run_id,
                      absl::StrCat("and the worker of ", taken.holds_all,
                                   " is idle: the store cannot tell where it may still write")};
    }
    const std::string& target = job.targets(static_cast<int>(written.targets[taken.place])).name();
    return Conflict{taken.run_id, absl::StrCat("or its lost workers have left target ", target,
                                               " of ", worker.hello.host().name())};
  }
  return std::nullopt;
}

std::optional<TargetHolds::Conflict> TargetHolds::FindFilled(const std::string& run_id,
                                                             const FleetCheck& check) const {
  for (const auto& [filesystem, space] : check.spaces) {
    const SpaceLedger::Others others = spaces_.GrantedToOthers(run_id, filesystem);
    if (others.bytes > 0 && space.needed_bytes + others.bytes > space.usable_bytes) {
      return Conflict{others.run_id,
                      absl::StrCat("has laid out its files on the file system of ", space.path)};
    }
  }
  return std::nullopt;
}

void TargetHolds::Take(const std::string& run_id, const v1::JobSpec& job,
                       const std::vector<PlanWorker>& workers) {
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (const PlanWorker& worker : workers) {
    places_.Hold(run_id, worker.hello.worker_id(), WrittenPlaces(use, worker.inspection).places);
  }
}

void TargetHolds::TakeSpace(const std::string& run_id, const FleetCheck& check) {
  std::map<std::string, double> bytes;
  for (const auto& [filesystem, space] : check.spaces) bytes[filesystem] = space.needed_bytes;
  spaces_.Grant(run_id, bytes);
}

std::string TargetHolds::TakeOpened(const std::string& worker_id, const v1::Armed& armed) {
  const std::vector<Place> places = PlacesOf(armed.file_places(), armed.places());
  if (places.size() > static_cast<size_t>(limits::kPlacesOfARun)) return "";
  const PlaceLedger::Conflict taken =
      places_.Find(armed.phase().run_id(), places, clock_->MonotonicNs());
  if (taken.run_id.empty()) places_.Hold(armed.phase().run_id(), worker_id, places);
  return taken.run_id;
}

void TargetHolds::SettleSpace(const std::string& run_id) {
  if (spaces_.Settle(run_id)) freed_();
}

void TargetHolds::Lose(const std::string& run_id, const std::string& worker_id, int64_t hold_ns) {
  places_.Lose(run_id, worker_id, clock_->MonotonicNs() + hold_ns);
  held_.insert(worker_id);
  spaces_.Lose(run_id, worker_id);
}

void TargetHolds::Release(const std::string& worker_id) {
  loop_->Persist([store = store_, worker_id] { return store->ReleaseHold(worker_id); },
                 [](const absl::Status&) {});
}

void TargetHolds::Confirm(const std::string& worker_id) {
  places_.Confirm(worker_id);
  ++writers_ended_;
  if (spaces_.Leave(worker_id)) freed_();
  if (held_.erase(worker_id) != 0) Release(worker_id);
}

void TargetHolds::End(const std::string& run_id) {
  SettleSpace(run_id);
  ++writers_ended_;
  LetGoAt(places_.End(run_id));
}

void TargetHolds::Inherit(const storage::HeldPlaces& held, bool goes_on) {
  if (held.is_unknown) {
    places_.HoldAll(held.run_id, held.worker_id, held.host);
  } else {
    places_.Hold(held.run_id, held.worker_id,
                 WrittenPlaces(UseOfTargets(held.job), held.inspection).places);
  }
  Lose(held.run_id, held.worker_id, held.hold_ns);
  if (!goes_on) LetGoAt(places_.End(held.run_id));
}

void TargetHolds::LetGoAt(int64_t free_ns) {
  if (free_ns != 0) {
    loop_->After(std::max<int64_t>(0, free_ns - clock_->MonotonicNs()), [this] { LetGo(); });
  }
}

void TargetHolds::LetGo() {
  const std::set<std::string> held = held_;
  for (const std::string& worker : held) {
    if (places_.Holds(worker, clock_->MonotonicNs())) continue;
    held_.erase(worker);
    ++writers_ended_;
    (void)spaces_.Leave(worker);  // told below
    Release(worker);
  }
  freed_();
}

}  // namespace lockstep::controller
