#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "controller/fleet/clock_estimator.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

class ControlStream;

// The attached workers: who they are, how to send to them, and what their clocks show. Thread-safe. Its thread
// pings every worker's clock once a second and drops workers that have been silent for longer than the lease.
class Fleet {
 public:
  // Callbacks come from gRPC's threads, one at a time per worker: attached first, lost last.
  struct Callbacks {
    std::function<void(const v1::Hello&)> attached;
    std::function<void(const std::string& worker_id, const v1::WorkerMessage&)> message;
    std::function<void(const std::string& worker_id, const std::string& reason)> lost;
  };

  // `clock` outlives this.
  Fleet(uint64_t epoch, std::string store_id, const common::Clock* clock, Callbacks callbacks);
  ~Fleet();

  // Sends a command. False when the worker is not attached (any more).
  bool Send(const std::string& worker_id, v1::ControllerMessage message);
  // Several quick exchanges with each worker now, for a good estimate soon.
  void PingBurst(const std::vector<std::string>& worker_ids);
  ClockEstimator::Estimate ClockOf(const std::string& worker_id) const;
  bool IsAttached(const std::string& worker_id) const;
  // For people: everything but the run.
  std::vector<v1::AttachedWorker> List() const;
  std::vector<v1::Hello> Hellos() const;
  // Ends every stream.
  void Shutdown();

  // --- For ControlStream. ---
  // OK; UNAVAILABLE when the worker is refused for now, FAILED_PRECONDITION when for good.
  absl::Status Attach(const v1::Hello& hello, ControlStream* stream);
  void OnMessage(const std::string& worker_id, const v1::WorkerMessage& message, int64_t received_ns);
  void Detach(const std::string& worker_id, ControlStream* stream, const std::string& reason);
  uint64_t epoch() const { return epoch_; }
  const common::Clock& clock() const { return *clock_; }

 private:
  struct Member {
    v1::Hello hello;
    ControlStream* stream = nullptr;
    ClockEstimator estimator;
    std::map<uint64_t, int64_t> pings;  // id → sent, controller's clock
    int64_t heard_ns = 0;
    int64_t wall_difference_ns = 0;
  };
  void PingLocked(Member* member);
  void Main();

  const uint64_t epoch_;
  const std::string store_id_;
  const common::Clock* clock_;
  const Callbacks callbacks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Member> members_;       // by worker id; guarded by mutex_
  std::map<std::string, int> bursts_;           // pings still to send; guarded by mutex_
  uint64_t next_ping_ = 1;                      // guarded by mutex_
  bool stopping_ = false;                       // guarded by mutex_
  std::thread thread_;
};

}  // namespace lockstep::controller
