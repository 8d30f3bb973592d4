#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"
#include "proto/worker.pb.h"
#include "worker/environment/keeper.h"
#include "worker/fence/fences.h"
#include "worker/host/guard.h"
#include "worker/host/host_policy.h"
#include "worker/load/load.h"
#include "worker/load/phase_executor.h"
#include "worker/targets/targets.h"
#include "worker/verify/block_ledger.h"
#include "worker/verify/mismatch_files.h"

namespace lockstep::worker {

// Carries out one assignment at a time on a thread of its own. Thread-safe; callbacks come from
// that thread.
class PhaseRunner final : public PhaseExecutor {
 public:
  struct Parts {
    const Guard* guard = nullptr;  // outlives this, as do the next three
    const HostPolicy* policy = nullptr;
    EnvironmentKeeper* environment = nullptr;
    const common::Clock* clock = nullptr;
    std::string host;
    std::string mismatch_directory;  // where blocks that do not match are saved
  };
  PhaseRunner(Parts parts, PhaseCallbacks callbacks);
  ~PhaseRunner() override;

  absl::Status Assign(const v1::Assignment& assignment) override;
  absl::Status Go(const v1::Go& go) override;
  void StopAt(const v1::StopAt& stop) override;
  void StopNow(const std::string& run_id) override;
  void RunOver(const std::string& run_id) override { fences_.Release(run_id); }
  void RunsPruned(const std::vector<std::string>& run_ids) override {
    MismatchFiles(parts_.mismatch_directory).Remove(run_ids);
  }
  void Preempt(const v1::Preempt& preempt) override { fences_.Preempt(preempt); }
  std::string activity() const override { return doing_.load(); }

 private:
  void Main(v1::Assignment assignment);
  void RunLoad(const v1::Assignment& assignment, const RunIdentity& who);
  // Runs the load in the environment as it is.
  void RunLoadAsItIs(const v1::Assignment& assignment, const RunIdentity& who);
  absl::Status ChangeSettings(const v1::RunAssignment& run) const;
  // Waits until the planned end of the load, if this worker's own load has ended before it.
  void AwaitOthers(const v1::Assignment& assignment, const Load& load);
  absl::Status DropCaches() const;
  // For prepare and cleanup: arms at once, and runs `work`, which fills in the result, from T on.
  void DoFiles(const v1::Assignment& assignment,
               const std::function<absl::Status(v1::PhaseResult*)>& work);
  absl::Status Prepare(const v1::Assignment& assignment, const RunIdentity& who,
                       v1::PhaseResult* result);
  absl::Status Cleanup(const v1::Assignment& assignment, const RunIdentity& who,
                       v1::PhaseResult* result) const;
  // Waits for Go() and returns T; nothing when stopped first.
  std::optional<int64_t> AwaitGo();
  void Fail(const v1::PhaseId& phase, const absl::Status& status);

  const Parts parts_;
  LedgerBook ledgers_;
  const PhaseCallbacks callbacks_;
  Fences fences_;

  common::Mutex mutex_;
  common::Condition changed_;
  v1::PhaseId phase_ ABSL_GUARDED_BY(mutex_);
  int64_t go_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // 0 until Go()
  std::shared_ptr<Load> load_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stop_{false};
  std::atomic<bool> busy_{false};
  std::atomic<const char*> doing_{""};  // string literals
};

}  // namespace lockstep::worker
