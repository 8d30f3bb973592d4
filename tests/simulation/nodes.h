#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "controller/core/roster.h"
#include "controller/runs/coordinator.h"
#include "tests/simulation/world.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/handshake.h"
#include "worker/link/protocol.h"

namespace lockstep::simulation {

// One worker's connection to one controller, both streams: first in, first out each way, until it
// is cut.
struct Connection {
  int worker = 0;
  int controller = 0;
  uint64_t controller_life = 0;
  uint64_t worker_life = 0;
  bool open = true;  // packets pass
  int64_t last_down = 0, last_up = 0, last_deliver = 0, last_ack = 0;
  int64_t base_delay = 0;
  bool attached = false;  // Hello was taken
};

// When a packet sent now arrives, after the one before it.
int64_t Arrival(World* world, const Connection& connection, int64_t* last);

// A controller process: everything that decides, on this world's time.
class Controller {
 public:
  Controller(World* world, int place);
  ~Controller();
  // Acquires the epoch and goes on with what is in the store; false when the store is unavailable.
  bool Start();
  bool running() const { return coordinator_ != nullptr; }
  void Kill();
  void PauseUntil(int64_t at_ns) { paused_until_ = std::max(paused_until_, at_ns); }
  bool paused() const;
  uint64_t life() const { return life_; }
  uint64_t epoch() const { return epoch_; }

  void Submit(const measure::RunRecord& run);
  void StopRun(const std::string& run_id, controller::Cleanup cleanup);
  void EndLoad(const std::string& run_id);

  // --- From the network. ---
  void OnHello(const std::shared_ptr<Connection>& connection, const v1::Hello& hello);
  void OnMessage(const std::shared_ptr<Connection>& connection, const v1::WorkerMessage& message);
  void OnDeliver(const std::shared_ptr<Connection>& connection, const std::string& worker_id,
                 const v1::DeliveryBatch& batch);
  void OnClosed(const std::shared_ptr<Connection>& connection);

 private:
  class SimLoop;
  class SimFleet;
  void Pump();
  void CheckLock();
  // Runs when this process is not paused, and only while it lives.
  void Do(int64_t after_ns, std::function<void()> call);

  World* world_;
  const int place_;
  uint64_t life_ = 0;
  uint64_t epoch_ = 0;
  int64_t paused_until_ = 0;
  std::unique_ptr<NodeClock> clock_;
  controller::Watchers watchers_;
  std::unique_ptr<storage::MemoryStore> store_;
  std::unique_ptr<SimLoop> loop_;
  std::unique_ptr<SimFleet> fleet_;
  std::unique_ptr<controller::IngestPipeline> ingest_;
  std::unique_ptr<controller::Coordinator> coordinator_;
  bool pump_due_ = false;
};

// A worker process.
class Worker {
 public:
  Worker(World* world, int number);
  ~Worker();
  void Start();
  void Kill();
  void PauseUntil(int64_t at_ns) { paused_until_ = std::max(paused_until_, at_ns); }
  bool alive() const { return protocol_ != nullptr; }
  uint64_t life() const { return life_; }
  const std::string& id() const { return id_; }
  const NodeClock& clock() const { return *clock_; }
  // Whether both ends notice it at once.
  enum class Cut { kSilently, kNoticed };
  void CutConnection(Cut cut);
  void ResetDeliver();

  // --- From the network. ---
  void OnCommand(const std::shared_ptr<Connection>& connection,
                 const v1::ControllerMessage& message);
  void OnAck(const std::shared_ptr<Connection>& connection, const v1::DeliveryAck& ack);
  void OnClosed(const std::shared_ptr<Connection>& connection);
  // The epoch of the command that is being carried out, and the highest one that any controller
  // greeted it with.
  bool obeys_old() const { return handling_epoch_ != 0 && handling_epoch_ < greeted_epoch_; }

 private:
  friend class World;
  class Executor;
  void Do(int64_t after_ns, std::function<void()> call);
  void Tick();
  void Dial();
  void Send(const v1::WorkerMessage& message);
  void Deliver();
  void Disconnect();
  v1::Hello MakeHello() const;
  worker::Handshake::Ports HandshakePorts();

  World* world_;
  const int number_;
  const std::string id_, host_id_;
  std::string instance_;
  uint64_t life_ = 0;
  int64_t paused_until_ = 0;
  std::unique_ptr<NodeClock> clock_;
  std::unique_ptr<worker::Outbox> outbox_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<worker::Protocol> protocol_;
  std::shared_ptr<Connection> connection_;
  bool attached_ = false;
  bool dialling_ = false;
  std::unique_ptr<worker::ConnectionKeeper> keeper_;
  std::unique_ptr<worker::Handshake> handshake_;  // of connection_
  int64_t armed_since_ns_ = 0;
  uint64_t handling_epoch_ = 0, greeted_epoch_ = 0;
  bool obeys_order_ = false;  // a StopNow that ends a phase
};

}  // namespace lockstep::simulation
