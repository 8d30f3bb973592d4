#include "common/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/users.h"

namespace lockstep::common {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", ErrnoText(error));
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case EINVAL:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

// close(2) is not repeated after EINTR: Linux has released the descriptor by then, and another
// thread may have its number.
FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

namespace {

absl::StatusOr<std::string> ReadToEnd(const FileDescriptor& fd, const std::string& path,
                                      size_t max_bytes) {
  // fstat(2) says 0 bytes of a file in /proc, and a page of one in /sys: the file is read to its
  // end.
  std::string content;
  char chunk[16384];
  while (true) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) return content;
    content.append(chunk, got);
    if (content.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": has more than ", max_bytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return ReadToEnd(fd, path, max_bytes);
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, size_t max_bytes) {
  // Without O_NONBLOCK, open(2) of a FIFO would wait for a writer. The kind is checked on the
  // descriptor that is read: the name may lead to another file by the next call.
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat facts;
  // ENXIO: a socket, or a device without a driver.
  if (!fd.valid() && errno == ENXIO) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  if (!fd.valid() || fstat(fd.get(), &facts) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  return ReadToEnd(fd, path, max_bytes);
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& content) {
  // Two processes that write one file at once must not write into each other's.
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".new");
  // Some of these files hold keys (worker/host/mark_keys.cc), so that no other user may read them,
  // not even while they are written.
  FileDescriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, temporary);
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t put = write(fd.get(), content.data() + written, content.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      unlink(temporary.c_str());
      return ErrnoStatus(error, temporary);
    }
    written += put;
  }
  // The content is on disk before the name leads to it. Otherwise a power loss could leave an empty
  // file under the name. The directory is not synced: after a power loss the old file may be there
  // again, but it is whole.
  if (fsync(fd.get()) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return ErrnoStatus(error, path);
  }
  return absl::OkStatus();
}

std::string ReadTrimmed(const std::string& path) {
  const auto content = ReadFile(path);
  if (!content.ok()) return "";
  const auto begin = content->find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return content->substr(begin, content->find_last_not_of(" \t\n") - begin + 1);
}

absl::Status MakeDirectories(const std::string& path, int mode) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return ErrnoStatus(errno, part);
    if (slash == std::string::npos) break;
  }
  // mkdir(2) also says EEXIST of something that is no directory.
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(facts.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": exists and is not a directory"));
  }
  return absl::OkStatus();
}

absl::Status CheckNobodyElses(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, path);
  }
  const bool is_own = facts.st_uid == geteuid();
  // In a sticky directory others can add names, and not replace ours (unlink(2)).
  const bool is_sticky = (facts.st_mode & S_ISVTX) != 0;
  // A user may need a group to write to a directory of root's, such as a volume of a pod.
  const bool is_others_group = (is_own || geteuid() == 0) && (facts.st_mode & S_IWGRP) != 0 &&
                               facts.st_gid != 0 && !IsOwnGroup(facts.st_uid, facts.st_gid);
  std::string others;
  if (facts.st_uid != 0 && !is_own) {
    others = absl::StrCat("belongs to user ", facts.st_uid);
  } else if (!is_sticky && (facts.st_mode & S_IWOTH) != 0) {
    others = "everybody may write to it";
  } else if (!is_sticky && is_others_group) {
    others = absl::StrCat("the members of group ", facts.st_gid, " may write to it");
  }
  if (others.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": ", others,
      ", who could replace what is kept there; use another directory, or change its owner and "
      "mode"));
}

absl::Status MakePrivateDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    if (absl::Status made = MakeDirectories(path.substr(0, slash), 0755); !made.ok()) return made;
  }
  if (absl::Status made = MakeDirectories(path, 0700); !made.ok()) return made;
  // The mode is read and changed through one descriptor: both are of the same directory, whatever
  // the path leads to by then.
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0) return ErrnoStatus(errno, path);
  if (absl::Status owner = CheckNobodyElses(path); !owner.ok()) return owner;
  // A directory of root's that another user uses keeps its mode: only its owner may change it
  // (chmod(2)).
  if (facts.st_uid == geteuid() && (facts.st_mode & 0077) != 0 && fchmod(fd.get(), 0700) != 0) {
    return ErrnoStatus(errno, path);
  }
  return absl::OkStatus();
}

std::string AbsolutePath(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  // Without a working directory there is nothing better than what was given.
  if (error) return path;
  // The target of ".." depends on links, so ".." stays.
  const bool has_up = path.find("..") != std::string::npos;
  std::string text = has_up ? absolute.string() : absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string DefaultStateDirectory() {
  if (const char* named = getenv("LOCKSTEP_STATE_DIR")) return named;
  if (geteuid() == 0) return "/var/lib/lockstep";
  if (const char* xdg = getenv("XDG_STATE_HOME")) return absl::StrCat(xdg, "/lockstep");
  const char* home = getenv("HOME");
  return absl::StrCat(home != nullptr ? home : "/tmp", "/.local/state/lockstep");
}

}  // namespace lockstep::common
