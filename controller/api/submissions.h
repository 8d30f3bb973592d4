#pragma once

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "measure/run_data.h"
#include "storage/history_store.h"

namespace lockstep::controller {

// Keeps a submission that is made twice from becoming two runs: a client whose connection breaks
// before the answer submits again with the same key. Thread-safe.
class Submissions {
 public:
  // `store` outlives this.
  explicit Submissions(storage::HistoryStore* store) : store_(store) {}

  static bool IsKey(const std::string& text);
  // The id of the run that the caller's submission with this key becomes. It depends on these two
  // alone, so that each controller computes the same one. Nobody without the key can tell the id.
  static std::string RunIdOf(const std::string& caller, const std::string& key);

  // Marks the run as being submitted for as long as any copy of the result lives. Null where it is
  // marked already. The result may outlive this.
  std::shared_ptr<void> Begin(const std::string& run_id);

  // Whether the store has the run, as a submission of the same job. `run` has run_id, source, and
  // the job as SettleJob() leaves it. ALREADY_EXISTS if the store's run has another job.
  absl::StatusOr<bool> IsStored(const measure::RunRecord& run) const;

 private:
  struct InProgress {
    common::Mutex mutex;
    std::set<std::string> runs ABSL_GUARDED_BY(mutex);
  };

  storage::HistoryStore* const store_;
  const std::shared_ptr<InProgress> in_progress_ = std::make_shared<InProgress>();
};

}  // namespace lockstep::controller
