#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/tls.h"
#include "grpcpp/grpcpp.h"
#include "proto/worker.pb.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/outbox.h"
#include "worker/link/protocol.h"
#include "worker/link/session.h"
#include "worker/load/phase_executor.h"

namespace lockstep::worker {

// Keeps the worker connected: dials the controller and connects the protocol to both streams. When
// the controller is lost, the phase continues, its samples are kept, and the agent dials each of
// its controllers in turn. One thread constructs the agent and calls Run() once. Stop() is
// thread-safe.
class Agent {
 public:
  struct Options {
    std::vector<std::string> controllers;  // HOST:PORT, tried in turn
    common::CredentialsSource credentials;
    bool tls = false;         // whether `credentials` are for TLS; used in error messages
    std::string server_name;  // as common::TlsFiles has it
    std::string worker_id;
    v1::HostFacts host;
    std::map<std::string, std::string> labels;
    std::vector<std::string> allow, allow_expendable;
    bool allow_enroll = false;
    std::string mark_key;  // as Hello says
    Outbox::Limits outbox;
    // The agent stops when no controller has been attached to for this long; 0: never.
    int64_t max_alone_ns = 0;
  };
  // The functions that the agent needs from its program. The agent calls them from its own threads.
  // They may take long.
  struct Parts {
    std::function<std::unique_ptr<PhaseExecutor>(PhaseCallbacks)> make_executor;
    std::function<v1::Inspection(const v1::Inspect&)> inspect;
    // list_devices: the block devices as sysfs has them; opens none. inspect_devices: also the
    // contents of the devices.
    std::function<std::vector<v1::BlockDevice>()> list_devices, inspect_devices;
    // Writes or removes stamps.
    std::function<v1::StampResults(const v1::StampDevices&)> stamp;
    // Called when a controller has welcomed this worker, before any of its commands.
    std::function<void(const v1::Welcome&)> welcomed = [](const v1::Welcome&) {};
  };

  // `clock` outlives this.
  Agent(Options options, Parts parts, const common::Clock* clock);
  ~Agent();

  // Serves until Stop(), or until it has been alone for too long, then returns OK.
  // FAILED_PRECONDITION, with the controller's message, when a controller refuses this worker for
  // good.
  absl::Status Run();
  // From any thread, also from a signal-waiting one: ends I/O, drops the connection and lets Run()
  // return.
  void Stop();

 private:
  v1::Hello MakeHello() const;
  bool Sleep(int64_t nanoseconds);
  void Inspect(const v1::Inspect& inspect);
  void InspectMain();
  void ListDevices(const v1::ListDevices& ask);
  // As FetchWriteLog says. Waits for a connection for up to half a minute of its limit.
  absl::Status FetchFromController(
      const v1::WriteLogRequest& request, int64_t limit_ns,
      const std::function<absl::Status(const v1::WriteLogPart&)>& take);
  // Answers the requests in `listings` with the devices that `list` finds.
  void ListMain(std::deque<uint64_t>* listings,
                const std::function<std::vector<v1::BlockDevice>()>& list);
  void StampDevices(const v1::StampDevices& orders);
  void StampMain();
  void SendToSession(const v1::WorkerMessage& message);
  // Sends all later messages to this session, or drops them if it is null. False when the agent is
  // stopping.
  bool Publish(std::shared_ptr<Session> session);
  absl::Status Serve();
  void TickMain();

  const Options options_;
  const Parts parts_;
  const common::Clock* clock_;
  const std::string instance_id_;
  Outbox outbox_;
  ConnectionKeeper keeper_;
  common::Mutex mutex_;
  common::Condition stop_changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<v1::Inspect> inspections_ ABSL_GUARDED_BY(mutex_);   // the first is being processed
  std::deque<uint64_t> listings_ ABSL_GUARDED_BY(mutex_);         // ids of requests for devices
  std::deque<uint64_t> kernel_listings_ ABSL_GUARDED_BY(mutex_);  // those that need sysfs only
  std::deque<v1::StampDevices> stamps_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Session> session_
      ABSL_GUARDED_BY(mutex_);  // the one that is being dialled or served
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<PhaseExecutor> executor_;  // last: its threads use everything above
};

}  // namespace lockstep::worker
