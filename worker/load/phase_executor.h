#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/engine/report_event.h"

namespace lockstep::worker {

// Fetches the write log of blocks from the controller (WorkerService.LoadWriteLog); run,
// target_keys and block size are filled in. Calls `take` for each part. Waits, for `limit_ns` at
// most. One at a time.
using FetchWriteLog =
    std::function<absl::Status(const v1::WriteLogRequest& request, int64_t limit_ns,
                               const std::function<absl::Status(const v1::WriteLogPart&)>& take)>;

// How an executor reports: armed → samples → result, or failed.
struct PhaseCallbacks {
  std::function<void(const v1::Armed&)> armed;
  std::function<void(const v1::PhaseFailed&)> failed;
  std::function<void(const v1::PhaseProgress&)> progress;
  std::function<void(const v1::PhaseId&, v1::IntervalSample)> sample;
  std::function<void(const v1::PhaseId&, v1::PhaseResult)> result;
  std::function<void(const v1::PhaseId&, const v1::BlockWrites&)> block_writes =
      [](const v1::PhaseId&, const v1::BlockWrites&) {};
  FetchWriteLog write_log;  // null where there is no controller
  // While a phase runs.
  ReportEvent report = kReportNothing;
};

inline bool SamePhase(const v1::PhaseId& a, const v1::PhaseId& b) {
  return a.run_id() == b.run_id() && a.phase() == b.phase() && a.attempt() == b.attempt();
}

// Executes one assignment at a time: with threads and devices, or as a stand-in for them.
// Thread-safe.
class PhaseExecutor {
 public:
  virtual ~PhaseExecutor() = default;
  // FAILED_PRECONDITION while another assignment runs.
  virtual absl::Status Assign(const v1::Assignment& assignment) = 0;
  // FAILED_PRECONDITION when `go` names another phase than the armed one.
  virtual absl::Status Go(const v1::Go& go) = 0;
  // Ends the load at the end of an interval.
  virtual void StopAt(const v1::StopAt& stop) = 0;
  // Ends the assignment of this run (of any run, when empty); returns at once. Before go it is
  // answered with a result without I/O, or a failure.
  virtual void StopNow(const std::string& run_id) = 0;
  // The run is over: what was kept for its next phase is let go. Returns at once.
  virtual void RunOver(const std::string& /*run_id*/) {}
  // The runs were removed from the store: what was saved of them is removed.
  virtual void RunsPruned(const std::vector<std::string>& /*run_ids*/) {}
  // Keeps a lost worker from writing to what the phase has reserved. Returns at once.
  virtual void Preempt(const v1::Preempt& /*preempt*/) {}
  // The current activity, as a message for people; empty when there is nothing to say.
  virtual std::string activity() const { return ""; }
};

}  // namespace lockstep::worker
