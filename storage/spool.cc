#include "storage/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xxhash.h"

namespace lockstep::storage {
namespace {

// Space is freed by whole segments, so they are small beside the spool's limit (1 GiB by default).
constexpr uint64_t kSegmentBytes = 16 << 20;
// No record is this long: the pipeline ends a group at 16 MiB. A larger length in a header is
// damage and must not become an allocation.
constexpr uint32_t kMaxRecord = 64 << 20;

struct Header {
  uint32_t length;
  uint32_t magic;
  uint64_t checksum;
};
constexpr uint32_t kMagic = 0x31735453;  // "STs1"
// The header is written as it lies in memory, so it may have no padding.
static_assert(sizeof(Header) == 16);

// The checksum tells a record that was being written when the power went from one that was written:
// file systems may show the new size of a file before its data.
Header HeaderOf(const std::string& record) {
  return {static_cast<uint32_t>(record.size()), kMagic, XXH3_64bits(record.data(), record.size())};
}

// False at a short file or an error.
bool ReadAt(int fd, void* into, size_t size, uint64_t offset) {
  auto* bytes = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = pread(fd, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

enum class Read { kRecord, kEnd, kBroken };

Read ReadRecord(int fd, uint64_t offset, uint64_t file_size, std::string* record) {
  Header header;
  if (offset == file_size) return Read::kEnd;
  if (!ReadAt(fd, &header, sizeof header, offset) || header.magic != kMagic ||
      header.length > kMaxRecord || offset + sizeof header + header.length > file_size) {
    return Read::kBroken;
  }
  record->resize(header.length);
  if (!ReadAt(fd, record->data(), header.length, offset + sizeof header)) return Read::kBroken;
  return XXH3_64bits(record->data(), record->size()) == header.checksum ? Read::kRecord
                                                                        : Read::kBroken;
}

// A torn last record is what a crash leaves, and is cut off. A broken record with whole ones behind
// it is damage: cutting there would lose samples that were promised to be kept. Whether a whole
// record follows the broken one at `offset`, by the length that its header has.
bool HasRecordBehind(int fd, uint64_t offset, uint64_t file_size) {
  Header header;
  std::string record;
  if (offset + sizeof header > file_size || !ReadAt(fd, &header, sizeof header, offset))
    return false;
  const uint64_t next = offset + sizeof header + header.length;
  return header.length <= kMaxRecord && next < file_size &&
         ReadRecord(fd, next, file_size, &record) == Read::kRecord;
}

// A new file survives a crash only when its directory's entry is on the disk, too (fsync(2)).
absl::Status SyncDirectory(const std::string& directory) {
  common::FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return common::ErrnoStatus(errno, directory);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileSpool>> FileSpool::Open(const std::string& directory,
                                                           uint64_t limit_bytes) {
  if (absl::Status status = common::MakeDirectories(directory, 0700); !status.ok()) return status;
  if (absl::Status owner = common::CheckNobodyElses(directory); !owner.ok()) return owner;
  std::unique_ptr<FileSpool> spool(new FileSpool(directory, limit_bytes));
  const std::string lock = directory + "/lock";
  spool->lock_ =
      common::FileDescriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!spool->lock_.valid()) return common::ErrnoStatus(errno, lock);
  // flock(2) and not fcntl(2): its lock belongs to this open file, so that closing another
  // descriptor of the same file does not release it.
  if (flock(spool->lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, ": another controller uses this spool; give this one another --state-dir"));
  }
  if (absl::Status status = spool->Recover(); !status.ok()) return status;
  return spool;
}

std::string FileSpool::PathOf(uint64_t number) const {
  return absl::StrFormat("%s/%020d.spool", directory_, number);
}

absl::Status FileSpool::Recover() {
  DIR* directory = opendir(directory_.c_str());
  if (directory == nullptr) return common::ErrnoStatus(errno, directory_);
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.size() == 26 && name.substr(20) == ".spool") {
      segments_.push_back({strtoull(name.c_str(), nullptr, 10), 0});
    }
  }
  closedir(directory);
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.number < b.number; });
  for (Segment& segment : segments_) {
    if (absl::Status status = Scan(&segment, segment.number == segments_.back().number);
        !status.ok()) {
      return status;
    }
    bytes_ += segment.size;
    next_number_ = segment.number + 1;
  }
  while (!segments_.empty() && segments_.front().size == 0) {
    if (absl::Status status = RemoveHead(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status FileSpool::Scan(Segment* segment, bool last) {
  const std::string path = PathOf(segment->number);
  common::FileDescriptor fd(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISREG(facts.st_mode)) {
    return absl::FailedPreconditionError(path + ": not a regular file; move it away");
  }
  std::string record;
  while (true) {
    switch (ReadRecord(fd.get(), segment->size, static_cast<uint64_t>(facts.st_size), &record)) {
      case Read::kRecord:
        segment->size += sizeof(Header) + record.size();
        continue;
      case Read::kEnd:
        return absl::OkStatus();
      case Read::kBroken:
        // A write that a crash cut short is the last one. With a whole record behind it, it is
        // damage.
        if (!last ||
            HasRecordBehind(fd.get(), segment->size, static_cast<uint64_t>(facts.st_size))) {
          return absl::DataLossError(
              absl::StrCat(path, ": the record at offset ", segment->size,
                           " is broken; move the file away to go on without it"));
        }
        if (ftruncate(fd.get(), static_cast<off_t>(segment->size)) != 0) {
          return common::ErrnoStatus(errno, path);
        }
        return absl::OkStatus();
    }
  }
}

absl::Status FileSpool::OpenTail() {
  if (tail_open_ && segments_.back().size < kSegmentBytes) return absl::OkStatus();
  const std::string path = PathOf(next_number_);
  // Recover() has counted every segment, so this name is free. O_EXCL makes anything else an error,
  // a link among it (open(2)).
  common::FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return common::ErrnoStatus(errno, path);
  if (absl::Status status = SyncDirectory(directory_); !status.ok()) {
    // The next attempt creates the same name anew.
    unlink(path.c_str());
    return status;
  }
  tail_ = std::move(fd);
  tail_open_ = true;
  segments_.push_back({next_number_++, 0});
  return absl::OkStatus();
}

absl::Status FileSpool::Append(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& record : records) {
    const Header header = HeaderOf(record);
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += record;
  }
  if (bytes_ + bytes.size() > limit_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the spool in ", directory_, " is full (",
                                                     bytes_, " of ", limit_bytes_, " bytes)"));
  }
  if (absl::Status status = OpenTail(); !status.ok()) return status;
  Segment& segment = segments_.back();
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = pwrite(tail_.get(), bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(segment.size + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  // fdatasync(2) also writes the file's new size, without which the data could not be read. After
  // it has failed, nothing is known of the pages that it covered (the kernel drops their dirty
  // state): a new segment begins.
  const int error = done == bytes.size() ? (fdatasync(tail_.get()) == 0 ? 0 : errno) : errno;
  if (error == 0) {
    segment.size += bytes.size();
    bytes_ += bytes.size();
    return absl::OkStatus();
  }
  // Scan() takes a broken record for damage unless its segment is the last one, which this one will
  // not stay: what was written of these records is cut off.
  (void)!ftruncate(tail_.get(), static_cast<off_t>(segment.size));
  tail_open_ = false;
  const absl::Status status = common::ErrnoStatus(error, PathOf(segment.number));
  return error == ENOSPC || error == EDQUOT
             ? absl::ResourceExhaustedError(std::string(status.message()))
             : status;
}

absl::StatusOr<std::vector<std::string>> FileSpool::Peek(size_t bytes) {
  std::vector<std::string> records;
  size_t taken = 0;
  uint64_t offset = head_offset_;
  for (const Segment& segment : segments_) {
    if (offset == segment.size) {
      offset = 0;
      continue;
    }
    const std::string path = PathOf(segment.number);
    common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return common::ErrnoStatus(errno, path);
    while (offset < segment.size) {
      std::string record;
      if (ReadRecord(fd.get(), offset, segment.size, &record) != Read::kRecord) {
        return absl::DataLossError(
            absl::StrCat(path, ": the record at offset ", offset, " is broken"));
      }
      if (!records.empty() && taken + record.size() > bytes) return records;
      taken += record.size();
      offset += sizeof(Header) + record.size();
      records.push_back(std::move(record));
    }
    offset = 0;
  }
  return records;
}

absl::Status FileSpool::RemoveHead() {
  const std::string path = PathOf(segments_.front().number);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return common::ErrnoStatus(errno, path);
  segments_.pop_front();
  head_offset_ = 0;
  if (segments_.empty()) tail_open_ = false;
  return absl::OkStatus();
}

absl::Status FileSpool::Drop(size_t count) {
  while (count > 0 && !segments_.empty()) {
    const Segment& head = segments_.front();
    const std::string path = PathOf(head.number);
    common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return common::ErrnoStatus(errno, path);
    // Nothing on the disk says how far a segment was dropped. After a crash its records come again,
    // and the store's cursors tell which of them it has.
    while (count > 0 && head_offset_ < head.size) {
      Header header;
      if (!ReadAt(fd.get(), &header, sizeof header, head_offset_)) {
        return common::ErrnoStatus(EIO, path);
      }
      head_offset_ += sizeof header + header.length;
      bytes_ -= sizeof header + header.length;
      --count;
    }
    if (head_offset_ < head.size) break;
    // The last segment goes too once nothing is left in it.
    if (absl::Status status = RemoveHead(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::storage
