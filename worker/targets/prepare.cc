#include "worker/targets/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/units.h"
#include "proto/defaults.h"
#include "worker/engine/buffers.h"
#include "worker/targets/empty_file.h"
#include "worker/targets/foreign_files.h"
#include "worker/targets/marks.h"
#include "worker/workload/content.h"

namespace lockstep::worker {
namespace {

using common::ErrnoStatus;
using common::FileDescriptor;

constexpr size_t kWriteBytes = 1 << 20;
// A thread writes one part and then takes the next one, of whichever file. With whole files as
// parts, one large file would keep a single thread busy to the end.
constexpr uint64_t kPartBytes = 64 << 20;

v1::PreparePhase Filled(v1::PreparePhase phase) {
  v1::FillDefaults(&phase);
  return phase;
}

std::string FillingOf(const v1::PreparePhase& phase) {
  if (phase.fallocate_only()) return "reserved";
  if (phase.content().has_zeros()) return "zeros";
  return phase.content().compressed_ratio() < 1
             ? absl::StrCat("random compressed to ", phase.content().compressed_ratio())
             : "random";
}

// Removes the mark beside a file that is gone. The mark's inode is pinned before it is read, so
// that another file that takes the name after that stays.
void RemoveMark(const Guard& guard, const Guard::AllowedPath& allowed, const std::string& of) {
  const auto mark = guard.Open(MarkPath(allowed), O_PATH | O_NOFOLLOW);
  if (!mark.ok()) return;
  const auto says = ReadMark(guard, allowed);
  if (!says.ok() || says->file != of) return;
  (void)guard.RemoveIf(MarkPath(allowed),
                       [&](const FileDescriptor& found) { return SameInode(found, *mark); });
}

// One file to be laid out.
struct Item {
  const v1::TargetAssignment* target = nullptr;
  uint32_t number = 0;  // among the target's files
  Guard::AllowedPath allowed;
  uint64_t size_bytes = 0;
  bool reuse = false;
  bool existed = false;  // before this prepare
  bool foreign = false;  // and was not made by Lockstep: expendable, but never removed
  bool replace = false;  // it exists, and others could have it open: a copy's destination
  bool touched = false;  // laid out by this prepare, whole or in part
  std::string identity;  // of the file that existed, as it was looked at
  Mark mark;
  // While it is laid out.
  common::Mutex mutex;
  // open from the first part to the last
  std::shared_ptr<FileDescriptor> fd ABSL_GUARDED_BY(mutex);
  uint64_t parts_left ABSL_GUARDED_BY(mutex) = 0;
};

class Preparation {
 public:
  Preparation(const Guard& guard, const v1::Assignment& assignment, const std::atomic<bool>& stop,
              Progress progress)
      : guard_(guard),
        phase_(Filled(assignment.prepare())),
        expendable_(assignment.expendable().begin(), assignment.expendable().end()),
        stop_(stop),
        progress_(std::move(progress)) {}

  // The target's file with this number.
  absl::Status Add(const v1::TargetAssignment& target, uint32_t number, const std::string& path) {
    const auto size_bytes = static_cast<uint64_t>(target.target().file().size_bytes());
    Item& item = items_.emplace_back();
    item.target = &target;
    item.number = number;
    auto allowed = guard_.Locate(path);
    if (!allowed.ok()) return allowed.status();
    item.allowed = *std::move(allowed);
    item.size_bytes = size_bytes;
    auto fd = guard_.Open(item.allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd.ok()) {
      const auto mark = ReadMark(guard_, item.allowed);
      struct stat facts;
      if (fstat(fd->get(), &facts) != 0) return ErrnoStatus(errno, path);
      const auto answer = FileConsent(guard_, target, expendable_).Check(item.allowed, number, *fd);
      if (!answer.ok()) return answer.status();
      const bool ours = !answer->is_foreign && mark.ok();
      item.identity = IdentityOf(*fd);
      item.existed = true;
      item.foreign = answer->is_foreign;
      if (absl::Status used = under_.Check(path, fd->get()); !used.ok()) return used;
      if (ours) item.mark = *mark;
      item.replace = target.owner_only() && IsOpenToOthers(*fd);
      if (item.replace && item.foreign) return OpenToOthers(path);
      // Reading the content again would take as long as writing it: mark and size stand for it.
      item.reuse = !item.replace && !phase_.rewrite() && ours &&
                   mark->filled == FillingOf(phase_) &&
                   facts.st_size == static_cast<int64_t>(size_bytes);
    } else if (!absl::IsNotFound(fd.status())) {
      return fd.status();
    }
    if (!item.reuse) total_bytes_ += size_bytes;
    return absl::OkStatus();
  }

  absl::StatusOr<PrepareResult> Run() {
    if (absl::Status status = CheckSpace(); !status.ok()) return status;
    // The space is checked first: a size that no file system holds must not cost memory for parts.
    for (Item& item : items_) {
      if (!item.reuse) Divide(&item);
    }
    std::vector<std::thread> threads;
    const size_t wanted = phase_.parallel();
    for (size_t i = 0; i < std::min(wanted, parts_.size()); ++i) {
      try {
        threads.emplace_back([this] { Work(); });
      } catch (const std::system_error& error) {
        if (!threads.empty()) break;  // with fewer it takes longer
        return absl::ResourceExhaustedError(
            absl::StrCat("no thread can be started: ", error.what()));
      }
    }
    for (std::thread& thread : threads) thread.join();
    if (absl::Status status = Outcome(); !status.ok()) {
      RemoveMade();
      return status;
    }
    PrepareResult result;
    for (const Item& item : items_) ++(item.reuse ? result.files_reused : result.files_made);
    result.bytes_written = done_bytes_;
    for (const Item& item : items_) {
      if (item.foreign) AddLeft(item, &result);
    }
    return result;
  }

 private:
  struct Part {
    Item* item;
    uint64_t begin;
    uint64_t length;
  };

  void Divide(Item* item) {
    for (uint64_t begin = 0; begin < item->size_bytes; begin += kPartBytes) {
      parts_.push_back({item, begin, std::min(kPartBytes, item->size_bytes - begin)});
    }
    common::MutexLock lock(&item->mutex);
    item->parts_left = (item->size_bytes + kPartBytes - 1) / kPartBytes;
  }

  // The outcome of all threads, after they have ended.
  absl::Status Outcome() {
    common::MutexLock lock(&mutex_);
    return status_.ok() && stop_ ? absl::CancelledError("prepare was stopped") : status_;
  }

  bool Over() const { return stop_ || failed_; }

  void Work() {
    std::unique_ptr<IoBuffers> buffer;
    while (!Over()) {
      const size_t next = next_++;
      if (next >= parts_.size()) return;
      const absl::Status status = LayOut(parts_[next], &buffer);
      if (status.ok()) continue;
      common::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = status;
      failed_ = true;
    }
  }

  absl::Status LayOut(const Part& part, std::unique_ptr<IoBuffers>* buffer) {
    Item* item = part.item;
    std::shared_ptr<FileDescriptor> fd;
    {
      common::MutexLock lock(&item->mutex);
      if (!item->touched) {
        if (absl::Status status = Begin(item); !status.ok()) return status;
      }
      fd = item->fd;
    }
    if (fd == nullptr) return absl::OkStatus();  // its beginning failed
    absl::Status status = phase_.fallocate_only() ? Reserve(part, *fd) : Fill(part, *fd, buffer);
    // A part that was cut short is not counted. The mark then keeps an empty `filled`, and no
    // prepare reuses the file as it is.
    if (!status.ok() || Over()) return status;
    common::MutexLock lock(&item->mutex);
    if (--item->parts_left != 0) return absl::OkStatus();
    // The content is durable before the mark says that it is complete: the next prepare reuses the
    // file for its mark and its size alone.
    if (fsync(fd->get()) != 0) return ErrnoStatus(errno, item->allowed.path());
    item->fd = nullptr;
    item->mark.filled = FillingOf(phase_);
    return Note(*item);
  }

  // Makes the file, empty, and its mark.
  absl::Status Begin(Item* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(item->mutex) {
    auto directories = guard_.MakeParents(item->allowed);
    if (!directories.ok()) return directories.status();
    for (Guard::MadeDirectory& directory : *directories) {
      item->mark.directories.push_back(std::move(directory));
    }
    // A file that was not there at the first look must not be there now.
    auto fd = guard_.Open(
        item->allowed, item->existed ? O_RDWR | O_NOFOLLOW : O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
        item->target->owner_only() ? kOwnerOnlyMode : 0666);
    if (!fd.ok()) return fd.status();
    std::string identity = IdentityOf(*fd);
    if (identity.empty()) {
      if (!item->existed) {
        (void)guard_.RemoveIf(item->allowed,
                              [&](const FileDescriptor& found) { return SameInode(found, *fd); });
      }
      return WithoutIdentity(item->allowed.path());
    }
    // Another file may have taken its name: the descriptor that is written to tells.
    if (item->existed && identity != item->identity) {
      return absl::AbortedError(
          absl::StrCat(item->allowed.path(),
                       ": another file took this name after it was looked at; it was not touched"));
    }
    // Since it was looked at, which may be long ago, somebody may have written to or mounted it.
    if (item->existed) {
      const auto answer =
          FileConsent(guard_, *item->target, expendable_).Check(item->allowed, item->number, *fd);
      if (!answer.ok()) return answer.status();
      if (answer->is_foreign != item->foreign) {
        return absl::AbortedError(
            absl::StrCat(item->allowed.path(),
                         ": its mark has changed since it was looked at; it was not touched"));
      }
      if (absl::Status used = under_.Check(item->allowed.path(), fd->get()); !used.ok())
        return used;
    }
    if (item->replace) {
      fd = ReplaceByOwnerOnly(guard_, item->allowed, *fd);
      if (!fd.ok()) return fd.status();
      identity = IdentityOf(*fd);
    }
    // The mark comes before the first change of the content: if the worker dies, a cleanup knows
    // the file as Lockstep's, and a prepare that it is not complete.
    item->touched = true;
    item->mark.file = identity;
    item->mark.filled.clear();
    if (absl::Status status = Note(*item); !status.ok()) return status;
    if (ftruncate(fd->get(), static_cast<off_t>(item->size_bytes)) != 0) {
      return ErrnoStatus(errno, item->allowed.path());
    }
    // The content goes past the page cache where the file system can do that: preparing must not
    // push out what the host has cached. A size that is no multiple of 4 KiB would end in a write
    // that O_DIRECT refuses (open(2)).
    if (item->size_bytes % 4096 == 0 && !phase_.fallocate_only()) {
      fcntl(fd->get(), F_SETFL, fcntl(fd->get(), F_GETFL) | O_DIRECT);
    }
    item->fd = std::make_shared<FileDescriptor>(*std::move(fd));
    return absl::OkStatus();
  }

  // A file that is somebody else's gets no mark: it stays theirs, and no cleanup removes it.
  absl::Status Note(const Item& item) {
    return item.foreign ? absl::OkStatus() : WriteMark(guard_, item.allowed, item.mark);
  }

  // Compares all that is still to be written with what each file system has free.
  absl::Status CheckSpace() {
    struct Space {
      uint64_t needed = 0;
      uint64_t free = 0;
      std::string first;
    };
    std::map<std::pair<int, int>, Space> spaces;
    for (Item& item : items_) {
      if (item.reuse) continue;
      auto nearest = guard_.OpenNearest(item.allowed);
      if (!nearest.ok()) return nearest.status();
      struct statfs facts;
      if (fstatfs(nearest->get(), &facts) != 0) return ErrnoStatus(errno, item.allowed.path());
      Space& space = spaces[{facts.f_fsid.__val[0], facts.f_fsid.__val[1]}];
      if (space.first.empty()) space.first = item.allowed.path();
      space.needed += item.size_bytes;
      space.free = std::max<uint64_t>(space.free, static_cast<uint64_t>(facts.f_bavail) *
                                                      static_cast<uint64_t>(facts.f_frsize));
      // Blocks that the file already has are overwritten, not allocated once more.
      struct stat own;
      auto fd = guard_.Open(item.allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if (fd.ok() && fstat(fd->get(), &own) == 0) {
        space.needed -= std::min<uint64_t>(space.needed, uint64_t(own.st_blocks) * 512);
      }
    }
    for (const auto& [id, space] : spaces) {
      if (space.needed <= space.free) continue;
      return absl::ResourceExhaustedError(absl::StrCat(
          space.first, ": needs ", common::FormatSize(static_cast<double>(space.needed)),
          " together with the other files laid out there, its file system has ",
          common::FormatSize(static_cast<double>(space.free)), " free"));
    }
    return absl::OkStatus();
  }

  absl::Status Reserve(const Part& part, const FileDescriptor& fd) {
    const int error =
        posix_fallocate(fd.get(), static_cast<off_t>(part.begin), static_cast<off_t>(part.length));
    return error == 0 ? absl::OkStatus() : ErrnoStatus(error, part.item->allowed.path());
  }

  absl::Status Fill(const Part& part, const FileDescriptor& fd,
                    std::unique_ptr<IoBuffers>* buffer) {
    if (*buffer == nullptr) {
      auto made = IoBuffers::Make(1, kWriteBytes);
      if (!made.ok()) return made.status();
      *buffer = *std::move(made);
    }
    const double compressed = phase_.content().compressed_ratio();
    // Each file and each offset has contents of its own: an array that deduplicates would otherwise
    // keep one copy of all files.
    const uint64_t seed = std::hash<std::string>()(part.item->mark.file);
    uint64_t done_here = 0;
    while (done_here < part.length && !Over()) {
      const uint64_t at = part.begin + done_here;
      const size_t length = std::min<uint64_t>(kWriteBytes, part.length - done_here);
      if (!phase_.content().has_zeros()) {
        FillContent((*buffer)->at(0), length, compressed, common::DeriveSeed(seed, at));
      }
      const ssize_t put = pwrite(fd.get(), (*buffer)->at(0), length, static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      // A file system may accept O_DIRECT in fcntl(2) and refuse the write. The rest of the file
      // then goes through the page cache.
      if (put < 0 && errno == EINVAL && (fcntl(fd.get(), F_GETFL) & O_DIRECT) != 0) {
        fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_DIRECT);
        continue;
      }
      if (put < 0) {
        return ErrnoStatus(errno, absl::StrCat(part.item->allowed.path(), " at offset ", at));
      }
      done_here += put;
      const uint64_t before = done_bytes_.fetch_add(put);
      // Progress is reported every 16 MiB, not with each write of 1 MiB.
      if (before / (16 * kWriteBytes) != (before + put) / (16 * kWriteBytes) ||
          before + put == total_bytes_) {
        progress_(before + put, total_bytes_);
      }
    }
    return absl::OkStatus();
  }

  // Says what was laid out in a file that Lockstep did not make. Without that the next phase
  // refuses it.
  void AddLeft(const Item& item, PrepareResult* result) const {
    const auto fd = guard_.Open(item.allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd.ok() || IdentityOf(*fd) != item.identity) return;
    const auto now = DescribeForeign(item.number, *fd, item.allowed.path(), FileDepth::kSamples);
    if (!now.ok()) return;
    v1::LeftContent& left = result->left_contents.emplace_back();
    left.set_target(item.target->index());
    left.set_file(item.number);
    left.set_fingerprint(now->fingerprint());
  }

  void RemoveMade() {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      if (!item->touched || item->foreign) continue;
      // Only what this prepare made goes: if it stood still for long, the path may be another
      // run's.
      const auto removed = guard_.RemoveIf(
          item->allowed, [&](const FileDescriptor& found) { return IsOf(item->mark, found); });
      if (removed.ok() && *removed) RemoveMark(guard_, item->allowed, item->mark.file);
    }
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      // Directories go after all files, since one of them may hold files of several items.
      auto& directories = item->mark.directories;
      for (auto d = directories.rbegin(); d != directories.rend(); ++d) {
        guard_.RemoveDirectoryIfEmpty(*d);
      }
    }
  }

  const FilesUnderDevices under_;
  const Guard& guard_;
  const v1::PreparePhase phase_;
  const std::vector<std::string> expendable_;
  const std::atomic<bool>& stop_;
  const Progress progress_;
  std::deque<Item> items_;  // parts point to them
  std::vector<Part> parts_;
  uint64_t total_bytes_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> done_bytes_{0};
  std::atomic<bool> failed_{false};
  common::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // the first failure
};

// Calls `each` with every one of the worker's own files, by target, number and path, until one
// fails.
using EachFile = std::function<absl::Status(const v1::TargetAssignment& target, uint32_t number,
                                            const std::string& path)>;
absl::Status ForEachOwnFile(const v1::Assignment& assignment, const RunIdentity& who,
                            const EachFile& each) {
  for (const v1::TargetAssignment& target : assignment.targets()) {
    if (!target.target().has_file()) continue;
    const v1::FileTarget& file = target.target().file();
    for (uint32_t i = target.first_file(); i < target.first_file() + target.file_count(); ++i) {
      if (absl::Status status = each(target, i, FilePath(file, i, who)); !status.ok()) {
        return status;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PrepareResult> PrepareFiles(const Guard& guard, const v1::Assignment& assignment,
                                           const RunIdentity& who, const std::atomic<bool>& stop,
                                           const Progress& progress) {
  Preparation preparation(guard, assignment, stop, progress);
  const absl::Status status = ForEachOwnFile(
      assignment, who,
      [&](const v1::TargetAssignment& target, uint32_t number, const std::string& path) {
        return preparation.Add(target, number, path);
      });
  if (!status.ok()) return status;
  return preparation.Run();
}

absl::StatusOr<uint64_t> RemoveFiles(const Guard& guard, const v1::Assignment& assignment,
                                     const RunIdentity& who,
                                     const std::function<bool()>& too_late) {
  uint64_t removed = 0;
  const FilesUnderDevices under;
  std::vector<Guard::MadeDirectory> directories;
  const absl::Status status = ForEachOwnFile(
      assignment, who,
      [&](const v1::TargetAssignment&, uint32_t, const std::string& path) -> absl::Status {
        auto allowed = guard.Locate(path);
        if (!allowed.ok()) return allowed.status();
        auto fd = guard.Open(*allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (absl::IsNotFound(fd.status())) return absl::OkStatus();
        if (!fd.ok()) return fd.status();
        // An expendable file that is not ours is left where it is.
        const std::vector<std::string> expendable(assignment.expendable().begin(),
                                                  assignment.expendable().end());
        const absl::Status made = CheckMadeByLockstep(guard, *allowed, *fd);
        if (!made.ok()) return guard.IsExpendableFile(*fd, expendable) ? absl::OkStatus() : made;
        if (absl::Status used = under.Check(path, fd->get()); !used.ok()) return used;
        if (too_late()) {
          return absl::DeadlineExceededError(absl::StrCat(path,
                                                          ": cleanup has reached its hard stop, ",
                                                          removed, " files were removed before"));
        }
        const auto mark = ReadMark(guard, *allowed);
        if (!mark.ok()) return absl::OkStatus();  // removed since
        const auto gone = guard.RemoveIf(
            *allowed, [&](const FileDescriptor& found) { return IsOf(*mark, found); });
        if (!gone.ok()) return gone.status();
        if (!*gone) {
          return absl::AbortedError(absl::StrCat(
              path, ": another file took this name after it was looked at; it was not removed"));
        }
        directories.insert(directories.end(), mark->directories.begin(), mark->directories.end());
        ++removed;
        RemoveMark(guard, *allowed, mark->file);
        return absl::OkStatus();
      });
  // Longer paths come first: a directory is empty only after those beneath it are gone.
  std::sort(directories.begin(), directories.end(),
            [](const Guard::MadeDirectory& a, const Guard::MadeDirectory& b) {
              return a.path.size() > b.path.size();
            });
  for (const Guard::MadeDirectory& directory : directories) guard.RemoveDirectoryIfEmpty(directory);
  if (!status.ok()) return status;
  return removed;
}

}  // namespace lockstep::worker
