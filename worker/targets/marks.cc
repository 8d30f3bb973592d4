#include "worker/targets/marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace lockstep::worker {

using common::ErrnoStatus;
using common::FileDescriptor;

Guard::Place MarkPlace(Guard::Place place) {
  place.relative += ".lockstep";
  return place;
}

namespace {

std::optional<Mark> ParseMark(const FileDescriptor& fd) {
  std::string text(limits::kMarkBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got =
        pread(fd.get(), text.data() + length, text.size() - length, static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  if (length == 0 || length > static_cast<size_t>(limits::kMarkBytes)) return std::nullopt;
  text.resize(length);
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != "made by lockstep 1") return std::nullopt;
  Mark mark;
  while (std::getline(lines, line)) {
    if (line.rfind("file ", 0) == 0) mark.file = line.substr(5);
    if (line.rfind("filled ", 0) == 0) mark.filled = line.substr(7);
    if (line.rfind("directory ", 0) == 0) mark.directories.push_back(line.substr(10));
  }
  return mark;
}

}  // namespace

std::optional<Mark> ReadMark(const Guard& guard, const Guard::Place& place) {
  auto fd = guard.Open(MarkPlace(place), O_RDONLY | O_NOFOLLOW);
  if (!fd.ok()) return std::nullopt;
  return ParseMark(*fd);
}

absl::Status WriteMark(const Guard& guard, const Guard::Place& place, const Mark& mark) {
  if (place.named) {
    return absl::FailedPreconditionError(absl::StrCat(
        place.path(),
        ": --allow names this file, not its directory, so no file can be laid out there"));
  }
  std::string text = absl::StrCat("made by lockstep 1\nfile ", mark.file, "\n");
  if (!mark.filled.empty()) absl::StrAppend(&text, "filled ", mark.filled, "\n");
  for (const std::string& directory : mark.directories) {
    absl::StrAppend(&text, "directory ", directory, "\n");
  }
  // What is looked at is what is written: another file may take the name at any time.
  auto fd = guard.Open(MarkPlace(place), O_RDWR | O_NOFOLLOW);
  if (fd.ok() && !ParseMark(*fd)) {
    return absl::FailedPreconditionError(
        absl::StrCat(MarkPlace(place).path(),
                     ": exists and is not a mark of Lockstep's; nothing was overwritten"));
  }
  if (absl::IsNotFound(fd.status())) {
    fd = guard.Open(MarkPlace(place), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  }
  if (!fd.ok()) return fd.status();
  if (pwrite(fd->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd->get(), static_cast<off_t>(text.size())) != 0 || fsync(fd->get()) != 0) {
    return ErrnoStatus(errno, MarkPlace(place).path());
  }
  return absl::OkStatus();
}

std::string IdentityOf(const FileDescriptor& fd) {
  struct statx facts;
  if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0 ||
      (facts.stx_mask & STATX_INO) == 0) {
    return "";
  }
  if ((facts.stx_mask & STATX_BTIME) != 0) {
    return absl::StrCat(facts.stx_ino, " born ", facts.stx_btime.tv_sec, ".",
                        facts.stx_btime.tv_nsec);
  }
  struct {
    file_handle handle;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle = {};
  handle.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(fd.get(), "", &handle.handle, &mount, AT_EMPTY_PATH) != 0) return "";
  return absl::StrCat(facts.stx_ino, " handle ", handle.handle.handle_type, ":",
                      absl::BytesToHexString({reinterpret_cast<const char*>(handle.handle.f_handle),
                                              handle.handle.handle_bytes}));
}

bool IsOf(const Mark& mark, const FileDescriptor& fd) {
  const std::string identity = IdentityOf(fd);
  return !identity.empty() && mark.file == identity;
}

absl::Status NoteChanged(const Guard& guard, const Guard::Place& place) {
  auto mark = ReadMark(guard, place);
  if (!mark || mark->filled == "by a workload") return absl::OkStatus();
  mark->filled = "by a workload";
  return WriteMark(guard, place, *mark);
}

absl::Status CheckMadeByLockstep(const Guard& guard, const Guard::Place& place,
                                 const FileDescriptor& fd) {
  const auto mark = ReadMark(guard, place);
  if (mark && IsOf(*mark, fd)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(place.path(),
                   ": exists and was not made by Lockstep; it is not overwritten unless the job's "
                   "`expendable` and the worker's --allow-expendable name it"));
}

}  // namespace lockstep::worker
