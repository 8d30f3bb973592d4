#include "controller/runs/recovered_state.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "controller/plan/loads.h"
#include "controller/runs/crash_loop.h"
#include "controller/runs/run_plan.h"
#include "controller/runs/stop_order.h"

namespace lockstep::controller {
namespace {

// Adds idle intervals up to `end`. An interval without any I/O has no rows, although it was
// delivered.
void FillTo(uint32_t end, uint32_t worker, const v1::RunPhase& load, int64_t interval_ns,
            LivePhase* live) {
  for (uint32_t next = live->series().Of(worker).next_interval; next < end; ++next) {
    (void)live->Add(worker, IdleInterval(next, load, interval_ns));
  }
}

// How many of a worker's items, up to its cursor, are intervals, or its result.
uint32_t IntervalsOf(const storage::ActiveRun& active,
                     const std::pair<const uint32_t, uint64_t>& cursor) {
  const auto blocks = active.block_items.find(cursor.first);
  return static_cast<uint32_t>(cursor.second) -
         (blocks == active.block_items.end() ? 0 : static_cast<uint32_t>(blocks->second));
}

// Reads what is stored of the attempt in progress, of its members and of the workers that were lost
// in it.
absl::StatusOr<std::shared_ptr<LivePhase>> ReadLive(storage::Store* store,
                                                    const storage::ActiveRun& active) {
  const v1::PhaseSpec& spec = active.phase.spec;
  std::map<uint32_t, std::string> hosts;
  std::map<uint32_t, uint32_t> last_of_lost;  // by worker: the number of its intervals
  for (const measure::RunWorker& worker : active.workers) {
    const auto cursor = active.cursors.find(worker.worker_index);
    if (worker.lost && cursor == active.cursors.end()) continue;  // before this attempt
    hosts[worker.worker_index] = worker.host;
    if (!worker.lost) continue;
    const bool finished = active.results.contains(worker.worker_index);  // its result is an item
    last_of_lost[worker.worker_index] = IntervalsOf(active, *cursor) - (finished ? 1 : 0);
  }
  const v1::RunPhase load = LoadOf(active.run.job, spec);
  const int64_t interval_ns = active.phase.interval_ns;
  const auto live = std::make_shared<LivePhase>(active.phase.phase, hosts, load, interval_ns);
  for (const auto& [worker, count] : last_of_lost) {
    // A lost worker without any interval has nothing to wait for, and would hold up the first one.
    if (count == 0) live->Leave(worker);
  }
  // The cursor also counts idle intervals, which have no rows: nobody waits for them.
  std::map<uint32_t, uint32_t> delivered;
  for (const auto& cursor : active.cursors) {
    const bool finished = active.results.contains(cursor.first);  // its result is an item
    if (hosts.contains(cursor.first)) {
      delivered[cursor.first] = IntervalsOf(active, cursor) - (finished ? 1 : 0);
    }
  }
  uint32_t current = 0;
  const auto go_to = [&](uint32_t interval) {
    if (interval <= current) return;
    current = interval;
    for (const auto& [worker, count] : delivered) {
      FillTo(std::min(interval, count), worker, load, interval_ns, live.get());
      if (count < interval && (active.results.contains(worker) || last_of_lost.contains(worker))) {
        live->Leave(worker);
      }
    }
    live->CompleteHistory();
  };
  v1::PhaseId phase;
  phase.set_run_id(active.run.run_id);
  phase.set_phase(active.phase.phase);
  phase.set_attempt(active.phase.attempt);
  const absl::Status read =
      store->ReadIntervals(phase, storage::IntervalDetail::kTimeline,
                           [&](uint32_t worker, const v1::IntervalSample& sample) {
                             if (!hosts.contains(worker)) return absl::OkStatus();
                             go_to(sample.interval());
                             FillTo(sample.interval(), worker, load, interval_ns, live.get());
                             const absl::Status added = live->Add(worker, sample);
                             if (!added.ok()) {
                               log::Error("a stored sample of worker {} cannot be read: {}", worker,
                                          std::string(added.message()));
                             }
                             return absl::OkStatus();
                           });
  if (!read.ok()) return read;
  for (const auto& [worker, host] : hosts) {
    const auto cursor = active.cursors.find(worker);
    if (cursor != active.cursors.end()) {
      FillTo(delivered[worker], worker, load, interval_ns, live.get());
    }
    if (active.results.contains(worker)) {
      live->Leave(worker);
    } else if (last_of_lost.contains(worker)) {
      live->Lose(worker);
    }
  }
  live->CompleteHistory();
  return live;
}

}  // namespace

ResumePoint PointOf(const storage::ActiveRun& active) {
  ResumePoint point;
  point.phase = active.phase.phase;
  point.attempt = active.phase.attempt;
  const PhaseState state = active.phase.state;
  point.reached = state == PhaseState::kNone      ? ResumePoint::Reached::kNothing
                  : state == PhaseState::kArming  ? ResumePoint::Reached::kRecorded
                  : state == PhaseState::kRunning ? ResumePoint::Reached::kStartCommitted
                                                  : ResumePoint::Reached::kClosed;
  // A void attempt is closed, but its phase is not done.
  point.must_be_repeated = state == PhaseState::kVoid;
  const v1::JobSpec& job = active.run.job;
  point.plan = PlanOf(job, {active.phase.spec,
                            active.phase.job_phase,
                            active.phase.step,
                            IsLast(job, active.phase.job_phase, active.phase.step),
                            {}});
  point.end_of_load = active.phase.end_of_load;
  if (point.reached == ResumePoint::Reached::kStartCommitted ||
      point.reached == ResumePoint::Reached::kRecorded) {
    point.stored = active.results;
    for (const v1::StopOrder& order : active.orders) {
      if (auto decoded = DecodeStopOrder(order)) point.orders.push_back(*std::move(decoded));
    }
  }
  // BeginPhase() stores a cursor for every member of the attempt, and for nobody else.
  for (const auto& [worker, cursor] : active.cursors) point.members.insert(worker);
  for (const measure::RunWorker& worker : active.workers) {
    if (worker.lost) point.lost.insert(worker.worker_index);
  }
  const bool without = point.reached != ResumePoint::Reached::kNothing &&
                       point.members.size() < active.workers.size();
  point.degraded =
      without || (active.run.job.on_worker_loss() != v1::LOSS_POLICY_RETRY && !point.lost.empty());
  point.end_state = active.ending_state;
  point.end_reason = active.ending_reason;
  point.skip_cleanup = active.skip_cleanup;
  return point;
}

WrittenContents WrittenBy(const storage::ActiveRun& active, const SettledRun& run) {
  WrittenContents written(run);
  // The store knows the members of the last attempt only, so all workers are taken for writers. If
  // one of them did not write, it has not said what it left, and the content counts as unknown.
  std::vector<uint32_t> all(run.workers.size());
  std::iota(all.begin(), all.end(), 0U);
  const auto replay = [&](const measure::PhaseRecord& phase, uint32_t attempt) {
    const auto assignments = MakeAssignments(run, phase.spec, phase.phase, attempt, all);
    if (!assignments.ok()) return;
    written.Assign({phase.phase, attempt}, *assignments);
    written.Start();
    const auto results = active.left_contents.find({phase.phase, attempt});
    if (results == active.left_contents.end()) return;
    for (const auto& [worker, result] : results->second) {
      written.TakeResult({phase.phase, attempt}, worker, result);
    }
  };
  std::map<uint32_t, const measure::PhaseRecord*> phases;
  for (const measure::PhaseRecord& phase : active.ended) phases[phase.phase] = &phase;
  phases[active.phase.phase] = &active.phase;
  // An attempt without a go has written nothing.
  for (const auto& [phase, attempt] : active.started) {
    const auto found = phases.find(phase);
    if (found != phases.end()) replay(*found->second, attempt);
  }
  return written;
}

absl::StatusOr<RecoveredState> RecoverState(storage::Store* store, const common::Clock* clock) {
  RecoveredState recovered;
  auto queue = store->Queue();
  if (!queue.ok()) return queue.status();
  recovered.queue = *std::move(queue);
  auto active = store->Active();
  if (!active.ok()) return active.status();
  for (storage::ActiveRun& run : *active) {
    // Before T is in the store, no worker has measured anything.
    if (run.phase.state == PhaseState::kRunning) {
      auto live = ReadLive(store, run);
      // A sample that nobody can read will not become readable. It ends its own run, and keeps no
      // controller from starting.
      if (storage::IsBroken(live.status())) {
        const std::string reason =
            absl::StrCat("quarantined: ", std::string(live.status().message()));
        if (absl::Status status = QuarantineRun(store, run, reason, clock); !status.ok()) {
          return status;
        }
        continue;
      }
      if (!live.ok()) return live.status();
      recovered.live[run.run.run_id] = *std::move(live);
    }
    recovered.active.push_back(std::move(run));
  }
  auto held = store->Quarantines();
  if (!held.ok()) return held.status();
  recovered.quarantines = *std::move(held);
  auto stamps = store->Stamps();
  if (!stamps.ok()) return stamps.status();
  recovered.stamps = *std::move(stamps);
  return recovered;
}

}  // namespace lockstep::controller
