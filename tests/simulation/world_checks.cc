// The invariants, whatever happens.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/timing.h"
#include "controller/plan/next_phase.h"
#include "tests/simulation/nodes.h"
#include "tests/simulation/world.h"

namespace lockstep::simulation {
namespace {

using timing::kMs;
using timing::kSecond;
// How late a load may begin by its own clock: what a thread's wake-up may take here.
constexpr int64_t kLate = 30 * kMs;
// How far ahead a load's end may be chosen.
constexpr int64_t kSoon = 20 * kSecond;

std::string NameOf(const v1::PhaseId& phase) {
  return absl::StrCat(phase.run_id().substr(0, 4), "/", phase.phase(), ".", phase.attempt());
}

// The measurements; the protocol adds why a phase failed, or was ended.
std::string Figures(v1::DeliveryItem item) {
  if (item.has_result()) {
    item.mutable_result()->clear_error();
    item.mutable_result()->clear_order();
  }
  return item.SerializeAsString();
}

}  // namespace

void World::ArmedFor(int worker, const v1::PhaseId& phase) {
  armed_[KeyOf(phase)].insert(worker);
  Note(absl::StrCat("worker ", worker, " is armed for ", NameOf(phase)));
  if (!settled_ && Chance(0.004)) CutOff(worker, Between(50 * kSecond, 100 * kSecond));
}

void World::BeginIo(int worker, const v1::PhaseId& phase, int64_t at_own_ns, int64_t now_own_ns,
                    bool load) {
  Note(absl::StrCat("worker ", worker, " begins ", NameOf(phase)));
  const auto& run = database_.runs[phase.run_id()];
  const auto found = run.phases.find({phase.phase(), phase.attempt()});
  if (found == run.phases.end()) {
    return Violation(
        absl::StrCat("worker ", worker, " does I/O for an attempt that is not in the store"));
  }
  const auto& stored = found->second;
  const bool given_up = IsLost(phase, worker);
  const bool is_member = std::any_of(
      stored.cursors.begin(), stored.cursors.end(),
      [&](const auto& cursor) { return WorkerOf(phase.run_id(), cursor.first) == worker; });
  if (!is_member) {
    Violation(absl::StrCat("worker ", worker, " begins an attempt that it is not a member of"));
  }
  for (const auto& [index, cursor] : stored.cursors) {
    const int member = WorkerOf(phase.run_id(), index);
    if (!IsLost(phase, member) && !armed_[KeyOf(phase)].contains(member)) {
      Violation(
          absl::StrCat("worker ", worker, " begins although worker ", member, " never armed"));
    }
    if (member != worker) continue;
    bool agreed = false;
    for (const measure::WorkerClock& clock : stored.clocks) {
      agreed = agreed ||
               (clock.worker_index == index && stored.record.go_ns + clock.offset_ns == at_own_ns);
    }
    if (!agreed) {
      Violation(absl::StrCat("worker ", worker, " begins at a T that is not in the store"));
    }
  }
  if (stored.ended && !given_up) {
    Violation(absl::StrCat("worker ", worker, " begins an attempt that is closed"));
  }
  if (load && now_own_ns - at_own_ns > kLate &&
      now_ > workers[static_cast<size_t>(worker)]->paused_until_ + kLate) {
    Violation(
        absl::StrCat("worker ", worker, " begins ", (now_own_ns - at_own_ns) / kMs, " ms after T"));
  }
  for (const auto& [other, theirs] : at_work_) {
    // A stopped process does nothing; when it is continued, the first thing that it sees is that
    // its time is over, and it drains.
    if (now_ < workers[static_cast<size_t>(other)]->paused_until_ + 500 * kMs) continue;
    if (theirs.run_id() != phase.run_id()) {
      Violation(absl::StrCat("a device under two runs: worker ", other, " in ", NameOf(theirs),
                             ", worker ", worker, " in ", NameOf(phase)));
    } else if (KeyOf(theirs) != KeyOf(phase) && !IsLost(theirs, other) && !given_up) {
      Violation(absl::StrCat("two phases at once: ", NameOf(theirs), " and ", NameOf(phase)));
    }
  }
  at_work_[worker] = phase;
}

void World::EndIo(int worker, const v1::PhaseId& phase) {
  Note(absl::StrCat("worker ", worker, " has ended ", NameOf(phase)));
  at_work_.erase(worker);
}

void World::LoadIsToEnd(const v1::PhaseId& phase, uint32_t interval, int64_t end_ns) {
  const auto& run = database_.runs[phase.run_id()];
  const auto found = run.phases.find({phase.phase(), phase.attempt()});
  if (found == run.phases.end() || found->second.record.end_of_load != interval) {
    Violation(absl::StrCat("the load of ", NameOf(phase), " is to end after interval ", interval,
                           ", which is not what the store has"));
  }
  if (end_ns > now_ + kSoon) {
    Violation(absl::StrCat("the load of ", NameOf(phase), " is to end after interval ", interval,
                           ", ", (end_ns - now_) / kSecond, " s from now"));
  }
}

void World::LoadEndAnswered(const std::string& run_id) {
  const auto& phases = database_.runs[run_id].phases;
  if (std::none_of(phases.begin(), phases.end(),
                   [](const auto& phase) { return phase.second.record.end_of_load.has_value(); })) {
    Violation(absl::StrCat("a person was told that a load of run ", run_id.substr(0, 4),
                           " ends, and the store does not have it"));
  }
}

void World::Measured(int worker, const v1::PhaseId& phase, const v1::DeliveryItem& item) {
  measured_[KeyOf(phase)][worker].push_back(Figures(item));
}

// The store holds the measurements, in order, once.
void World::CheckStore() {
  for (const auto& [run_id, run] : database_.runs) {
    for (const auto& [key, phase] : run.phases) {
      for (const auto& [index, items] : phase.items) {
        size_t& checked = checked_[{run_id, key.first, key.second}][index];
        if (checked == items.size()) continue;
        const auto& truth = measured_[{run_id, key.first, key.second}][WorkerOf(run_id, index)];
        for (; checked < items.size(); ++checked) {
          if (checked < truth.size() && truth[checked] == Figures(items[checked])) continue;
          Violation(absl::StrCat("sample ", checked, " of worker index ", index, " in phase ",
                                 key.first, ".", key.second,
                                 " is stored twice, out of order or changed"));
          checked = items.size();
          break;
        }
      }
    }
  }
}

void World::CheckAtWork() {
  for (const auto& [worker, phase] : at_work_) {
    const auto& run = database_.runs[phase.run_id()];
    const auto stored = run.phases.find({phase.phase(), phase.attempt()});
    if (stored == run.phases.end() || !stored->second.ended || IsLost(phase, worker) ||
        now_ < workers[static_cast<size_t>(worker)]->paused_until_) {
      continue;
    }
    Violation(absl::StrCat("worker ", worker, " does I/O in ", NameOf(phase), ", which is closed"));
    break;
  }
}

// It ended as on_worker_loss and min_hosts say.
void World::CheckPolicy(const std::string& id, const storage::MemoryDatabase::Run& run) {
  const v1::LossPolicy policy = run.record.job.on_worker_loss();
  const size_t least = std::max<size_t>(1, run.record.job.min_hosts());
  size_t lost = 0;
  for (const measure::RunWorker& member : run.workers) {
    // A controller that gave a worker up may have ended before the store had it. Its commands to
    // the others stand.
    lost += member.lost || given_up_.contains({id, member.worker_id}) ? 1u : 0u;
  }
  // Neither does the store have it here, nor did the fleet say so: it was waited for in vain.
  const bool never_returned = run.record.outcome.find(
                                  "did not come back after the controller was "
                                  "replaced") != std::string::npos;
  if (lost == 0 && never_returned && database_.epoch > 2) ++lost;
  const std::string what =
      absl::StrCat("run ", id.substr(0, 4), " (", v1::LossPolicy_Name(policy), ", ", lost, " of ",
                   run.workers.size(), " lost, ", least, " needed): ", run.record.outcome);
  if (run.record.state == measure::RunState::kAborted &&
      run.record.outcome.find("(attempt ") == std::string::npos) {
    const bool too_few = run.workers.size() - lost < least;
    const bool by_policy =
        policy == v1::LOSS_POLICY_ABORT ? lost > 0
        : policy == v1::LOSS_POLICY_CONTINUE
            ? too_few
            : too_few && run.record.outcome.find("did not return") != std::string::npos;
    if (!by_policy) Violation(absl::StrCat("aborted against its policy: ", what));
  }
  if (run.record.state != measure::RunState::kDone) return;
  for (const auto& [key, phase] : run.phases) {
    if (phase.record.state != measure::PhaseState::kDone) continue;
    const size_t needed = policy == v1::LOSS_POLICY_ABORT ? run.workers.size() : least;
    if (phase.results.size() < needed) {
      Violation(absl::StrCat("done with ", phase.results.size(), " results of phase ", key.first,
                             ": ", what));
    }
    // Under retry a phase without a member's part is begun again.
    if (policy == v1::LOSS_POLICY_RETRY && phase.results.size() != phase.cursors.size()) {
      Violation(absl::StrCat("done without a member's result of phase ", key.first, ": ", what));
    }
  }
}

// Its phases are those that the job and the results ask for, one after the other, whoever planned
// them.
void World::CheckPlan(const std::string& id, const storage::MemoryDatabase::Run& run) {
  std::vector<controller::StepResult> results;
  std::map<uint32_t, const measure::PhaseRecord*> last_attempts;
  for (const auto& [key, phase] : run.phases) {
    const auto earlier = last_attempts.find(key.first);
    if (earlier != last_attempts.end() && (earlier->second->job_phase != phase.record.job_phase ||
                                           earlier->second->step != phase.record.step)) {
      Violation(absl::StrCat("run ", id.substr(0, 4), ": attempts of phase ", key.first,
                             " are of different steps"));
    }
    last_attempts[key.first] = &phase.record;
  }
  auto remaining = controller::Remaining::kAll;
  uint32_t due = 0;
  for (const auto& [number, record] : last_attempts) {
    auto next = controller::NextPhase(run.record.job, results, remaining);
    // How a run ends is not part of its phases: what is not the next one cleans up.
    if (!next.ok() || !next->has_value() || (*next)->job_phase != record->job_phase) {
      remaining = controller::Remaining::kCleanup;
      next = controller::NextPhase(run.record.job, results, remaining);
    }
    if (number != due++ || !next.ok() || !next->has_value() ||
        (*next)->job_phase != record->job_phase || (*next)->step != record->step ||
        (*next)->spec.SerializeAsString() != record->spec.SerializeAsString()) {
      return Violation(absl::StrCat("run ", id.substr(0, 4), ": phase ", number, " (", record->name,
                                    ") is not what comes next"));
    }
    // It came to nothing, and the run ended before it was begun again: a cleanup is tried once
    // more.
    if (record->state == measure::PhaseState::kVoid) continue;
    results.push_back({record->job_phase, record->step, record->name,
                       record->state == measure::PhaseState::kDone, record->figures});
  }
  if (run.record.state != measure::RunState::kDone) return;
  const auto more = controller::NextPhase(run.record.job, results, controller::Remaining::kAll);
  if (remaining == controller::Remaining::kCleanup || !more.ok() || more->has_value()) {
    Violation(absl::StrCat("run ", id.substr(0, 4), " is done before its job is"));
  }
}

// A failure that something other than a failing device explains.
bool World::IsExcused(const std::string& id, const storage::MemoryDatabase::Run& run) const {
  // A barrier is missed, rightly, where a worker or the way to it stood still for longer than its
  // deadline; and one that stood still for the whole of a phase has measured nothing.
  const bool stood_still = outcome_.faults.count("worker stopped and continued") +
                               outcome_.faults.count("partition") +
                               outcome_.faults.count("controller stopped and continued") !=
                           0;
  // So has one that a person stopped; the run may end differently if the stop never reached the
  // store.
  const bool measured_nothing = (stood_still || stopped_.contains(id)) &&
                                run.record.outcome.find("reached no IOPS") != std::string::npos;
  return measured_nothing ||
         (stood_still && (run.record.outcome.find("before the deadline") != std::string::npos ||
                          run.record.outcome.find("at its hard stop") != std::string::npos)) ||
         (run.workers.empty() || run.phases.empty() ? !given_up_.empty() : false);
}

void World::CheckEnd(const std::string& id, const storage::MemoryDatabase::Run& run) {
  const measure::RunState state = run.record.state;
  ++outcome_.ended[Text(state)];
  Note(absl::StrCat("run ", id.substr(0, 4), " is ", Text(state),
                    run.record.degraded ? " (degraded)" : "", ": ", run.record.outcome));
  if (!IsOver(state)) {
    Violation(absl::StrCat("run ", id.substr(0, 4), " does not end: it is ", Text(state)));
  }
  if (state == measure::RunState::kFailed && !blamed_.contains(id) && !IsExcused(id, run)) {
    Violation(absl::StrCat("run ", id.substr(0, 4),
                           " failed though no device did: ", run.record.outcome));
  }
  if (state == measure::RunState::kCancelled && !stopped_.contains(id)) {
    Violation(absl::StrCat("run ", id.substr(0, 4), " was cancelled by nobody"));
  }
  CheckPolicy(id, run);
  CheckPlan(id, run);
  if (state == measure::RunState::kDone && stop_answered_.contains(id)) {
    Violation(absl::StrCat("run ", id.substr(0, 4),
                           " is done although a person was told that it is being stopped"));
  }
  for (const auto& [key, phase] : run.phases) {
    if (phase.record.state != measure::PhaseState::kDone) continue;
    const auto cut = cut_short_.find({id, key.first, key.second});
    for (const auto& [index, result] : phase.results) {
      if (cut == cut_short_.end() || !cut->second.contains(WorkerOf(id, index))) continue;
      Violation(absl::StrCat("phase ", key.first, ".", key.second,
                             " is done although an order cut worker index ", index, " short"));
    }
    if (state != measure::RunState::kDone) continue;
    for (const auto& [index, cursor] : phase.cursors) {
      if (!phase.results.contains(index) && !run.record.degraded) {
        Violation(absl::StrCat("phase ", key.first, ".", key.second,
                               " is done without the result of worker index ", index));
      }
    }
  }
}

}  // namespace lockstep::simulation
