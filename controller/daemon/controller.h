#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/queue.h"
#include "common/ticker.h"
#include "common/tls.h"
#include "controller/api/audit_log.h"
#include "controller/api/controller_service.h"
#include "controller/api/crash_marks.h"
#include "controller/daemon/election.h"
#include "controller/daemon/open_store.h"
#include "controller/fleet/fleet.h"
#include "controller/ingest/ingest_pipeline.h"
#include "controller/runs/coordinator.h"
#include "controller/runs/loop.h"
#include "storage/spool.h"

namespace lockstep::controller {

// An active controller: the deciding thread, the coordinator, the ingest of samples, the fleet. One
// thread calls Start(), parts() and Shutdown(); what parts() returns is thread-safe.
class Controller {
 public:
  struct Options {
    std::string self;  // its name to other controllers
    std::string state_directory;
    int64_t lease_ns = 0;
    uint64_t spool_bytes = 0;
    std::shared_ptr<common::TlsStore> tls;  // null: none
  };
  // Acquires the epoch and goes on with what another controller left. `opened` and `clock` outlive
  // the result; `election` is used only here. CANCELLED when a signal came while the store was
  // unavailable.
  static absl::StatusOr<std::unique_ptr<Controller>> Start(const Options& options,
                                                           OpenedStore* opened, Election* election,
                                                           const common::Clock* clock);
  ~Controller();

  ServiceParts parts();
  uint64_t epoch() const { return epoch_; }
  // Ends the runs in progress and tells their watchers. Waits for a store that hangs, but not for
  // long. Calls `stop_listening` when no new calls may come in.
  void Shutdown(const std::function<void()>& stop_listening);

 private:
  class StoreDeadline;
  Controller(const Options& options, OpenedStore* opened, const common::Clock* clock);
  absl::Status Acquire(const Options& options, Election* election);
  absl::Status GoOn(const Options& options, Election* election);
  // Reads certificates and revocations that have changed, and ends the streams that they end.
  void RefreshTls();

  OpenedStore* const opened_;
  const common::Clock* const clock_;
  uint64_t epoch_ = 0;
  std::string store_id_;
  std::string secret_;  // the store's
  std::unique_ptr<storage::FileSpool> spool_;
  std::unique_ptr<CrashMarks> marks_;
  Watchers watchers_;
  ThreadLoop loop_;
  const std::shared_ptr<common::TlsStore> tls_;
  Callers callers_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<IngestPipeline> ingest_;
  std::unique_ptr<Fleet> fleet_;
  common::Ticker tls_ticker_;
};

}  // namespace lockstep::controller
