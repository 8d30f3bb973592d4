#pragma once

#include <csignal>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/active_lock.h"
#include "storage/pg_store.h"

namespace lockstep::controller {

// Makes one of several controllers on a store the active one: a lock in PostgreSQL elects, the
// epoch fences. `signals` are blocked in the whole process; one of them ends every wait. Not
// thread-safe.
class Election {
 public:
  // `store` outlives this. `self` names this controller to the others.
  Election(const std::string& conninfo, const std::string& self, storage::PgStore* store,
           const sigset_t& signals);

  // Waits until no other controller of this store is active. CANCELLED when a signal came.
  absl::Status BecomeActive();
  // Does `work` again and again while the store is unavailable. CANCELLED when a signal came.
  absl::Status WhileUnavailable(const std::function<absl::Status()>& work) const;
  // Checks with the store whether this controller still holds the lock; called a few times a second
  // while active. Ends the process when another controller has taken over.
  void CheckForSuccessor();

 private:
  bool SignalWithin(absl::Duration pause) const;

  storage::PgStore* const store_;
  const sigset_t signals_;
  storage::ActiveLock lock_;
};

// Ends the process at once, without cleaning up: another controller now owns all that this one had.
[[noreturn]] void EndThisController(const std::string& reason);

}  // namespace lockstep::controller
