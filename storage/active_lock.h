#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Makes this process the active controller of a store: an open transaction holds a lock on a table,
// and the server releases the lock when the session ends, in whatever way. A role that may only
// read cannot take it. The transaction has no transaction id, so that it does not hold vacuum back.
// The lock only elects; what makes it safe is the epoch, which every write checks. Not thread-safe.
class ActiveLock {
 public:
  // `who`: how others are told who holds it.
  ActiveLock(std::string conninfo, std::string who)
      : conninfo_(std::move(conninfo)), who_(std::move(who)) {}

  // Opens the session that will hold the lock, unless it is open. UNAVAILABLE when the server is
  // out of reach.
  absl::Status Connect();
  // Takes the lock, or checks that this process still has it. False when another session has it.
  // UNAVAILABLE when the server is out of reach: a lock that was held may be lost by then.
  absl::StatusOr<bool> Hold();
  // The holder, in words, as the server knows it; empty when that is not known.
  std::string Holder();

 private:
  const std::string conninfo_;
  const std::string who_;
  std::unique_ptr<PgConnection> connection_;
  bool held_ = false;
};

}  // namespace lockstep::storage
