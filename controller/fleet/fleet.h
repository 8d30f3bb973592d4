#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/certificate.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/signing.h"
#include "common/timing.h"
#include "controller/core/roster.h"
#include "controller/fleet/fleet_link.h"
#include "proto/protocol_version.h"

namespace lockstep::controller {

class ControlStream;

// The attached workers: who they are, how to send to them, and what their clocks show. Thread-safe.
// Its thread pings every worker's clock once a second and gives up those that were silent for
// longer than the lease.
class Fleet final : public FleetLink {
 public:
  // Callbacks come from gRPC's threads and the fleet's own, one at a time: attached first (again
  // after each reconnection), lost last.
  struct Callbacks {
    std::function<void(const v1::Hello&)> attached;
    std::function<void(const std::string& worker_id, const v1::WorkerMessage&)> message;
    std::function<void(const std::string& worker_id, const std::string& reason)> lost;
    // A caller at the address `peer` tried to attach as another certificate's worker or host, and
    // was refused.
    std::function<void(const v1::Hello&, const std::string& peer, const std::string& reason)>
        intruder = [](const v1::Hello&, const std::string&, const std::string&) {};
    // The connection to a worker broke. It is lost when its lease has passed, unless it comes back.
    std::function<void(const std::string& worker_id)> detached = [](const std::string&) {};
    // A host has other ids than before.
    std::function<void(const std::string& text)> succeeded = [](const std::string&) {};
  };
  struct Options {
    uint64_t epoch = 0;
    std::string store_id;
    int64_t lease_ns = timing::kDefaultLeaseNs;
    std::vector<Roster::Owner> bindings = {};  // as the store has them
    // The store's key, which endorses the workers' keys (Welcome).
    std::optional<common::SigningKey> mark_authority = {};
    // The versions that this controller speaks, and the oldest guard that it admits.
    v1::ProtocolOffer protocol = v1::OwnProtocol();
    uint32_t lowest_guard = v1::kLowestGuardVersion;
  };

  // `clock` outlives this.
  Fleet(Options options, const common::Clock* clock, Callbacks callbacks);
  ~Fleet() override;

  bool Send(const std::string& worker_id, v1::ControllerMessage message) override;
  void PingBurst(const std::vector<std::string>& worker_ids) override;
  ClockEstimator::Estimate ClockAt(const std::string& worker_id, int64_t at_ns) const override;
  std::vector<v1::Hello> Hellos() const override;
  int64_t WallDifferenceNs(const std::string& worker_id) const override;
  int64_t lease_ns() const override { return options_.lease_ns; }
  // Whether to accept samples in this worker's name: it is attached, with this certificate, and was
  // given `session` when it attached.
  bool MayDeliver(const std::string& worker_id, const std::string& certificate,
                  const std::string& session) const;
  // The version of the protocol that the worker's session speaks; 0 if it is not attached.
  uint32_t SpokenVersion(const std::string& worker_id) const;
  // Another certificate may attach under this host's name from now on. How many names and workers
  // were forgotten.
  uint32_t Forget(const std::string& host_name);
  // For people: everything but the run.
  std::vector<v1::AttachedWorker> List() const;
  // Ends every stream.
  void Shutdown();

  // --- For ControlStream. ---
  // Writes into `hello` which version the session speaks, and leaves in it the features that both
  // have. FAILED_PRECONDITION, as v1::Agree() says, when there is no such version.
  absl::Status Agree(v1::Hello* hello) const;
  // OK; UNAVAILABLE when the worker is refused for now, FAILED_PRECONDITION when for good.
  absl::Status Attach(const v1::Hello& hello, ControlStream* stream);
  // False when the stream must not read on: it is no longer the worker's, or the worker sends too
  // much.
  bool OnMessage(const std::string& worker_id, ControlStream* stream,
                 const v1::WorkerMessage& message, int64_t received_ns);
  void Detach(const std::string& worker_id, ControlStream* stream);
  uint64_t epoch() const { return options_.epoch; }
  // False when there are too many streams that have not said Hello yet.
  bool AddUnwelcomed(ControlStream* stream);
  void RemoveUnwelcomed(ControlStream* stream);
  const common::Clock& clock() const { return *clock_; }

 private:
  struct Member {
    v1::Hello hello;
    ControlStream* stream = nullptr;  // null while it is waited for
    std::string session;
    std::optional<common::CertificateFacts> certificate;  // of its last stream
    ClockEstimator estimator;
    std::map<uint64_t, int64_t> pings;  // id → sent, controller's clock
    int64_t next_ping_ns = 0;
    int burst = 0;  // pings still to send
    int64_t wall_difference_ns = 0;
    double budget = 0;  // messages that it may send now
    int64_t budget_at_ns = 0;
  };
  void PingLocked(Member* member, int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Main();

  const Options options_;
  const common::Clock* clock_;
  const Callbacks callbacks_;
  mutable common::Mutex mutex_;
  common::Mutex callback_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  common::Condition changed_;
  Roster roster_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Member> members_ ABSL_GUARDED_BY(mutex_);  // by worker id
  // since when they are here, without Hello
  std::map<ControlStream*, int64_t> unwelcomed_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ping_ ABSL_GUARDED_BY(mutex_) = 1;
  bool bursting_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep::controller
