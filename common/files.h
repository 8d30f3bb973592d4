#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace lockstep::common {

// Whole small files. Errors name the path and the system's words; NOT_FOUND where the file does not
// exist, RESOURCE_EXHAUSTED where it has more than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes = 64 << 20);
// The same of a file with a key, a certificate or another secret: INVALID_ARGUMENT if it is a pipe,
// a device or anything else that is no regular file. Such a file could keep the reader waiting for
// ever.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, size_t max_bytes = 64 << 20);
// Written beside and renamed, so that a reader sees the old or the new file, whole. Mode 0600.
absl::Status WriteFileAtomically(const std::string& path, const std::string& content);
// The file's content without the white space at its ends; empty where it cannot be read.
std::string ReadTrimmed(const std::string& path);
// Like mkdir -p.
absl::Status MakeDirectories(const std::string& path, int mode);
// FAILED_PRECONDITION if the directory at `path` belongs to a user other than root and this one, or
// if others may write to it: they could replace what is kept there by links. A group that may write
// counts as others, unless it is root's or the owner's own (IsOwnGroup()). In a directory of root's
// it does not count for another user, who may need it. OK if there is no such directory.
absl::Status CheckNobodyElses(const std::string& path);
// A directory that only this user enters: made with mode 0700, those above it with 0755. One that
// is there and is this user's gets that mode. Refused as by CheckNobodyElses().
absl::Status MakePrivateDirectory(const std::string& path);

// A descriptor that closes itself. Move-only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The path from the root, by the working directory, without "." and without a slash at its end.
// Empty stays empty.
std::string AbsolutePath(const std::string& path);

// The directory for this user's state: LOCKSTEP_STATE_DIR, else /var/lib/lockstep for root, else
// $XDG_STATE_HOME/lockstep, else ~/.local/state/lockstep.
std::string DefaultStateDirectory();

// The status of a failed system call: `what: strerror`, with a code by errno.
absl::Status ErrnoStatus(int error, const std::string& what);
// The system's words for an errno: "No such file or directory". Unlike strerror() for every thread.
std::string ErrnoText(int error);

}  // namespace lockstep::common
