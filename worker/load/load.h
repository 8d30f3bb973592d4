#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/worker.pb.h"
#include "worker/host/device_attachments.h"
#include "worker/host/path_watch.h"
#include "worker/host/storage_network.h"
#include "worker/load/hang_monitor.h"
#include "worker/load/io_thread.h"
#include "worker/load/load_part.h"
#include "worker/load/load_verification.h"
#include "worker/sampler/collector.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// The load of one run phase on this worker: every workload's threads, started together at T, and
// the collector of what they measure. Make() → Arm() → Start() → Wait(). Owned by shared_ptr: a
// thread whose I/O never returns keeps it alive, and with it every buffer that the kernel may still
// write to.
class Load : public std::enable_shared_from_this<Load> {
 public:
  using Environment = LoadEnvironment;
  // Opens the targets. Errors name path and remedy. All that `environment` points to outlives the
  // load.
  static absl::StatusOr<std::shared_ptr<Load>> Make(const v1::Assignment& assignment,
                                                    const RunIdentity& who,
                                                    Environment environment);

  // Starts the threads and waits until each holds all that it needs. After a failure nothing is
  // left running.
  absl::Status Arm();
  // T, on this worker's monotonic clock.
  void Start(int64_t go_ns);
  // Ends the load at once; before Start() it never begins. From any thread.
  void StopNow();
  // Ends the load at the end of an interval, of the one in progress where that is later, unless it
  // ends before; also told before Start(). From any thread.
  void StopAtEndOf(uint32_t interval);
  // When the load ends, of this worker's clock; the end of time until it is known.
  int64_t end_ns() const { return timeline_.load_end_ns(); }
  // After Wait(): an I/O has not come back.
  bool hangs() const { return hangs_; }
  // Until the load has ended and drained; samples go to `sink` while it runs.
  v1::PhaseResult Wait(const Collector::Sink& sink);
  std::vector<std::string> notes() const;
  // Adds the ranges that the load has opened for writing.
  void AddRanges(v1::Armed* armed) const;

 private:
  enum class State { kArming, kArmed, kStarted, kCancelled };

  Load(const v1::Assignment& assignment, Environment environment);
  absl::Status AddWorkload(const v1::WorkloadAssignment& assignment, const RunIdentity& who);
  PathWatch::Ports WatchPorts(const v1::Assignment& assignment);
  void ThreadMain(IoThread* thread);
  // Checks, before any of them is made, that the phase's threads and buffers fit into this host.
  absl::Status CheckCapacity() const;
  // Finds the servers of the targets, and the ways to them.
  void FindServers();
  // The same of what an observe phase samples.
  void FindObservedServers();
  void EndAfterLocked(uint32_t interval) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinThreads();
  // For threads that hang: they hold references to this object.
  void DetachThreads();
  // Checks the running load, several times a second.
  void Monitor();
  void MonitorClaims(int64_t now_ns);
  void ReportPaths();
  // `attachments` outlives them.
  Collector::Options SamplingOptions(DeviceAttachments* attachments);
  void ReportEndedDevice(const std::string& name);
  // From the thread's first submission to its last completion, without ramp and drain.
  int64_t MeasuredNs(const IoThreadOutcome& outcome) const;
  v1::PhaseResult MakeResult(Collector* collector, bool complete) const;
  // Takes down what lies now on the devices that were written; their claims still hold.
  void AddLeftContents(v1::PhaseResult* result) const;
  void AddThread(const LoadPart& part, size_t index, const measure::OperationCounts& sums,
                 v1::PhaseResult* result, v1::WorkloadResult* workload) const;

  const v1::Assignment assignment_;
  const Environment environment_;
  const common::Clock* clock_;
  bool hangs_ = false;
  Timeline timeline_;
  DeviceClaims claims_;  // until the drain is over
  int64_t monitored_ns_ = 0;
  int64_t claims_polled_ns_ = 0;
  std::string claim_error_;  // why the devices are not this kernel's alone any more
  // By number, those of the workloads that keep their I/Os in proportion.
  std::map<uint32_t, std::unique_ptr<Flow>> flows_;
  LoadParts parts_;
  LoadVerification verification_;
  HangMonitor hang_monitor_;
  PathWatch paths_;
  StorageNetwork network_;
  std::vector<std::thread> threads_;

  common::Mutex mutex_;
  common::Condition changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kArming;
  size_t armed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status arm_status_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint32_t> last_interval_ ABSL_GUARDED_BY(mutex_);  // that StopAtEndOf() said
  std::atomic<bool> stopped_early_{false};
};

// The block devices that a worker samples for its kernel: those of its sums, and the others.
std::vector<std::string> DevicesOf(const v1::Assignment& assignment);

}  // namespace lockstep::worker
