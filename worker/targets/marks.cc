#include "worker/targets/marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "worker/host/signed_text.h"

namespace lockstep::worker {

using common::ErrnoStatus;
using common::FileDescriptor;

Guard::AllowedPath MarkPath(Guard::AllowedPath allowed) {
  allowed.relative += ".lockstep";
  return allowed;
}

namespace {

constexpr char kFirstLine[] = "made by lockstep 2\n";
// Marks of version 1 had no signature.
constexpr char kUnsigned[] = "made by lockstep 1\n";

// The whole file; empty when it is too large for a mark, or cannot be read.
std::string ReadAll(const FileDescriptor& fd) {
  // One byte more than the limit tells a file that is too large from one that just fits.
  std::string text(limits::kMarkBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got =
        pread(fd.get(), text.data() + length, text.size() - length, static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > static_cast<size_t>(limits::kMarkBytes)) return "";
  text.resize(length);
  return text;
}

// Version 1 counts here, too: --adopt replaces such a mark, and must not take it for somebody's
// file.
bool IsMarkFormat(const std::string& text) {
  return text.rfind(kFirstLine, 0) == 0 || text.rfind(kUnsigned, 0) == 0;
}

absl::StatusOr<Mark> ParseMark(const std::string& text, const MarkKeys& keys) {
  if (text.rfind(kUnsigned, 0) == 0) {
    return absl::FailedPreconditionError(
        "its mark is of an earlier version, which anybody could write");
  }
  if (!IsMarkFormat(text)) return absl::NotFoundError("no mark");
  const SignedText read = ReadSigned(text, keys);
  switch (read.trust) {
    case MarkKeys::Trust::kForged:
      return absl::FailedPreconditionError(
          "its mark was not signed by the worker that it names, or was altered");
    case MarkKeys::Trust::kUnknownStore:
      return absl::FailedPreconditionError(
          "its mark was signed by a worker that this controller's store does not know");
    case MarkKeys::Trust::kTrusted:
      break;
  }
  Mark mark;
  TakeLines(read.text, {{"file ", &mark.file}, {"filled ", &mark.filled}});
  std::istringstream lines(read.text);
  for (std::string line; std::getline(lines, line);) {
    // "directory [identity] path". Earlier marks have no identity, and their directories are not
    // removed.
    const size_t end = line.find("] ");
    if (line.rfind("directory [", 0) != 0 || end == std::string::npos) continue;
    mark.directories.push_back({line.substr(end + 2), line.substr(11, end - 11)});
  }
  return mark;
}

absl::StatusOr<std::string> Compose(const Mark& mark, const MarkKeys& keys) {
  std::string text = absl::StrCat(kFirstLine, "file ", mark.file, "\n");
  if (!mark.filled.empty()) absl::StrAppend(&text, "filled ", mark.filled, "\n");
  for (const Guard::MadeDirectory& directory : mark.directories) {
    // A line break in a name would begin a line of its own: cleanup leaves such a directory.
    if (directory.path.find('\n') != std::string::npos) continue;
    absl::StrAppend(&text, "directory [", directory.identity, "] ", directory.path, "\n");
  }
  return SignText(text, keys);
}

}  // namespace

absl::StatusOr<Mark> ReadMark(const Guard& guard, const Guard::AllowedPath& allowed) {
  auto fd = guard.Open(MarkPath(allowed), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  // A mark that cannot be opened counts as none: without a mark no file is overwritten.
  if (!fd.ok()) return absl::NotFoundError("no mark");
  return ParseMark(ReadAll(*fd), guard.mark_keys());
}

absl::Status WriteMark(const Guard& guard, const Guard::AllowedPath& allowed, const Mark& mark) {
  if (allowed.named) {
    return absl::FailedPreconditionError(absl::StrCat(
        allowed.path(),
        ": --allow names this file, not its directory, so no file can be laid out there"));
  }
  const auto text = Compose(mark, guard.mark_keys());
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(allowed.path(), ": ", std::string(text.status().message())));
  }
  // The descriptor that was checked is the one that is written: another file may take the name at
  // any time.
  auto fd = guard.Open(MarkPath(allowed), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd.ok() && !IsMarkFormat(ReadAll(*fd))) {
    return absl::FailedPreconditionError(
        absl::StrCat(MarkPath(allowed).path(),
                     ": exists and is not a mark of Lockstep's; nothing was overwritten"));
  }
  if (absl::IsNotFound(fd.status())) {
    fd = guard.Open(MarkPath(allowed), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  }
  if (!fd.ok()) return fd.status();
  // The mark is rewritten in place. A rename(2) would replace whatever file has the name by then. A
  // crash halfway leaves a signature that does not fit, and the file counts as foreign.
  if (pwrite(fd->get(), text->data(), text->size(), 0) != static_cast<ssize_t>(text->size()) ||
      ftruncate(fd->get(), static_cast<off_t>(text->size())) != 0 || fsync(fd->get()) != 0) {
    return ErrnoStatus(errno, MarkPath(allowed).path());
  }
  return absl::OkStatus();
}

bool IsOf(const Mark& mark, const FileDescriptor& fd) {
  const std::string identity = IdentityOf(fd);
  return !identity.empty() && mark.file == identity;
}

absl::Status NoteChanged(const Guard& guard, const Guard::AllowedPath& allowed) {
  auto mark = ReadMark(guard, allowed);
  // A mark that says so already is not written and synced again.
  if (!mark.ok() || mark->filled == kFilledByWorkload) return absl::OkStatus();
  mark->filled = kFilledByWorkload;
  return WriteMark(guard, allowed, *mark);
}

absl::Status CheckMadeByLockstep(const Guard& guard, const Guard::AllowedPath& allowed,
                                 const FileDescriptor& fd) {
  const auto mark = ReadMark(guard, allowed);
  if (mark.ok() && IsOf(*mark, fd)) return absl::OkStatus();
  if (absl::IsFailedPrecondition(mark.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(allowed.path(), ": exists, and ", std::string(mark.status().message()),
                     ". If it is yours to overwrite, run `lockstep-worker --adopt ", allowed.path(),
                     "` on this host, or remove the file"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(allowed.path(),
                   ": exists and was not made by Lockstep; it is not overwritten unless the job's "
                   "`expendable` and the worker's --allow-expendable name it"));
}

absl::Status Adopt(const Guard& guard, const Guard::AllowedPath& allowed) {
  const auto fd = guard.Open(allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) return fd.status();
  const std::string identity = IdentityOf(*fd);
  if (identity.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        allowed.path(),
        ": its file system gives files neither a birth time nor a handle by which to know it"));
  }
  // Its content is not of a prepare's making, so that no prepare may reuse it as it is.
  return WriteMark(guard, allowed, {identity, kFilledByWorkload, {}});
}

}  // namespace lockstep::worker
