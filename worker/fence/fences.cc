#include "worker/fence/fences.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "measure/states.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxWaiting = 10000;
constexpr auto kReleaseLimit = std::chrono::seconds(30);
constexpr auto kForeignKeysWait = std::chrono::seconds(3);
constexpr size_t kShownKeys = 5;

std::string Hex(uint64_t key) { return absl::StrFormat("0x%016x", key); }

// Somebody else is registered: a cluster, or a run whose workers could not give it up.
absl::Status ForeignKey(const std::string& name, uint64_t key, const char* what) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, ": ", what, " by key ", Hex(key),
                   ", which is of no worker of this run: a cluster, or a run whose workers were "
                   "all lost. Look with sg_persist or iscsi-pr, and clear it there when nobody "
                   "needs it"));
}

}  // namespace

absl::Status TakeReservation(Reserver* reserver, const std::string& name,
                             const v1::ReservationUse& use) {
  std::set<uint64_t> lost(use.lost().begin(), use.lost().end());
  // The keys are read before anything is registered: a run that is refused leaves nothing behind.
  // The kernel tells no keys of a block device: there, foreign ones show only in a conflict.
  const auto before = reserver->Read();
  if (!before.ok() && !absl::IsUnimplemented(before.status())) return before.status();
  if (before.ok()) {
    for (const uint64_t key : before->keys) {
      if (!IsSameRun(key, use.key())) return ForeignKey(name, key, "is registered");
    }
    std::erase_if(lost, [&](uint64_t key) {
      return std::find(before->keys.begin(), before->keys.end(), key) == before->keys.end();
    });
  }
  // Registering first: only a registered initiator may preempt.
  if (absl::Status status = reserver->Register(use.key()); !status.ok()) return status;
  for (const uint64_t key : lost) {
    const absl::Status status = reserver->Preempt(use.key(), key);
    // Another worker has preempted the key first, or it was never registered.
    if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
  }
  if (!use.holds()) return absl::OkStatus();
  const absl::Status reserved = reserver->Reserve(use.key());
  if (!absl::IsFailedPrecondition(reserved)) return reserved;
  // An earlier session of this worker may have reserved, or another worker of the run. A conflict
  // does not say who: the holder must be read.
  const auto facts = reserver->Read();
  if (!facts.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     ": is reserved by somebody else: a cluster, or a run whose worker was "
                     "lost; look with sg_persist --read-reservation"));
  }
  const bool is_ours = facts->holder != 0 && IsSameRun(facts->holder, use.key()) &&
                       facts->type == kWriteExclusiveRegistrantsOnly;
  return is_ours ? absl::OkStatus() : ForeignKey(name, facts->holder, "is reserved");
}

Fences::~Fences() {
  // No run has an empty id, so that all is given up. Main() does this work before it ends.
  ReleaseOthers("");
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

absl::Status Fences::Take(const std::string& run_id, const std::string& name,
                          const v1::ReservationUse& use, const Open& open) {
  {
    // The keys of an earlier run are released first. TakeReservation() would refuse them as
    // foreign.
    common::MutexLock lock(&mutex_);
    changed_.WaitFor(&lock, kReleaseLimit, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return work_.empty() && !working_;
    });
  }
  auto reserver = open();
  if (!reserver.ok()) return reserver.status();
  {
    // The entry is made before the rest, which may fail after it has registered something.
    common::MutexLock lock(&mutex_);
    held_[name] = {run_id, use.key(), open, use.holds()};
  }
  const absl::Status status = TakeReservation(reserver->get(), name, use);
  if (!absl::IsUnimplemented(status)) return status;
  {
    // Nothing was registered that could be given up.
    common::MutexLock lock(&mutex_);
    held_.erase(name);
  }
  return absl::FailedPreconditionError(absl::StrCat(std::string(status.message()),
                                                    "; the job's target wants them (fence: "
                                                    "reservation)"));
}

void Fences::Main() {
  while (true) {
    std::function<void()> work;
    {
      common::MutexLock lock(&mutex_);
      changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !work_.empty();
      });
      // The releases of the destructor are done before the thread ends.
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
      working_ = true;
    }
    work();
    {
      common::MutexLock lock(&mutex_);
      working_ = false;
    }
    changed_.NotifyAll();
  }
}

void Fences::Preempt(const v1::Preempt& preempt) {
  common::MutexLock lock(&mutex_);
  for (const auto& entry : held_) {
    const Held& held = entry.second;
    // A worker that learns of its own loss does not fence itself off: the others do.
    if (held.run_id != preempt.phase().run_id() || held.key == preempt.key() ||
        work_.size() >= kMaxWaiting) {
      continue;
    }
    work_.emplace_back(
        [this, name = entry.first, held, preempt] { PreemptAt(name, held, preempt); });
  }
  // On a thread of its own: a target that does not answer must not hold up the worker's connection.
  if (!work_.empty() && !thread_.joinable()) thread_ = std::thread([this] { Main(); });
  changed_.NotifyAll();
}

void Fences::PreemptAt(const std::string& name, const Held& held, const v1::Preempt& preempt) {
  const std::string who = absl::StrCat("the lost worker on ", preempt.host());
  auto reserver = held.open();
  absl::Status status = reserver.status();
  // A new session is not registered, and only a registered one may preempt.
  if (status.ok()) status = (*reserver)->Rejoin(held.key);
  if (status.ok()) status = (*reserver)->Preempt(held.key, preempt.key());
  if (status.ok()) {
    return report_(measure::Severity::kWarning, absl::StrCat(name, ": ", who,
                                                             " was fenced off: the storage refuses "
                                                             "what it still writes"));
  }
  const auto facts = reserver.ok() ? (*reserver)->Read() : reserver.status();
  const bool is_gone = facts.ok() && std::find(facts->keys.begin(), facts->keys.end(),
                                               preempt.key()) == facts->keys.end();
  if (is_gone) return;  // by another worker, or it had none
  report_(
      measure::Severity::kError,
      absl::StrCat(name, ": ", who, " could not be fenced off: ", std::string(status.message())));
}

void Fences::ReportForeignKeys(const std::string& run_id) {
  std::map<std::string, Held> held;
  {
    common::MutexLock lock(&mutex_);
    // This is a copy: reading the keys takes seconds, and Preempt() must not wait for the lock so
    // long.
    held = held_;
  }
  const auto give_up_at = std::chrono::steady_clock::now() + kForeignKeysWait;
  for (const auto& [name, fence] : held) {
    if (fence.run_id != run_id || !fence.holds) continue;
    if (std::chrono::steady_clock::now() >= give_up_at) {
      return report_(measure::Severity::kWarning,
                     absl::StrCat("the keys registered at ", name,
                                  " and further targets were not read: that took more "
                                  "than ",
                                  kForeignKeysWait.count(), " s"));
    }
    auto reserver = fence.open();
    const auto facts = reserver.ok() ? (*reserver)->Read() : reserver.status();
    if (absl::IsUnimplemented(facts.status())) continue;
    if (!facts.ok()) {
      report_(measure::Severity::kWarning,
              absl::StrCat(name, ": the registered keys cannot be read: ",
                           std::string(facts.status().message())));
      continue;
    }
    // This is a set, since each session of an initiator registers the key anew.
    std::set<std::string> strangers;
    for (const uint64_t key : facts->keys) {
      if (!IsSameRun(key, fence.key)) strangers.insert(Hex(key));
    }
    if (strangers.empty()) continue;
    const size_t more = strangers.size() - std::min(strangers.size(), kShownKeys);
    strangers.erase(std::next(strangers.begin(), strangers.size() - more), strangers.end());
    report_(measure::Severity::kWarning,
            absl::StrCat(name, ": key ", absl::StrJoin(strangers, ", "),
                         more > 0 ? absl::StrCat(" and ", more, " more") : "",
                         " was registered during the phase by an initiator that is not part of "
                         "this run; it may have written to the target"));
  }
}

void Fences::Release(const std::string& run_id) {
  ReleaseWhere([&run_id](const Held& held) { return held.run_id == run_id; });
}

void Fences::ReleaseOthers(const std::string& run_id) {
  ReleaseWhere([&run_id](const Held& held) { return held.run_id != run_id; });
}

void Fences::ReleaseWhere(const std::function<bool(const Held&)>& matches) {
  common::MutexLock lock(&mutex_);
  for (auto held = held_.begin(); held != held_.end();) {
    if (!matches(held->second)) {
      ++held;
      continue;
    }
    work_.emplace_back([this, name = held->first, gone = held->second] { ReleaseAt(name, gone); });
    held = held_.erase(held);
  }
  if (!work_.empty() && !thread_.joinable()) thread_ = std::thread([this] { Main(); });
  changed_.NotifyAll();
}

void Fences::ReleaseAt(const std::string& name, const Held& held) {
  auto reserver = held.open();
  absl::Status status = reserver.status();
  if (status.ok()) status = (*reserver)->Rejoin(held.key);
  if (absl::IsFailedPrecondition(status)) return;  // it is gone already
  // Unregistering ends only the registration of this session. Earlier sessions of this worker have
  // registered under the same key, and all of these go by preemption. The kernel's writers are one
  // registrant, which unregisters as a whole.
  if (status.ok() && (*reserver)->Read().ok()) status = (*reserver)->Preempt(held.key, held.key);
  if (status.ok()) status = (*reserver)->Register(0);
  if (status.ok()) return;
  report_(measure::Severity::kWarning,
          absl::StrCat(name, ": its reservation could not be given up: ",
                       std::string(status.message()), "; key ", Hex(held.key)));
}

}  // namespace lockstep::worker
