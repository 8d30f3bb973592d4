#include "controller/runs/run_ends.h"

#include <utility>

#include "common/log.h"

namespace lockstep::controller {
namespace {

constexpr absl::Duration kRetryPause = absl::Seconds(2);

}  // namespace

void RunEnds::Record(const std::string& run_id, const storage::RunEnd& end,
                     std::function<void()> then) {
  loop_->Persist(
      [store = store_, run_id, end] { return store->EndRun(run_id, end); },
      [this, run_id, end, then = std::move(then)](const absl::Status& status) mutable {
        // Without a further attempt the next controller finds the run in progress, and goes on with
        // it.
        if (status.ok() || !is_trying_) {
          problems_.erase(run_id);
          return then();
        }
        // Persist() itself repeats only what an unavailable store did not take. A refusal comes
        // here, and is repeated as well: without its end, the run would be in progress for ever.
        std::string& problem = problems_[run_id];
        if (problem != status.message()) {
          problem = std::string(status.message());
          log::Error("the end of run {} cannot be stored, trying again: {}", run_id, problem);
        }
        loop_->After(kRetryPause,
                     [this, run_id, end, then = std::move(then)] { Record(run_id, end, then); });
      });
}

std::string RunEnds::ProblemOf(const std::string& run_id) const {
  const auto problem = problems_.find(run_id);
  return problem == problems_.end() ? "" : problem->second;
}

}  // namespace lockstep::controller
