#include "worker/targets/targets.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/files.h"
#include "worker/host/places.h"
#include "worker/targets/marks.h"
#include "worker/targets/prepare.h"

namespace lockstep::worker {
namespace {

// The part of the file that begins at `base` within the target, cut to the slice.
void AddExtent(const v1::TargetAssignment& target, uint64_t base, uint64_t size, uint16_t file,
               OpenTargets* open) {
  uint64_t begin = 0;
  uint64_t end = size;
  if (target.slice_length_bytes() != 0) {
    const uint64_t slice_end = target.slice_begin_bytes() + target.slice_length_bytes();
    if (slice_end <= base || target.slice_begin_bytes() >= base + size) return;
    begin = std::max(target.slice_begin_bytes(), base) - base;
    end = std::min(slice_end, base + size) - base;
  }
  open->extents.push_back({file, begin, end});
}

absl::Status CheckWritable(const Guard& guard, const Guard::Place& place,
                           const common::FileDescriptor& fd, const OpenOptions& options) {
  if (guard.IsExpendableFile(fd, options.expendable)) return absl::OkStatus();
  return CheckMadeByLockstep(guard, place, fd);
}

absl::StatusOr<common::FileDescriptor> OpenFile(const Guard& guard, const std::string& path,
                                                int64_t size_bytes, const OpenOptions& options) {
  const auto place = guard.Locate(path);
  if (!place.ok()) return place.status();
  if (options.create) {
    if (absl::Status status = MakeEmptyFile(guard, *place, options.expendable); !status.ok()) {
      return status;
    }
  }
  const int flags =
      (options.write ? O_RDWR : O_RDONLY) | (options.direct ? O_DIRECT : 0) | options.flags;
  auto fd = guard.Open(*place, flags | (options.write ? O_NOFOLLOW : 0));
  if (!fd.ok()) {
    if (absl::IsNotFound(fd.status())) {
      return absl::NotFoundError(
          absl::StrCat(fd.status().message(), "; a prepare phase before this one makes it"));
    }
    if (options.direct && absl::IsInvalidArgument(fd.status())) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": its file system does not support O_DIRECT; set direct: false"));
    }
    return fd.status();
  }
  struct stat facts;
  if (fstat(fd->get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!options.create && facts.st_size < size_bytes) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": has ", facts.st_size,
                                                      " bytes, the job says ", size_bytes,
                                                      "; a prepare phase lays it out"));
  }
  if (options.write) {
    if (absl::Status status = CheckWritable(guard, *place, *fd, options); !status.ok()) {
      return status;
    }
  }
  if (options.write && options.changes_content) {
    if (absl::Status status = NoteChanged(guard, *place); !status.ok()) return status;
  }
  return fd;
}

absl::Status OpenFiles(const Guard& guard, const v1::TargetAssignment& target,
                       const RunIdentity& who, const OpenOptions& options, OpenTargets* open) {
  const v1::FileTarget& file = target.target().file();
  FilePlaces places;
  for (uint32_t i = 0; i < file.count(); ++i) {
    const std::string path = FilePath(file, i, who);
    auto fd = OpenFile(guard, path, file.size_bytes(), options);
    if (!fd.ok()) return fd.status();
    AddExtent(target, uint64_t{i} * file.size_bytes(), file.size_bytes(),
              static_cast<uint16_t>(open->files.size()), open);
    if (options.write) places.AddFile(*fd);
    open->files.push_back(*std::move(fd));
    open->kinds.push_back(EngineFile::Kind::kFile);
    open->in_memory = false;
    open->paths.push_back(path);
    open->sizes.push_back(file.size_bytes());
  }
  open->file_places += places.bytes();
  return absl::OkStatus();
}

absl::Status OpenDevice(const Guard& guard, const v1::TargetAssignment& target,
                        const RunIdentity& who, const OpenOptions& options, OpenTargets* open) {
  const v1::DeviceTarget& device = target.target().device();
  const std::string path = DevicePath(device, who);
  Guard::DeviceUse use;
  use.identity = device.identity();
  use.write = options.write;
  use.expendable = options.expendable;
  use.inspected_identity = target.device_identity();
  use.inspected_sequence = target.disk_sequence();
  use.held_by_peer = target.held_by_peer();
  const int flags =
      (options.write ? O_RDWR : O_RDONLY) | (options.direct ? O_DIRECT : 0) | options.flags;
  auto opened = guard.OpenDevice(path, use, flags, options.holds);
  if (!opened.ok()) return opened.status();
  const v1::BlockDevice* facts = &opened->facts;
  const uint64_t wanted = device.size_bytes();
  if (wanted > facts->size_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", facts->size_bytes(), " bytes, the job says ", wanted));
  }
  AddExtent(target, 0, wanted != 0 ? wanted : facts->size_bytes(),
            static_cast<uint16_t>(open->files.size()), open);
  open->files.push_back(std::move(opened->fd));
  if (options.write) {
    open->places.insert(open->places.end(), opened->places.begin(), opened->places.end());
  }
  const std::string& name = facts->name();
  const bool in_memory =
      name.rfind("zram", 0) == 0 || name.rfind("ram", 0) == 0 || name.rfind("pmem", 0) == 0;
  open->in_memory = in_memory && (open->files.size() == 1 || open->in_memory);
  open->kinds.push_back(EngineFile::Kind::kBlockDevice);
  open->paths.push_back(path);
  open->sizes.push_back(wanted != 0 ? wanted : facts->size_bytes());
  return absl::OkStatus();
}

// No storage: nothing that the guard would have to protect.
absl::Status OpenNull(const v1::TargetAssignment& target, OpenTargets* open) {
  const v1::NullTarget& null = target.target().null();
  common::FileDescriptor fd;
  if (null.device() == v1::NULL_DEVICE_ZERO) {
    fd = common::FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC));
    if (!fd.valid()) return common::ErrnoStatus(errno, "/dev/zero");
  }
  open->kinds.push_back(fd.valid() ? EngineFile::Kind::kFile : EngineFile::Kind::kNothing);
  AddExtent(target, 0, null.size_bytes(), static_cast<uint16_t>(open->files.size()), open);
  open->files.push_back(std::move(fd));
  open->paths.push_back(null.device() == v1::NULL_DEVICE_ZERO
                            ? "/dev/zero"
                            : absl::StrCat("null target ", target.target().name()));
  open->sizes.push_back(null.size_bytes());
  open->null_target = null;
  return absl::OkStatus();
}

}  // namespace

std::string FilePath(const v1::FileTarget& target, uint32_t file, const RunIdentity& who) {
  const bool numbered = target.path().find("{file}") != std::string::npos;
  std::string path =
      absl::StrReplaceAll(target.path(), {{"{host}", who.host},
                                          {"{worker}", absl::StrCat(who.worker_index)},
                                          {"{file}", absl::StrCat(file)}});
  if (!numbered && file != 0) absl::StrAppend(&path, ".", file);
  return path;
}

std::string DevicePath(const v1::DeviceTarget& target, const RunIdentity& who) {
  const auto found = target.path_on_host().find(who.host);
  return found == target.path_on_host().end() ? target.path() : found->second;
}

std::vector<EngineFile> OpenTargets::engine_files() const {
  std::vector<EngineFile> list;
  for (size_t i = 0; i < files.size(); ++i) list.push_back({files[i].get(), kinds[i], sizes[i]});
  return list;
}

absl::StatusOr<OpenTargets> OpenAll(const Guard& guard,
                                    const std::vector<v1::TargetAssignment>& targets,
                                    const RunIdentity& who, const OpenOptions& options) {
  OpenTargets open;
  for (const v1::TargetAssignment& target : targets) {
    const absl::Status status =
        target.target().has_file()   ? OpenFiles(guard, target, who, options, &open)
        : target.target().has_null() ? OpenNull(target, &open)
                                     : OpenDevice(guard, target, who, options, &open);
    if (!status.ok()) return status;
  }
  return open;
}

}  // namespace lockstep::worker
