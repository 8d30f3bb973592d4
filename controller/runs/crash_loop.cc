#include "controller/runs/crash_loop.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/log.h"
#include "controller/runs/run_actor.h"

namespace lockstep::controller {
namespace {

// How long workers of the run may go on, whatever phase they are in.
int64_t LongestOf(const v1::JobSpec& job) {
  int64_t longest = QuarantineBeforeGoNs(job);
  for (const v1::PhaseSpec& phase : job.phases()) {
    longest = std::max(longest, LongestQuarantineNs(job, phase));
  }
  return longest;
}

std::string ReasonOf(int crashes) {
  return absl::StrCat("quarantined: ", crashes, " controllers ended while they worked on it");
}

absl::Status EndOne(storage::RunStore* store, const std::string& run_id, const std::string& reason,
                    const common::Clock* clock) {
  log::Error("run {} is {}", run_id, reason);
  const storage::RunEnd end = {.state = measure::RunState::kFailed, .outcome = reason};
  if (absl::Status status = store->EndRun(run_id, end); !status.ok()) {
    return status;
  }
  // Without this event the run's outcome still has the reason.
  (void)store->AddEvent(run_id, measure::Severity::kError, "", reason, clock->WallNs());
  return absl::OkStatus();
}

}  // namespace

absl::Status QuarantineRun(storage::RunStore* store, const storage::ActiveRun& run,
                           const std::string& reason, const common::Clock* clock) {
  // The quarantine comes before the end of the run. Its workers may go on to their hard stops
  // without a controller, and once a run has ended, the store tells only what its lost workers
  // hold.
  for (const measure::RunWorker& worker : run.workers) {
    if (worker.lost) continue;
    if (absl::Status status = store->SetLost(run.run.run_id, worker.worker_index,
                                             "the run was quarantined", LongestOf(run.run.job));
        !status.ok()) {
      return status;
    }
  }
  return EndOne(store, run.run.run_id, reason, clock);
}

absl::Status QuarantineCrashing(storage::RunStore* store, const std::map<std::string, int>& crashes,
                                const common::Clock* clock) {
  const auto crashed = [&](const std::string& run_id) {
    const auto found = crashes.find(run_id);
    return found != crashes.end() && found->second >= limits::kPoisonedStarts ? found->second : 0;
  };
  // Most starts find no such run, and then need not read the queue and all active runs.
  if (std::none_of(crashes.begin(), crashes.end(),
                   [&](const auto& run) { return crashed(run.first) != 0; })) {
    return absl::OkStatus();
  }
  auto queue = store->Queue();
  if (!queue.ok()) return queue.status();
  auto active = store->Active();
  if (!active.ok()) return active.status();
  for (const measure::RunRecord& run : *queue) {
    if (crashed(run.run_id) == 0) continue;
    if (absl::Status status = EndOne(store, run.run_id, ReasonOf(crashed(run.run_id)), clock);
        !status.ok()) {
      return status;
    }
  }
  for (const storage::ActiveRun& run : *active) {
    const int crash_count = crashed(run.run.run_id);
    if (crash_count == 0) continue;
    if (absl::Status status = QuarantineRun(store, run, ReasonOf(crash_count), clock);
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
