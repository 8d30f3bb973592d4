#include "worker/targets/empty_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "worker/host/file_identity.h"
#include "worker/targets/marks.h"

namespace lockstep::worker {

using common::ErrnoStatus;
using common::FileDescriptor;

bool SameInode(const FileDescriptor& a, const FileDescriptor& b) {
  struct stat one;
  struct stat other;
  return fstat(a.get(), &one) == 0 && fstat(b.get(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

bool IsOpenToOthers(const FileDescriptor& file) {
  constexpr mode_t kOthers = 077;
  struct stat facts;
  return fstat(file.get(), &facts) != 0 || (facts.st_mode & kOthers) != 0;
}

bool IsOfAnotherUser(const FileDescriptor& file) {
  struct stat facts;
  return fstat(file.get(), &facts) != 0 || facts.st_uid != geteuid();
}

absl::Status OwnedByOther(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": a copy is for the worker's user alone, and this file belongs to another "
                   "user; chown it to the worker's user, or remove it"));
}

absl::StatusOr<FileDescriptor> ReplaceByOwnerOnly(const Guard& guard,
                                                  const Guard::AllowedPath& allowed,
                                                  const FileDescriptor& file) {
  const auto removed =
      guard.RemoveIf(allowed, [&](const FileDescriptor& found) { return SameInode(found, file); });
  if (!removed.ok()) return removed.status();
  return guard.Open(allowed, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, kOwnerOnlyMode);
}

absl::Status WithoutIdentity(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": its file system gives files neither a birth time nor a handle, so that "
                   "Lockstep could not know its own again; use another one"));
}

absl::Status OpenToOthers(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(
      path,
      ": a copy is for its owner alone, and other users may open this file, or have it open "
      "already; let a prepare phase of the job lay it out, or remove it, or chmod 0600 it while "
      "nobody has it open"));
}

absl::StatusOr<std::string> MakeEmptyFile(const Guard& guard, const Guard::AllowedPath& allowed,
                                          const FilesUnderDevices& under,
                                          const FileConsent& consent, uint32_t number,
                                          bool owner_only) {
  auto fd = guard.Open(allowed, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd.ok()) {
    if (absl::Status used = under.Check(allowed.path(), fd->get()); !used.ok()) return used;
    const auto answer = consent.Check(allowed, number, *fd);
    if (!answer.ok()) return answer.status();
    if (owner_only && IsOpenToOthers(*fd)) {
      if (answer->is_foreign) return OpenToOthers(allowed.path());
      fd = ReplaceByOwnerOnly(guard, allowed, *fd);
      if (!fd.ok()) return fd.status();
    }
    // Before its content goes: the copy would be refused later, when the file is opened.
    if (owner_only && answer->is_foreign && IsOfAnotherUser(*fd)) {
      return OwnedByOther(allowed.path());
    }
    // A crash between this and the new mark is harmless: a prepare reuses a file only where its
    // size fits as well.
    if (ftruncate(fd->get(), 0) != 0) return ErrnoStatus(errno, allowed.path());
    // A foreign file gets no mark, which would let a cleanup remove it.
    if (answer->is_foreign) return IdentityOf(*fd);
    auto mark = ReadMark(guard, allowed);
    if (!mark.ok()) return mark.status();
    mark->file = IdentityOf(*fd);
    mark->filled = kFilledByWorkload;
    if (absl::Status status = WriteMark(guard, allowed, *mark); !status.ok()) return status;
    return IdentityOf(*fd);
  }
  if (!absl::IsNotFound(fd.status())) return fd.status();
  auto directories = guard.MakeParents(allowed);
  if (!directories.ok()) return directories.status();
  auto made = guard.Open(allowed, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                         owner_only ? kOwnerOnlyMode : 0666);
  if (!made.ok()) return made.status();
  const std::string identity = IdentityOf(*made);
  if (identity.empty()) {
    // Without an identity, only device and inode number are left to compare. They name one file as
    // long as the descriptor is open.
    (void)guard.RemoveIf(allowed,
                         [&](const FileDescriptor& found) { return SameInode(found, *made); });
    return WithoutIdentity(allowed.path());
  }
  const Mark mark = {identity, kFilledByWorkload, *directories};
  if (absl::Status status = WriteMark(guard, allowed, mark); !status.ok()) return status;
  return identity;
}

}  // namespace lockstep::worker
