#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Who is the active controller of a store: holds a session's advisory lock in PostgreSQL, which the server gives up when the
// session ends, however that happens. The lock elects; safety comes from the epoch, which every write checks. Not thread-safe.
class ActiveLock {
 public:
  explicit ActiveLock(std::string conninfo) : conninfo_(std::move(conninfo)) {}

  // Opens the session that will hold it, unless there is one. UNAVAILABLE when the server is out of reach.
  absl::Status Connect();
  // Whether this process holds the lock now: takes it, or checks that it still has it. UNAVAILABLE when the server is out of
  // reach: who had the lock may have lost it by then.
  absl::StatusOr<bool> Hold();
  // Who holds it, in words, by what the active controller wrote of itself; empty when that is not known.
  std::string Holder();

 private:
  const std::string conninfo_;
  std::unique_ptr<PgConnection> connection_;
  bool held_ = false;
};

}  // namespace lockstep::storage
