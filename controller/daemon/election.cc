#include "controller/daemon/election.h"

#include <cstdlib>
#include <ctime>

#include "common/log.h"

namespace lockstep::controller {
namespace {

constexpr absl::Duration kStandbyPoll = absl::Milliseconds(500);
constexpr absl::Duration kRetryPause = absl::Seconds(1);
// A server that was unavailable loses everybody's lock: the controller that was active has the
// first try when it is back.
constexpr absl::Duration kFirstTry = absl::Seconds(3);

}  // namespace

Election::Election(const std::string& conninfo, const std::string& self, storage::PgStore* store,
                   const sigset_t& signals)
    : store_(store), signals_(signals), lock_(conninfo, "lockstep-controller " + self) {}

bool Election::SignalWithin(absl::Duration pause) const {
  const timespec limit = absl::ToTimespec(pause);
  return sigtimedwait(&signals_, nullptr, &limit) > 0;
}

absl::Status Election::BecomeActive() {
  const absl::Status cancelled = absl::CancelledError("a signal came");
  for (bool said = false;; said = true) {
    auto held = lock_.Hold();
    // An error at the first try, such as a missing right to lock the table, ends the program with
    // its reason. Later it is an outage, which a standby survives.
    if (!held.ok() && !said) return held.status();
    if (held.ok() && *held) return absl::OkStatus();
    if (!said) {
      log::Info("standby: {} is active; this controller takes over when that one ends",
                lock_.Holder());
    }
    if (held.ok()) {
      if (SignalWithin(kStandbyPoll)) return cancelled;
      continue;
    }
    while (!lock_.Connect().ok()) {
      if (SignalWithin(kRetryPause)) return cancelled;
    }
    if (SignalWithin(kFirstTry)) return cancelled;
  }
}

absl::Status Election::WhileUnavailable(const std::function<absl::Status()>& work) const {
  while (true) {
    const absl::Status status = work();
    if (!storage::IsTransient(status)) return status;
    log::Error("the store is out of reach, trying again: {}", std::string(status.message()));
    if (SignalWithin(kRetryPause)) return absl::CancelledError("a signal came");
  }
}

void Election::CheckForSuccessor() {
  const auto held = lock_.Hold();
  // After a partition this process's own old session may still hold the lock for some seconds: the
  // epoch tells.
  if (held.ok() && !*held && absl::IsAborted(store_->StillActive())) {
    EndThisController("another controller, " + lock_.Holder() + ", is active");
  }
}

void EndThisController(const std::string& reason) {
  log::Critical("{}: this one ends", reason);
  std::_Exit(3);
}

}  // namespace lockstep::controller
