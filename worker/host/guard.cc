#include "worker/host/guard.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker/host/block_devices.h"

namespace lockstep::worker {
namespace {

using common::FileDescriptor;

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return !item.empty() && std::find(list.begin(), list.end(), item) != list.end();
}

FileDescriptor OpenBeneath(const std::string& root, const std::string& relative, int flags, int mode) {
  FileDescriptor folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return folder;
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, folder.get(), relative.c_str(), &how, sizeof how)));
}

absl::Status OpenError(int error, const std::string& root, const std::string& path) {
  if (error == EXDEV) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": a link leads out of ", root, ", which is all that --allow permits; nothing was opened"));
  }
  return common::ErrnoStatus(error, path);
}

// What a probe with O_EXCL says: the kernel refuses it for a device that is mounted in any namespace, or held. Other
// workers probe at the same time, so one refusal is not believed.
bool ClaimedByKernel(const std::string& path) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    FileDescriptor fd(open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK));
    if (fd.valid() || errno != EBUSY) return false;
    usleep(10000 + 1000 * (getpid() % 17));
  }
  return true;
}

}  // namespace

absl::StatusOr<Guard> Guard::Make(const std::vector<std::string>& allow,
                                  const std::vector<std::string>& allow_expendable) {
  Guard guard;
  guard.allow_expendable_ = allow_expendable;
  for (std::string entry : allow) {
    while (entry.size() > 1 && entry.back() == '/') entry.pop_back();
    if (entry.empty() || entry[0] != '/') {
      return absl::InvalidArgumentError(absl::StrCat("--allow '", entry, "': not an absolute path"));
    }
    if (entry == "/") {
      return absl::InvalidArgumentError("--allow /: would permit every file and device; name a directory or a device");
    }
    const std::string real = RealPath(entry);
    if (real.empty()) return common::ErrnoStatus(errno, absl::StrCat("--allow ", entry));
    guard.allow_.push_back(entry);
    guard.real_allow_.push_back(real);
  }
  return guard;
}

absl::StatusOr<Guard::Place> Guard::Locate(const std::string& path) const {
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not an absolute path"));
  }
  for (const auto& part : absl::StrSplit(path, '/')) {
    if (part == "..") {
      return absl::PermissionDeniedError(absl::StrCat(path, ": a path with '..' is refused; write where it leads"));
    }
  }
  for (size_t i = 0; i < allow_.size(); ++i) {
    for (const std::string& root : {allow_[i], real_allow_[i]}) {
      if (path.rfind(root + "/", 0) == 0) return Place{real_allow_[i], path.substr(root.size() + 1), false};
      if (path == root) {
        const size_t slash = real_allow_[i].rfind('/');
        return Place{real_allow_[i].substr(0, slash), real_allow_[i].substr(slash + 1), true};
      }
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(path, ": outside of what this worker's --allow permits (",
                                                  allow_.empty() ? "nothing" : absl::StrJoin(allow_, ", "), ")"));
}

absl::StatusOr<FileDescriptor> Guard::Open(const Place& place, int flags, int mode) const {
  FileDescriptor fd = OpenBeneath(place.root, place.relative, flags, mode);
  if (!fd.valid()) return OpenError(errno, place.root, place.path());
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, place.path());
  if (!S_ISREG(facts.st_mode) && (flags & (O_PATH | O_DIRECTORY)) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(place.path(), ": not a regular file; a device is a `device` target"));
  }
  return fd;
}

absl::StatusOr<common::FileDescriptor> Guard::OpenNearest(Place place) const {
  while (true) {
    const size_t slash = place.relative.rfind('/');
    place.relative = slash == std::string::npos ? "." : place.relative.substr(0, slash);
    auto fd = Open(place, O_PATH | O_DIRECTORY);
    if (fd.ok() || !absl::IsNotFound(fd.status()) || place.relative == ".") return fd;
  }
}

absl::StatusOr<std::vector<std::string>> Guard::MakeParents(const Place& place) const {
  std::vector<std::string> made;
  for (size_t slash = place.relative.find('/'); slash != std::string::npos; slash = place.relative.find('/', slash + 1)) {
    const std::string part = place.relative.substr(0, slash);
    const size_t last = part.rfind('/');
    // The parent is opened beneath the root, so that a link cannot lead the new directory out of it.
    const std::string parent = last == std::string::npos ? "." : part.substr(0, last);
    FileDescriptor folder = OpenBeneath(place.root, parent, O_PATH | O_DIRECTORY, 0);
    if (!folder.valid()) return OpenError(errno, place.root, place.root + "/" + parent);
    const std::string name = last == std::string::npos ? part : part.substr(last + 1);
    if (mkdirat(folder.get(), name.c_str(), 0777) == 0) {
      made.push_back(place.root + "/" + part);
    } else if (errno != EEXIST) {
      return common::ErrnoStatus(errno, place.root + "/" + part);
    }
  }
  return made;
}

absl::Status Guard::Remove(const Place& place) const {
  const size_t last = place.relative.rfind('/');
  const std::string parent = last == std::string::npos ? "." : place.relative.substr(0, last);
  FileDescriptor folder = OpenBeneath(place.root, parent, O_PATH | O_DIRECTORY, 0);
  if (!folder.valid()) return OpenError(errno, place.root, place.path());
  const std::string name = last == std::string::npos ? place.relative : place.relative.substr(last + 1);
  if (unlinkat(folder.get(), name.c_str(), 0) != 0) return common::ErrnoStatus(errno, place.path());
  return absl::OkStatus();
}

void Guard::RemoveDirectoryIfEmpty(const std::string& path) const {
  const auto place = Locate(path);
  if (!place.ok()) return;
  const size_t last = place->relative.rfind('/');
  FileDescriptor folder = OpenBeneath(place->root, last == std::string::npos ? "." : place->relative.substr(0, last),
                                      O_PATH | O_DIRECTORY, 0);
  const std::string name = last == std::string::npos ? place->relative : place->relative.substr(last + 1);
  if (folder.valid()) unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR);
}

absl::StatusOr<v1::BlockDevice> Guard::CheckDevice(const std::string& path, const std::string& identity, bool write,
                                                   const std::vector<std::string>& expendable) const {
  const std::string real = RealPath(path);
  if (real.empty()) return common::ErrnoStatus(errno, path);
  const bool allowed = std::any_of(real_allow_.begin(), real_allow_.end(), [&](const std::string& entry) {
    return real == entry || real.rfind(entry + "/", 0) == 0;
  });
  if (!allowed) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": outside of what this worker's --allow permits (",
                                                    allow_.empty() ? "nothing" : absl::StrJoin(allow_, ", "), ")"));
  }
  struct stat facts;
  if (stat(real.c_str(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISBLK(facts.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": not a block device; files are `file` targets"));
  }
  auto device = DescribeBlockDevice(facts.st_rdev);
  if (!device.ok()) return device.status();
  if (device->size_bytes() == 0) return absl::FailedPreconditionError(absl::StrCat(path, ": the device has no size"));
  if (!identity.empty() && identity != device->identity()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": its identity is '", device->identity(), "', the job requires '", identity, "'"));
  }
  if (!write) return device;
  if (device->read_only()) return absl::FailedPreconditionError(absl::StrCat(path, ": the device is read-only"));
  const std::string use = UseOf(device->name());
  if (!use.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", use, "; a device in use is never written"));
  }
  if (ClaimedByKernel(real)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the kernel says it is in use (mounted in another namespace, or held); never written"));
  }
  const auto signature = SignatureOf(real);
  if (!signature.ok()) return signature.status();
  if (signature->empty()) return device;
  const std::string& id = device->identity();
  if (id.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": carries ", *signature, " and has no identity by which to declare it expendable"));
  }
  if (!IsExpendable(id, expendable)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": carries ", *signature, "; to overwrite it, name '", id, "' under the job's `expendable`",
        Contains(expendable, id) ? " (done)" : "", " and in the worker's --allow-expendable",
        Contains(allow_expendable_, id) ? " (done)" : ""));
  }
  return device;
}

bool Guard::IsExpendable(const std::string& name, const std::vector<std::string>& by_job) const {
  return Contains(by_job, name) && Contains(allow_expendable_, name);
}

absl::StatusOr<FileDescriptor> Guard::OpenDevice(const std::string& path, const std::string& identity, bool write,
                                                 const std::vector<std::string>& expendable, int flags) const {
  const auto device = CheckDevice(path, identity, write, expendable);
  if (!device.ok()) return device.status();
  FileDescriptor fd(open(device->path().c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return common::ErrnoStatus(errno, path);
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  const auto opened = DescribeBlockDevice(S_ISBLK(facts.st_mode) ? facts.st_rdev : 0);
  if (!opened.ok() || opened->name() != device->name() || opened->identity() != device->identity()) {
    return absl::AbortedError(absl::StrCat(path, ": another device appeared there while it was opened"));
  }
  return fd;
}

}  // namespace lockstep::worker
