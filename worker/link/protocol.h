#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/safeguards.h"
#include "measure/states.h"
#include "proto/protocol_version.h"
#include "proto/worker.pb.h"
#include "worker/link/outbox.h"
#include "worker/load/phase_executor.h"

namespace lockstep::worker {

// The worker's side of the protocol, without sockets, threads or clocks. It decides which commands
// the worker obeys, keeps the state of its phase, and decides when to give the phase up and what to
// report. A phase outlives the connection that commanded it. Without a command it ends at its hard
// stop at the latest. Thread-safe.
class Protocol {
 public:
  struct Ports {
    PhaseExecutor* executor = nullptr;  // outlives this, as does the next
    Outbox* outbox = nullptr;
    // Sends to the controller. Without a connection the message is dropped. No state is lost,
    // because the next Hello carries status().
    std::function<void(const v1::WorkerMessage&)> send;
    // Answers with an Inspection through `send`, at once or later.
    std::function<void(const v1::Inspect&)> inspect;
    // Answers with a DeviceList through `send`, later. Not needed for a worker without devices.
    std::function<void(const v1::ListDevices&)> list_devices;
    // Answers with StampResults through `send`, later. Not needed for a worker without devices.
    std::function<void(const v1::StampDevices&)> stamp_devices;
    // This worker's monotonic clock, nanoseconds.
    std::function<int64_t()> now;
    common::Safeguards safeguards;
    // The protocol versions of this worker, for its Hello.
    v1::ProtocolOffer protocol = v1::OwnProtocol();
  };
  explicit Protocol(Ports ports) : ports_(std::move(ports)) {}

  // The status that Hello carries.
  v1::WorkerStatus Introduce();
  // After OnFirst(): sends the status again if it has changed since Introduce().
  void SayWhatChanged();
  // Takes a controller's first message, the answer to Hello. FAILED_PRECONDITION if this worker is
  // refused for good, UNAVAILABLE if it should dial again, or dial another controller.
  absl::Status OnFirst(const v1::ControllerMessage& message);
  void OnCommand(const v1::ControllerMessage& message, int64_t received_ns);
  // The caller calls this some five times a second, connected or not.
  void Tick();

  // --- From the executor. ---
  void OnArmed(const v1::Armed& armed);
  void OnFailed(const v1::PhaseFailed& failed);
  void OnProgress(const v1::PhaseProgress& progress);
  void OnSample(const v1::PhaseId& phase, v1::IntervalSample sample);
  void OnBlockWrites(const v1::PhaseId& phase, const v1::BlockWrites& writes);
  void OnResult(const v1::PhaseId& phase, v1::PhaseResult result);
  void OnReport(measure::Severity severity, const std::string& text);

  v1::WorkerStatus status() const;
  // For heartbeats: the current step of this worker. Empty while it is idle or a load runs
  // normally.
  std::string Activity() const;
  uint64_t epoch() const;

 private:
  void Assign(const v1::Assignment& assignment);
  void Go(const v1::Go& go);
  void StopNow(const v1::StopNow& stop);
  // Ends a phase that has not begun and must not begin any more.
  void GiveUp(const std::string& reason);
  // Keeps an item until it is committed. Stops the phase if the outbox has no capacity left.
  void Keep(const v1::PhaseId& phase, v1::DeliveryItem item);
  // Ends the phase and returns the status to send, which says how it failed, if it did. It answers
  // a StopNow that arrived while the phase ran.
  v1::WorkerMessage EndPhaseLocked(const v1::PhaseFailed* failed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Event(measure::Severity severity, const std::string& text);

  const Ports ports_;
  mutable common::Mutex mutex_;
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;    // the highest seen, within
  std::string store_id_ ABSL_GUARDED_BY(mutex_);  // this store
  v1::WorkerStatus status_ ABSL_GUARDED_BY(mutex_) = [] {
    v1::WorkerStatus status;
    status.set_state(v1::WorkerStatus::STATE_IDLE);
    return status;
  }();
  std::string introduced_ ABSL_GUARDED_BY(mutex_);  // the status that Hello had, encoded
  int64_t since_ns_ ABSL_GUARDED_BY(mutex_) = 0;    // when the state began
  int64_t go_within_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t hard_stop_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // after T
  int64_t go_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  bool load_ ABSL_GUARDED_BY(mutex_) = false;
  bool hard_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool overfull_ ABSL_GUARDED_BY(mutex_) =
      false;  // it was stopped because nothing more can be kept
  std::string not_started_ ABSL_GUARDED_BY(mutex_);  // why it must not begin; empty otherwise
  v1::PhaseId answers_
      ABSL_GUARDED_BY(mutex_);  // of the StopNow that is to be answered once it is idle
  bool owes_answer_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::worker
