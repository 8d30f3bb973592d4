#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "controller/api/callers.h"
#include "controller/api/principal.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// The log of callers who asked for a change, or for something that the role forbids, and of the
// answers. Entries go to the store in the order of the answers, on a thread of the log's own, and
// wait while the store is unavailable. Calls never wait for it. Thread-safe.
class AuditLog {
 public:
  // All outlive this. Without `callers` every certificate counts.
  AuditLog(storage::FleetStore* store, const common::Clock* clock,
           const Callers* callers = nullptr);
  // Writes what still waits, unless the store is unavailable.
  ~AuditLog();

  // The call, without its subject and answer.
  static v1::AuditEntry EntryOf(const grpc::ServerContextBase& context, const Principal& principal,
                                const std::string& action);
  // Sets the time and the answer. Only so many calls of one caller that were not served are kept a
  // minute (limits::kAuditRefusals).
  void Add(v1::AuditEntry entry, const grpc::Status& answer);
  // A worker that tried to attach under a name that is not its own.
  void AddRefusedWorker(const v1::Hello& hello, const std::string& peer, const std::string& reason);
  // As controller::Require(), of a call with this name, for a caller whose certificate counts. A
  // refusal becomes an entry.
  grpc::Status Require(const grpc::ServerContextBase& context, Role role, const std::string& call);

 private:
  struct Refusals {
    int64_t minute = 0;
    int64_t in_minute = 0;
    int64_t left_out = 0;
  };
  // Whether the caller's entry is one too many; it may get a word of those that were.
  bool IsLeftOut(v1::AuditEntry* entry);
  void Main();

  storage::FleetStore* const store_;
  const common::Clock* const clock_;
  const Callers* const callers_;
  common::Mutex mutex_;
  common::Condition changed_;
  std::deque<v1::AuditEntry> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Refusals> refusals_ ABSL_GUARDED_BY(mutex_);  // by caller
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep::controller
