#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Who is the active controller of a store: a transaction that stays open holds a lock on a table,
// which the server gives up when the session ends, however that happens. Who may only read cannot
// take it; it assigns no transaction id, so that it holds no vacuum back. The lock elects; safety
// comes from the epoch, which every write checks. Not thread-safe.
class ActiveLock {
 public:
  // `who`: how others are told who holds it.
  ActiveLock(std::string conninfo, std::string who)
      : conninfo_(std::move(conninfo)), who_(std::move(who)) {}

  // Opens the session that will hold it, unless there is one. UNAVAILABLE when the server is out of
  // reach.
  absl::Status Connect();
  // Whether this process holds the lock now: takes it, or checks that it still has it. UNAVAILABLE
  // when the server is out of reach: who had the lock may have lost it by then.
  absl::StatusOr<bool> Hold();
  // Who holds it, in words, as the server knows it; empty when that is not known.
  std::string Holder();

 private:
  const std::string conninfo_;
  const std::string who_;
  std::unique_ptr<PgConnection> connection_;
  bool held_ = false;
};

}  // namespace lockstep::storage
