#include "worker/host/guard.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/ids.h"
#include "common/limits.h"
#include "worker/host/allowed_directory.h"
#include "worker/host/block_devices.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/file_identity.h"
#include "worker/host/reopen.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {
using common::FileDescriptor;

namespace {

absl::Status OpenError(int error, const std::string& root, const std::string& path) {
  if (error == EXDEV) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": a link leads out of ", root,
                     ", which is all that --allow permits; nothing was opened"));
  }
  if (error == ELOOP) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": a link; name the file itself"));
  }
  return common::ErrnoStatus(error, path);
}

// `relative` beneath the path's allowed directory, as that is now.
absl::StatusOr<FileDescriptor> OpenBeneath(const Guard::AllowedPath& allowed,
                                           const std::string& relative, int flags, int mode) {
  const auto folder = allowed.directory->Open();
  if (!folder.ok()) return folder.status();
  // The kernel resolves the whole path in one call. Between a check of the path and an open(2),
  // somebody could put a link in place of a directory.
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  // openat2(2) refuses a mode without O_CREAT (EINVAL).
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  // RESOLVE_BENEATH refuses magic links, too, but openat2(2) says that this may change.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  FileDescriptor fd(
      static_cast<int>(syscall(SYS_openat2, folder->get(), relative.c_str(), &how, sizeof how)));
  if (!fd.valid()) return OpenError(errno, allowed.root, absl::StrCat(allowed.root, "/", relative));
  return fd;
}

std::string ParentOf(const std::string& relative) {
  const size_t slash = relative.rfind('/');
  return slash == std::string::npos ? "." : relative.substr(0, slash);
}

std::string NameOf(const std::string& relative) {
  const size_t slash = relative.rfind('/');
  return slash == std::string::npos ? relative : relative.substr(slash + 1);
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device; it is a `device` target";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "no regular file";
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// the allow-list

// Takes down what an entry that is a path leads to: a device, a directory, or a file in one.
absl::Status Guard::ResolvePath(Entry* entry) {
  const std::string& text = entry->text;
  const std::string real = RealPath(text);
  if (real.empty()) return common::ErrnoStatus(errno, absl::StrCat("--allow ", text));
  if (real == "/") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--allow ", text, ": would permit every file and device; name a directory or a device"));
  }
  entry->real_path = real;
  struct stat facts;
  if (stat(real.c_str(), &facts) != 0) {
    return common::ErrnoStatus(errno, absl::StrCat("--allow ", text));
  }
  if (S_ISBLK(facts.st_mode)) {
    // To know which device it is, a loop device must be asked itself; one that does not answer
    // must not keep the worker from starting.
    auto device = std::make_shared<absl::StatusOr<v1::BlockDevice>>(absl::UnknownError(""));
    const absl::Status answered =
        WithinLimit(real, limits::kProbeNs, [real, number = facts.st_rdev, device] {
          const FileDescriptor fd(open(real.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
          *device = DescribeBlockDevice(number, fd.get());
          return device->status();
        });
    if (!answered.ok()) {
      return absl::Status(answered.code(),
                          absl::StrCat("--allow ", text, ": ", std::string(answered.message())));
    }
    entry->is_device = true;
    entry->identity = (*device)->identity();
    entry->disk_sequence = (*device)->disk_sequence();
  } else {
    const size_t slash = real.rfind('/');
    if (!S_ISDIR(facts.st_mode)) entry->file = real.substr(slash + 1);
    auto directory = AllowedDirectory::Make(S_ISDIR(facts.st_mode) ? text : real.substr(0, slash));
    if (!directory.ok()) {
      return absl::Status(directory.status().code(),
                          absl::StrCat("--allow ", std::string(directory.status().message())));
    }
    entry->directory = *std::move(directory);
  }
  return absl::OkStatus();
}

absl::StatusOr<Guard> Guard::Make(const std::vector<std::string>& allow,
                                  const std::vector<std::string>& allow_expendable,
                                  std::shared_ptr<Luns> luns, std::shared_ptr<MarkKeys> keys) {
  Guard guard;
  guard.allow_expendable_ = allow_expendable;
  guard.luns_ = std::move(luns);
  guard.keys_ = keys != nullptr ? std::move(keys) : MarkKeys::Temporary();
  for (std::string text : allow) {
    // Locate() appends a slash of its own. With two of them, no path would match the entry.
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    if (text.empty()) return absl::InvalidArgumentError("--allow '': names nothing");
    Entry entry;
    entry.text = text;
    if (text.rfind(common::kIscsiScheme, 0) == 0) {
      // A target's address parses only with a LUN. Without one, it permits all LUNs of the target.
      const bool all = common::ParseIscsiUrl(text + "/0").ok();
      const auto url = common::ParseIscsiUrl(all ? text + "/0" : text);
      if (!url.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--allow ", std::string(url.status().message())));
      }
      entry.is_lun = true;
      entry.text = all ? url->target_text() : url->text();
    } else if (text[0] != '/') {
      if (text.find('/') != std::string::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("--allow '", text,
                         "': neither an absolute path nor a device's identity (lockstep devices)"));
      }
      entry.by_identity = true;
    } else {
      if (absl::Status status = ResolvePath(&entry); !status.ok()) return status;
    }
    guard.allow_.push_back(text);
    guard.entries_.push_back(std::move(entry));
  }
  return guard;
}

std::vector<Guard::Named> Guard::Names() const {
  std::vector<Named> names;
  for (const Entry& entry : entries_) {
    const Named::Kind kind = entry.is_lun        ? Named::Kind::kLun
                             : entry.by_identity ? Named::Kind::kIdentity
                             : entry.is_device   ? Named::Kind::kDevice
                                                 : Named::Kind::kPath;
    names.push_back({entry.text, kind, entry.identity, entry.disk_sequence, entry.real_path});
  }
  return names;
}

absl::Status Guard::NotAllowed(const std::string& path) const {
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": outside of what this worker's --allow permits (",
                   allow_.empty() ? "nothing" : absl::StrJoin(allow_, ", "),
                   "); if jobs may use it, start the worker with --allow for it, too"));
}

absl::StatusOr<Guard::AllowedPath> Guard::Locate(const std::string& path) const {
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not an absolute path"));
  }
  // The allow-list is compared as text: /data/../etc begins like a path beneath /data.
  for (const auto& part : absl::StrSplit(path, '/')) {
    if (part == "..") {
      return absl::PermissionDeniedError(
          absl::StrCat(path, ": a path with '..' is refused; write where it leads"));
    }
  }
  // An entry that leads elsewhere now does not end the search: a later one may cover the path. The
  // caller hears of it only where none does.
  absl::Status replaced;
  for (const Entry& entry : entries_) {
    if (entry.directory == nullptr) continue;
    const auto fd = entry.directory->Open();
    const std::string real = fd.ok() ? PathOf(*fd) : "";
    // A job may name the directory as --allow does, or by its path without links.
    for (const std::string& root : {entry.text, real}) {
      if (root.empty() || root == "/") continue;
      const bool beneath = path.rfind(root + "/", 0) == 0;
      if (beneath && absl::IsPermissionDenied(fd.status())) replaced = fd.status();
      // ResolvePath() refuses / when the worker starts. A link that leads there since then must not
      // permit every file of the host.
      if (!fd.ok() || real == "/") continue;
      if (beneath && entry.file.empty()) {
        return AllowedPath{entry.directory, real, path.substr(root.size() + 1), false};
      }
      const std::string file = absl::StrCat(real, "/", entry.file);
      if (!entry.file.empty() && (path == entry.text || path == file)) {
        return AllowedPath{entry.directory, real, entry.file, true};
      }
    }
  }
  if (!replaced.ok()) return replaced;
  return NotAllowed(path);
}

// -------------------------------------------------------------------------------------------------
// files

absl::StatusOr<FileDescriptor> Guard::Open(const AllowedPath& allowed, int flags, int mode) const {
  if ((flags & O_CREAT) != 0) {
    // With O_EXCL open(2) also refuses a link at the end of the path, which could lead to a file of
    // somebody else's.
    return OpenBeneath(allowed, allowed.relative, flags | O_EXCL, mode);
  }
  const bool only_look = (flags & O_PATH) != 0;
  // O_PATH opens nothing: open(2) of a FIFO blocks, and of a tape or a watchdog has effects.
  auto probe =
      OpenBeneath(allowed, allowed.relative, O_PATH | (flags & (O_NOFOLLOW | O_DIRECTORY)), 0);
  if (!probe.ok()) return probe;
  struct stat facts;
  if (fstat(probe->get(), &facts) != 0) return common::ErrnoStatus(errno, allowed.path());
  // With O_PATH, O_NOFOLLOW gives a descriptor of the link itself instead of ELOOP (open(2)).
  if (S_ISLNK(facts.st_mode)) return OpenError(ELOOP, allowed.root, allowed.path());
  if (only_look && (flags & O_DIRECTORY) != 0) return probe;
  if (!S_ISREG(facts.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        allowed.path(), ": not a regular file but ", KindOf(facts.st_mode), "; it was not opened"));
  }
  if (only_look) return probe;
  // The name in /proc/self/fd is a link, which O_NOFOLLOW would refuse.
  FileDescriptor fd = Reopen(*probe, flags & ~O_NOFOLLOW);
  if (!fd.valid()) return OpenError(errno, allowed.root, allowed.path());
  return fd;
}

absl::StatusOr<common::FileDescriptor> Guard::OpenNearest(AllowedPath allowed,
                                                          std::string* rest) const {
  std::string below;
  while (true) {
    below = below.empty() ? NameOf(allowed.relative)
                          : absl::StrCat(NameOf(allowed.relative), "/", below);
    allowed.relative = ParentOf(allowed.relative);
    auto fd = Open(allowed, O_PATH | O_DIRECTORY);
    if (fd.ok() && rest != nullptr) *rest = below;
    // Only a directory that is missing is looked for further up. A link that leads out, or a
    // directory that may not be searched, stays an error.
    if (fd.ok() || !absl::IsNotFound(fd.status()) || allowed.relative == ".") return fd;
  }
}

absl::StatusOr<std::vector<Guard::MadeDirectory>> Guard::MakeParents(
    const AllowedPath& allowed) const {
  std::vector<MadeDirectory> made;
  for (size_t slash = allowed.relative.find('/'); slash != std::string::npos;
       slash = allowed.relative.find('/', slash + 1)) {
    const std::string part = allowed.relative.substr(0, slash);
    const std::string path = absl::StrCat(allowed.root, "/", part);
    // The parent is opened beneath the root, so that a link cannot lead the new directory out of
    // it.
    const auto folder = OpenBeneath(allowed, ParentOf(part), O_PATH | O_DIRECTORY, 0);
    if (!folder.ok()) return folder.status();
    const std::string name = NameOf(part);
    if (mkdirat(folder->get(), name.c_str(), 0777) != 0) {
      // The directory may exist, or another worker of the job makes it at this moment. Only the
      // worker that made it records it in a mark.
      if (errno != EEXIST) return common::ErrnoStatus(errno, path);
      continue;
    }
    const FileDescriptor directory(
        openat(folder->get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // Somebody may have moved the directory away by now. Without an identity, cleanup leaves it
    // where it is.
    made.push_back({path, directory.valid() ? IdentityOf(directory) : ""});
  }
  return made;
}

absl::StatusOr<bool> Guard::RemoveIf(
    const AllowedPath& allowed, const std::function<bool(const FileDescriptor&)>& is_it) const {
  const auto opened = OpenBeneath(allowed, ParentOf(allowed.relative), O_PATH | O_DIRECTORY, 0);
  if (!opened.ok()) return opened.status();
  const FileDescriptor& folder = *opened;
  const std::string name = NameOf(allowed.relative);
  // unlinkat(2) takes a name, not a descriptor. Under a name that nobody else knows, the file that
  // is checked is the one that is removed.
  const std::string aside = absl::StrCat(".lockstep-removing-", common::NewUuid());
  if (renameat2(folder.get(), name.c_str(), folder.get(), aside.c_str(), RENAME_NOREPLACE) != 0) {
    // NFS and FUSE may lack RENAME_NOREPLACE. Nobody else uses the name to which the file is moved.
    if (errno != EINVAL && errno != ENOSYS) return common::ErrnoStatus(errno, allowed.path());
    if (renameat(folder.get(), name.c_str(), folder.get(), aside.c_str()) != 0) {
      return common::ErrnoStatus(errno, allowed.path());
    }
  }
  FileDescriptor probe(openat(folder.get(), aside.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (probe.valid() && is_it(probe)) {
    if (unlinkat(folder.get(), aside.c_str(), 0) != 0) {
      return common::ErrnoStatus(errno, allowed.path());
    }
    return true;
  }
  // The file gets its name back unless somebody has taken it by then. linkat(2) replaces nothing on
  // any file system.
  const bool back =
      renameat2(folder.get(), aside.c_str(), folder.get(), name.c_str(), RENAME_NOREPLACE) == 0 ||
      (linkat(folder.get(), aside.c_str(), folder.get(), name.c_str(), 0) == 0 &&
       unlinkat(folder.get(), aside.c_str(), 0) == 0);
  if (!back) {
    return absl::AbortedError(absl::StrCat(allowed.path(),
                                           ": a file that is not Lockstep's was moved aside and "
                                           "its name was taken during that time; it is kept as ",
                                           aside, " beside it"));
  }
  return false;
}

void Guard::RemoveDirectoryIfEmpty(const MadeDirectory& made) const {
  const auto allowed = Locate(made.path);
  if (!allowed.ok() || allowed->named || made.identity.empty()) return;
  const auto folder = OpenBeneath(*allowed, ParentOf(allowed->relative), O_PATH | O_DIRECTORY, 0);
  if (!folder.ok()) return;
  const std::string name = NameOf(allowed->relative);
  // A link on the way may lead to another directory of that name by now. Somebody who can replace
  // the directory between this look and its removal may write to the directory above, and could
  // have removed it.
  const FileDescriptor directory(
      openat(folder->get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid() && IdentityOf(directory) == made.identity) {
    unlinkat(folder->get(), name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace lockstep::worker
