#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "common/users.h"

namespace lockstep::storage {

// The private PostgreSQL that Lockstep initialises and runs itself: data under DIRECTORY/data, a
// socket in DIRECTORY/run (mode 0700), no TCP. PostgreSQL refuses root, so as root it runs as
// another user (ServerUser()). A server that still runs there, left by a killed controller, is
// adopted.
class EmbeddedPostgres {
 public:
  // Starts it, initialising the cluster the first time. FAILED_PRECONDITION with the remedy when
  // PostgreSQL is not installed, when another controller holds the directory, or when the cluster
  // is of another major version.
  static absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> Start(const std::string& directory);
  // Stops the server, cleanly.
  ~EmbeddedPostgres();
  // To be called periodically: starts the server again when it has died. Returns at once.
  void KeepAlive();

  // The address, HOST:PORT, that others are told who find the directory taken.
  void WriteHolderAddress(const std::string& address);

  // For libpq, as the owner of everything.
  std::string conninfo() const;
  // For libpq, as the reading role.
  std::string reader_conninfo() const;
  const std::string& directory() const { return directory_; }

 private:
  EmbeddedPostgres(std::string directory, common::FileDescriptor lock,
                   std::optional<common::User> user)
      : directory_(std::move(directory)), lock_(std::move(lock)), user_(std::move(user)) {}
  // Starts a program as the server's user. Its pid, or -1 with errno.
  pid_t Spawn(const std::vector<std::string>& words, const std::string& log_path) const;
  absl::Status Initialise(const std::string& binaries);
  absl::Status Launch(const std::string& binaries);
  absl::Status AwaitReady();
  absl::Status CreateDatabase();

  const std::string directory_;
  common::FileDescriptor lock_;
  const std::optional<common::User> user_;  // whom a child becomes; none where this is not root
  std::string binaries_;
  pid_t pid_ = -1;
  bool child_ = false;  // started by this process, not adopted
};

}  // namespace lockstep::storage
