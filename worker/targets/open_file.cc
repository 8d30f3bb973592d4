// File targets: regular files that a prepare phase lays out.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "measure/target_key.h"
#include "worker/host/block_devices.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/file_identity.h"
#include "worker/host/reopen.h"
#include "worker/targets/empty_file.h"
#include "worker/targets/foreign_files.h"
#include "worker/targets/marks.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {
namespace {

// The source of a copy may be readable for this worker alone. A program that has opened the file
// before would read the copy, whatever its mode becomes.
absl::Status CheckPrivate(const common::FileDescriptor& fd, const std::string& path,
                          bool is_others) {
  if (IsOpenToOthers(fd)) return OpenToOthers(path);
  return is_others ? OwnedByOther(path) : absl::OkStatus();
}

// The target's file with this number, opened as the options say.
absl::StatusOr<OpenedFile> Open(const OpenContext& context, const v1::TargetAssignment& target,
                                uint32_t number, const FilesUnderDevices& under) {
  const Guard& guard = context.guard;
  const OpenOptions& options = context.options;
  const v1::FileTarget& file = target.target().file();
  const std::string path = FilePath(file, number, context.who);
  const FileConsent consent(guard, target, options.expendable);
  const auto allowed = guard.Locate(path);
  if (!allowed.ok()) return allowed.status();
  std::string made;
  if (options.create) {
    auto identity = MakeEmptyFile(guard, *allowed, under, consent, number,
                                  options.owner_only || target.owner_only());
    if (!identity.ok()) return identity.status();
    made = *std::move(identity);
  }
  const int flags =
      (options.write ? O_RDWR : O_RDONLY) | (options.direct ? O_DIRECT : 0) | options.flags;
  // A read may follow a link that stays beneath the allowed directory. A write goes only to the
  // file that has the name itself.
  auto fd = guard.Open(*allowed, flags | (options.write ? O_NOFOLLOW : 0));
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
  if (!options.create && facts.st_size < file.size_bytes()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": has ", facts.st_size,
                                                      " bytes, the job says ", file.size_bytes(),
                                                      "; a prepare phase lays it out"));
  }
  OpenedFile opened;
  if (options.create && IdentityOf(*fd) != made) {
    return absl::AbortedError(
        absl::StrCat(path, ": another file took this name after it was made; it was not touched"));
  }
  if (options.create) {
    opened.is_foreign = !CheckMadeByLockstep(guard, *allowed, *fd).ok();
  } else if (options.write) {
    // The check reads into unaligned memory, which O_DIRECT refuses: it has a descriptor of its
    // own.
    const auto answer = consent.Check(*allowed, number, Reopen(*fd, O_RDONLY));
    if (!answer.ok()) return answer.status();
    opened.is_foreign = answer->is_foreign;
  }
  if (options.write) {
    if (absl::Status status = under.Check(path, fd->get()); !status.ok()) return status;
  }
  if (options.write && options.owner_only) {
    const bool is_others = opened.is_foreign && IsOfAnotherUser(*fd);
    if (absl::Status status = CheckPrivate(*fd, path, is_others); !status.ok()) return status;
  }
  // This comes before the first write. If the worker dies during the load, no prepare may take the
  // file for one that still holds what was laid out.
  if (options.write && options.changes_content) {
    if (absl::Status status = NoteChanged(guard, *allowed); !status.ok()) return status;
  }
  opened.engine_file = {OpenFile{fd->get()}, static_cast<uint64_t>(file.size_bytes())};
  opened.descriptor = *std::move(fd);
  opened.path = path;
  opened.number = number;
  opened.thing = measure::ThingOfFile(target.target(), path, context.who.host);
  return opened;
}

}  // namespace

absl::Status OpenFileTarget(const OpenContext& context, const v1::TargetAssignment& target,
                            OpenTargets* open) {
  const v1::FileTarget& file = target.target().file();
  const auto size = static_cast<uint64_t>(file.size_bytes());
  FileRanges ranges;
  const FilesUnderDevices under;
  for (uint32_t i = 0; i < file.count(); ++i) {
    auto opened = Open(context, target, i, under);
    if (!opened.ok()) return opened.status();
    // Readers of one file do not exclude each other: only what is written counts.
    if (context.options.write) ranges.AddFile(opened->descriptor);
    const absl::Status added = AddOpened(target, i * size, *std::move(opened), open);
    if (!added.ok()) return added;
    open->in_memory = false;
  }
  open->file_ranges += ranges.bytes();
  return absl::OkStatus();
}

}  // namespace lockstep::worker
