#include "worker/host/allowed_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker/host/file_identity.h"

namespace lockstep::worker {

using common::FileDescriptor;

namespace {

// The kernel gives up after so many links, too (path_resolution(7), ELOOP).
constexpr int kMaxLinks = 40;

bool IsOurs(uid_t owner) { return owner == 0 || owner == geteuid(); }

// Whether this kernel vouches for the owners and modes that the file system shows. On FUSE and on
// network file systems a server does, which may be any user's.
bool IsLocal(int fd) {
  // FUSE, NFS, SMB 1 and 2, CIFS, 9p, AFS, Ceph and Coda (linux/magic.h).
  constexpr int64_t kServed[] = {0x65735546, 0x6969,     0x517b,     0xfe534d42, 0xff534d42,
                                 0x01021997, 0x5346414f, 0x00c36400, 0x73757245};
  struct statfs facts;
  return fstatfs(fd, &facts) == 0 &&
         std::find(std::begin(kServed), std::end(kServed), facts.f_type) == std::end(kServed);
}

// Whether only root and this worker's user decide what the name of an entry of `directory`, which
// is open as `fd`, leads to. The group's bits include what an ACL grants (acl(5)).
bool IsNameSafe(int fd, const struct stat& directory, const struct stat& entry) {
  if (!IsLocal(fd) || !IsOurs(directory.st_uid)) return false;
  if ((directory.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
  // In a sticky directory others may add names, and not take away those of ours.
  return (directory.st_mode & S_ISVTX) != 0 && IsOurs(entry.st_uid) && S_ISDIR(entry.st_mode);
}

// Walks to a directory as the kernel does, and takes down whether each step is safe.
struct Walk {
  FileDescriptor at;
  bool is_safe = true;
};

std::deque<std::string> PartsOf(const std::string& path) {
  std::deque<std::string> parts;
  for (const auto& part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part != ".") parts.emplace_back(part);
  }
  return parts;
}

absl::StatusOr<Walk> WalkTo(const std::string& path) {
  Walk walk;
  walk.at = FileDescriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::deque<std::string> parts = PartsOf(path);
  for (int links = 0; !parts.empty();) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    FileDescriptor next(openat(walk.at.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat above;
    struct stat facts;
    if (!next.valid() || fstat(walk.at.get(), &above) != 0 || fstat(next.get(), &facts) != 0) {
      return common::ErrnoStatus(errno, path);
    }
    walk.is_safe = walk.is_safe && IsNameSafe(walk.at.get(), above, facts);
    if (!S_ISLNK(facts.st_mode)) {
      walk.at = std::move(next);
      continue;
    }
    char target[PATH_MAX] = {};
    if (++links > kMaxLinks) return common::ErrnoStatus(ELOOP, path);
    // With an empty path the link is the one that was checked (readlink(2)). By its name it may be
    // another one by now.
    if (readlinkat(next.get(), "", target, sizeof target - 1) < 0) {
      return common::ErrnoStatus(errno, path);
    }
    if (target[0] == '/') {
      walk.at = FileDescriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    std::deque<std::string> led = PartsOf(target);
    led.insert(led.end(), parts.begin(), parts.end());
    parts = std::move(led);
  }
  struct stat facts;
  if (fstat(walk.at.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISDIR(facts.st_mode)) return common::ErrnoStatus(ENOTDIR, path);
  return walk;
}

}  // namespace

std::string PathOf(const FileDescriptor& fd) {
  char path[PATH_MAX] = {};
  const std::string link = absl::StrCat("/proc/self/fd/", fd.get());
  return readlink(link.c_str(), path, sizeof path - 1) > 0 ? path : "";
}

absl::StatusOr<std::shared_ptr<const AllowedDirectory>> AllowedDirectory::Make(
    const std::string& path) {
  const auto walk = WalkTo(path);
  if (!walk.ok()) return walk.status();
  struct stat facts;
  if (fstat(walk->at.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  std::shared_ptr<AllowedDirectory> made(new AllowedDirectory());
  made->path_ = path;
  made->device_ = facts.st_dev;
  made->inode_ = facts.st_ino;
  made->identity_ = IdentityOf(walk->at);
  return std::shared_ptr<const AllowedDirectory>(std::move(made));
}

absl::StatusOr<FileDescriptor> AllowedDirectory::Open() const {
  auto walk = WalkTo(path_);
  if (!walk.ok()) return walk.status();
  if (walk->is_safe) return std::move(walk->at);
  // No descriptor is kept of the directory at the start, which would keep its file system from
  // being unmounted: its identity says whether an inode number is used again.
  struct stat facts;
  if (fstat(walk->at.get(), &facts) != 0) return common::ErrnoStatus(errno, path_);
  if (facts.st_dev == device_ && facts.st_ino == inode_ && IdentityOf(walk->at) == identity_) {
    return std::move(walk->at);
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path_, ": now leads to ", PathOf(walk->at),
                   ", another directory than when this worker started, and a user other than root "
                   "could have put it there; nothing beneath it is opened. Restart the worker if "
                   "that is meant"));
}

std::string AllowedDirectory::RealPath() const {
  const auto fd = Open();
  return fd.ok() ? PathOf(*fd) : "";
}

}  // namespace lockstep::worker
