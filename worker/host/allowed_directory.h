#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace lockstep::worker {

// A directory that the allow-list names. Its name leads to the directory that the operator meant as
// long as nobody else can replace a directory or link on the way. If somebody else can, it must
// still be the directory that had the name when the worker started: otherwise the owner of a
// directory above could put a link to any other directory in its place. Immutable; thread-safe.
class AllowedDirectory {
 public:
  // `path`: absolute. NOT_FOUND where there is no such directory now.
  static absl::StatusOr<std::shared_ptr<const AllowedDirectory>> Make(const std::string& path);

  // The directory that the name leads to now, as an O_PATH descriptor. NOT_FOUND where there is
  // none; PERMISSION_DENIED where it is another one than at the start and a user other than root
  // and the worker's own could have put it there: by the owners and modes of a file
  // system of this machine, not of FUSE or a network. A directory that root mounts there later is
  // accepted.
  absl::StatusOr<common::FileDescriptor> Open() const;
  // The same as a path without links, for comparisons and messages; empty after a failure.
  std::string RealPath() const;

  const std::string& path() const { return path_; }

 private:
  AllowedDirectory() = default;

  std::string path_;
  // At the start. The identity is empty where the file system gives none.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string identity_;
};

// The path of what is open as `fd`, without links; empty where the kernel does not say.
std::string PathOf(const common::FileDescriptor& fd);

}  // namespace lockstep::worker
