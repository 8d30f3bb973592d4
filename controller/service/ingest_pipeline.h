#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "controller/service/live_phase.h"
#include "proto/worker.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// Takes workers' batches, checks them, merges them for those who watch, and commits them to the store in order, many
// workers to a transaction. Acknowledges what is committed. While the store is out of reach batches wait here, and
// at the workers, and are committed when it is back. Thread-safe.
class IngestPipeline {
 public:
  using Acknowledge = std::function<void(const v1::DeliveryAck&)>;
  struct PhaseCallbacks {
    std::function<void(const v1::FleetInterval&)> interval;
    // The phase must end by its abort_if.
    std::function<void(const std::string& reason)> abort;
    // The worker's result is committed; `integrity` is empty when it is the sum of its intervals.
    std::function<void(uint32_t worker, const v1::PhaseResult&, const std::string& integrity)> result;
  };

  // `store` outlives this. `fenced` is called when another controller has replaced this one.
  IngestPipeline(uint64_t epoch, storage::Store* store, std::function<void(const std::string&)> fenced);
  ~IngestPipeline();

  // Samples of this phase are taken from now on. `workers`: worker id → worker index and host.
  void Open(const v1::PhaseId& phase, const std::map<std::string, std::pair<uint32_t, std::string>>& workers, const v1::AbortIf& abort_if,
            PhaseCallbacks callbacks);
  void SetGo(const v1::PhaseId& phase, int64_t go_wall_ns);
  void WorkerLost(const v1::PhaseId& phase, uint32_t worker);
  // I/Os per second that the phase's samples so far come to.
  double MeasuredIops(const v1::PhaseId& phase);
  // No more samples of this phase; returns its roll-ups.
  std::vector<storage::Rollup> Close(const v1::PhaseId& phase);

  // A worker's batch. Refusals are acknowledged with the reason.
  void Deliver(const std::string& worker_id, const v1::DeliveryBatch& batch, const Acknowledge& acknowledge);

 private:
  using PhaseKey = std::tuple<std::string, uint32_t, uint32_t>;
  struct Feed {
    uint32_t worker_index = 0;
    uint64_t received = 0;   // next sequence expected
    uint64_t committed = 0;
    std::string integrity;
  };
  struct Phase {
    std::unique_ptr<LivePhase> live;
    std::map<std::string, Feed> feeds;  // by worker id
    PhaseCallbacks callbacks;
    int64_t go_wall_ns = 0;
    bool abort_said = false;
  };
  struct Pending {
    std::string worker_id;
    storage::IngestBatch batch;
    std::string integrity;  // of the result in it
    Acknowledge acknowledge;
  };

  static PhaseKey KeyOf(const v1::PhaseId& phase) { return {phase.run_id(), phase.phase(), phase.attempt()}; }
  void Refuse(const v1::PhaseId& phase, uint64_t committed, const std::string& reason, bool final, const Acknowledge& acknowledge);
  void Main();
  void Commit(std::vector<Pending> group);
  void Committed(const Pending& pending);

  const uint64_t epoch_;
  storage::Store* store_;
  const std::function<void(const std::string&)> fenced_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<PhaseKey, Phase> phases_;  // guarded by mutex_
  std::deque<Pending> queue_;         // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace lockstep::controller
