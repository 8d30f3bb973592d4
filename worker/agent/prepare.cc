#include "worker/agent/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/units.h"
#include "worker/engine/buffers.h"

namespace lockstep::worker {
namespace {

using common::ErrnoStatus;
using common::FileDescriptor;

constexpr size_t kChunkBytes = 1 << 20;
constexpr int kThreads = 4;

// What the mark beside a file says.
struct Mark {
  std::string file;  // which file it is of, as IdentityOf() says
  std::string filled;  // random, zeros, reserved; empty while the file is not complete
  std::vector<std::string> directories;
};

Guard::Place MarkPlace(Guard::Place place) {
  place.relative += ".lockstep";
  return place;
}

std::optional<Mark> ReadMark(const Guard& guard, const Guard::Place& place) {
  auto fd = guard.Open(MarkPlace(place), O_RDONLY | O_NOFOLLOW);
  if (!fd.ok()) return std::nullopt;
  char text[16384];
  const ssize_t length = read(fd->get(), text, sizeof text);
  if (length <= 0) return std::nullopt;
  std::istringstream lines(std::string(text, length));
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

absl::Status WriteMark(const Guard& guard, const Guard::Place& place, const Mark& mark) {
  if (place.named) {
    return absl::FailedPreconditionError(absl::StrCat(place.path(), ": --allow names this file, not its directory, so no file can be laid out there"));
  }
  if (guard.Open(MarkPlace(place), O_RDONLY | O_NOFOLLOW).ok() && !ReadMark(guard, place)) {
    return absl::FailedPreconditionError(absl::StrCat(MarkPlace(place).path(), ": exists and is not a mark of Lockstep's; nothing was overwritten"));
  }
  std::string text = absl::StrCat("made by lockstep 1\nfile ", mark.file, "\n");
  if (!mark.filled.empty()) absl::StrAppend(&text, "filled ", mark.filled, "\n");
  for (const std::string& directory : mark.directories) absl::StrAppend(&text, "directory ", directory, "\n");
  auto fd = guard.Open(MarkPlace(place), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
  if (!fd.ok()) return fd.status();
  if (write(fd->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(fd->get()) != 0) {
    return ErrnoStatus(errno, MarkPlace(place).path());
  }
  return absl::OkStatus();
}

// The inode and, where the file system has it, when it was born: inode numbers are used again.
std::string IdentityOf(const FileDescriptor& fd) {
  struct statx facts;
  if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0) return "unknown";
  if ((facts.stx_mask & STATX_BTIME) == 0) return absl::StrCat(facts.stx_ino);
  return absl::StrCat(facts.stx_ino, " born ", facts.stx_btime.tv_sec, ".", facts.stx_btime.tv_nsec);
}

std::string FillingOf(const v1::PreparePhase& phase) {
  if (phase.fallocate_only()) return "reserved";
  return phase.content().has_zeros() ? "zeros" : "random";
}

// One file to be laid out.
struct Item {
  Guard::Place place;
  uint64_t size_bytes = 0;
  bool reuse = false;
  bool existed = false;  // before this prepare
  bool foreign = false;  // and was not made by Lockstep: expendable, but never removed
  bool touched = false;  // laid out by this prepare, whole or in part
  Mark mark;
};

class Preparation {
 public:
  Preparation(const Guard& guard, const v1::Assignment& assignment, const std::atomic<bool>& stop, Progress progress)
      : guard_(guard), phase_(assignment.prepare()), expendable_(assignment.expendable().begin(), assignment.expendable().end()),
        stop_(stop), progress_(std::move(progress)) {}

  absl::Status Add(const std::string& path, uint64_t size_bytes) {
    Item item;
    auto place = guard_.Locate(path);
    if (!place.ok()) return place.status();
    item.place = *std::move(place);
    item.size_bytes = size_bytes;
    auto fd = guard_.Open(item.place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd.ok()) {
      const auto mark = ReadMark(guard_, item.place);
      struct stat facts;
      if (fstat(fd->get(), &facts) != 0) return ErrnoStatus(errno, path);
      const bool ours = mark && mark->file == IdentityOf(*fd);
      item.existed = true;
      item.foreign = !ours;
      if (!ours && !guard_.IsExpendable(item.place.path(), expendable_)) return CheckMadeByLockstep(guard_, item.place, *fd);
      if (ours) item.mark = *mark;
      item.reuse = ours && mark->filled == FillingOf(phase_) && facts.st_size == static_cast<int64_t>(size_bytes);
    } else if (!absl::IsNotFound(fd.status())) {
      return fd.status();
    }
    if (!item.reuse) total_bytes_ += size_bytes;
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::StatusOr<PrepareResult> Run() {
    std::vector<std::thread> threads;
    const size_t count = std::min<size_t>(kThreads, items_.size());
    for (size_t i = 0; i < count; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (status_.ok() && stop_) status_ = absl::CancelledError("prepare was stopped");
    if (!status_.ok()) {
      Undo();
      return status_;
    }
    PrepareResult result;
    for (const Item& item : items_) ++(item.reuse ? result.files_reused : result.files_made);
    result.bytes_written = done_bytes_;
    return result;
  }

 private:
  void Work() {
    while (!stop_) {
      const size_t next = next_++;
      if (next >= items_.size()) return;
      if (items_[next].reuse) continue;
      const absl::Status status = LayOut(&items_[next]);
      if (!status.ok()) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (status_.ok()) status_ = status;
        failed_ = true;
        return;
      }
      if (failed_) return;
    }
  }

  absl::Status LayOut(Item* item) {
    auto directories = guard_.MakeParents(item->place);
    if (!directories.ok()) return directories.status();
    for (std::string& directory : *directories) item->mark.directories.push_back(std::move(directory));
    // What was not there when it was looked at must not be there now.
    auto fd = guard_.Open(item->place, item->existed ? O_RDWR | O_NOFOLLOW : O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (!fd.ok()) return fd.status();
    item->touched = true;
    item->mark.file = IdentityOf(*fd);
    item->mark.filled.clear();
    if (absl::Status status = Note(*item); !status.ok()) return status;
    if (absl::Status status = CheckSpace(*item, *fd); !status.ok()) return status;
    if (ftruncate(fd->get(), static_cast<off_t>(item->size_bytes)) != 0) return ErrnoStatus(errno, item->place.path());
    const absl::Status filled = phase_.fallocate_only() ? Reserve(*item, *fd) : Fill(*item, *fd);
    if (!filled.ok()) return filled;
    if (stop_ || failed_) return absl::OkStatus();
    if (fsync(fd->get()) != 0) return ErrnoStatus(errno, item->place.path());
    item->mark.filled = FillingOf(phase_);
    return Note(*item);
  }

  // A file that is somebody else's gets no mark: it stays theirs, and no cleanup removes it.
  absl::Status Note(const Item& item) { return item.foreign ? absl::OkStatus() : WriteMark(guard_, item.place, item.mark); }

  absl::Status CheckSpace(const Item& item, const FileDescriptor& fd) {
    struct statfs space;
    struct stat facts;
    if (fstatfs(fd.get(), &space) != 0 || fstat(fd.get(), &facts) != 0) return ErrnoStatus(errno, item.place.path());
    const uint64_t free = static_cast<uint64_t>(space.f_bavail) * space.f_bsize + uint64_t(facts.st_blocks) * 512;
    if (free >= item.size_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(item.place.path(), ": needs ", common::FormatSize(item.size_bytes),
                                                     ", its file system has ", common::FormatSize(free), " free"));
  }

  absl::Status Reserve(const Item& item, const FileDescriptor& fd) {
    const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(item.size_bytes));
    return error == 0 ? absl::OkStatus() : ErrnoStatus(error, item.place.path());
  }

  absl::Status Fill(const Item& item, const FileDescriptor& fd) {
    auto buffers = IoBuffers::Make(1, kChunkBytes);
    if (!buffers.ok()) return buffers.status();
    // Where the file system can, past the page cache: preparing must not push out what the host has cached.
    const int flags = fcntl(fd.get(), F_GETFL);
    bool direct = item.size_bytes % 4096 == 0 && fcntl(fd.get(), F_SETFL, flags | O_DIRECT) == 0;
    uint64_t at = 0;
    for (uint64_t chunk = 0; at < item.size_bytes && !stop_ && !failed_; ++chunk) {
      if (!phase_.content().has_zeros()) (*buffers)->FillRandom(common::DeriveSeed(std::hash<std::string>()(item.mark.file), chunk));
      const size_t length = std::min<uint64_t>(kChunkBytes, item.size_bytes - at);
      const ssize_t put = pwrite(fd.get(), (*buffers)->at(0), length, static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno == EINVAL && direct) {
        direct = false;
        fcntl(fd.get(), F_SETFL, flags);
        continue;
      }
      if (put < 0) return ErrnoStatus(errno, absl::StrCat(item.place.path(), " at offset ", at));
      at += put;
      const uint64_t done = done_bytes_ += put;
      if (chunk % 16 == 0 || done == total_bytes_) progress_(done, total_bytes_);
      if (!direct && chunk % 64 == 63) sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    return absl::OkStatus();
  }

  void Undo() {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      if (!item->touched || item->foreign) continue;
      (void)guard_.Remove(item->place);
      (void)guard_.Remove(MarkPlace(item->place));
    }
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      auto& directories = item->mark.directories;
      for (auto d = directories.rbegin(); d != directories.rend(); ++d) guard_.RemoveDirectoryIfEmpty(*d);
    }
  }

  const Guard& guard_;
  const v1::PreparePhase& phase_;
  const std::vector<std::string> expendable_;
  const std::atomic<bool>& stop_;
  const Progress progress_;
  std::vector<Item> items_;
  uint64_t total_bytes_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> done_bytes_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  absl::Status status_;  // the first failure; guarded by mutex_
};

// Calls `each` with every path of the worker's own files, until one fails.
absl::Status ForEachOwnFile(const v1::Assignment& assignment, const RunIdentity& who,
                            const std::function<absl::Status(const std::string&, uint64_t)>& each) {
  for (const v1::TargetAssignment& target : assignment.targets()) {
    if (!target.target().has_file()) continue;
    const v1::FileTarget& file = target.target().file();
    for (uint32_t i = target.first_file(); i < target.first_file() + target.file_count(); ++i) {
      if (absl::Status status = each(FilePath(file, i, who), file.size_bytes()); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMadeByLockstep(const Guard& guard, const Guard::Place& place, const FileDescriptor& fd) {
  const auto mark = ReadMark(guard, place);
  if (mark && mark->file == IdentityOf(fd)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      place.path(), ": exists and was not made by Lockstep; it is not overwritten unless the job's `expendable` and the worker's --allow-expendable name it"));
}

absl::StatusOr<PrepareResult> PrepareFiles(const Guard& guard, const v1::Assignment& assignment, const RunIdentity& who,
                                           const std::atomic<bool>& stop, const Progress& progress) {
  Preparation preparation(guard, assignment, stop, progress);
  const absl::Status status = ForEachOwnFile(
      assignment, who, [&](const std::string& path, uint64_t size_bytes) { return preparation.Add(path, size_bytes); });
  if (!status.ok()) return status;
  return preparation.Run();
}

absl::StatusOr<uint64_t> RemoveFiles(const Guard& guard, const v1::Assignment& assignment, const RunIdentity& who) {
  uint64_t removed = 0;
  std::vector<std::string> directories;
  const absl::Status status = ForEachOwnFile(assignment, who, [&](const std::string& path, uint64_t) -> absl::Status {
    auto place = guard.Locate(path);
    if (!place.ok()) return place.status();
    auto fd = guard.Open(*place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (absl::IsNotFound(fd.status())) return absl::OkStatus();
    if (!fd.ok()) return fd.status();
    // One that was expendable and is not ours is left where it is.
    const std::vector<std::string> expendable(assignment.expendable().begin(), assignment.expendable().end());
    const absl::Status made = CheckMadeByLockstep(guard, *place, *fd);
    if (!made.ok()) return guard.IsExpendable(place->path(), expendable) ? absl::OkStatus() : made;
    const auto mark = ReadMark(guard, *place);
    directories.insert(directories.end(), mark->directories.begin(), mark->directories.end());
    if (absl::Status gone = guard.Remove(*place); !gone.ok()) return gone;
    ++removed;
    return guard.Remove(MarkPlace(*place));
  });
  std::sort(directories.begin(), directories.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& directory : directories) guard.RemoveDirectoryIfEmpty(directory);
  if (!status.ok()) return status;
  return removed;
}

}  // namespace lockstep::worker
