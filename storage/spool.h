#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace lockstep::storage {

// Records that wait for the store, first in, first out. Not thread-safe.
class Spool {
 public:
  virtual ~Spool() = default;
  // Durable when it returns OK: written, checksummed and on the disk. RESOURCE_EXHAUSTED, with
  // nothing kept, when the records do not fit into the limit or onto the disk.
  virtual absl::Status Append(const std::vector<std::string>& records) = 0;
  // The oldest records, at least one and at most about `bytes`; none when empty.
  virtual absl::StatusOr<std::vector<std::string>> Peek(size_t bytes) = 0;
  // Forgets the oldest `count` records. After a crash some of them may be there again.
  virtual absl::Status Drop(size_t count) = 0;
  virtual uint64_t bytes() const = 0;
  virtual uint64_t limit_bytes() const = 0;
  bool empty() const { return bytes() == 0; }
};

// In files of a directory: segments of records, each a length, an XXH3-64 checksum and the content.
// Bytes behind a broken record of the last segment (a write that a crash cut off, and that was
// never acknowledged) are dropped when it is opened.
class FileSpool final : public Spool {
 public:
  // Makes the directory when missing. FAILED_PRECONDITION while another process has it open;
  // DATA_LOSS, naming file and offset, when a record that had been acknowledged is broken.
  static absl::StatusOr<std::unique_ptr<FileSpool>> Open(const std::string& directory,
                                                         uint64_t limit_bytes);

  absl::Status Append(const std::vector<std::string>& records) override;
  absl::StatusOr<std::vector<std::string>> Peek(size_t bytes) override;
  absl::Status Drop(size_t count) override;
  uint64_t bytes() const override { return bytes_; }
  uint64_t limit_bytes() const override { return limit_bytes_; }

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t size = 0;  // bytes of whole records
  };
  FileSpool(std::string directory, uint64_t limit_bytes)
      : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}
  std::string PathOf(uint64_t number) const;
  absl::Status Recover();
  absl::Status Scan(Segment* segment, bool last);
  absl::Status OpenTail();
  absl::Status RemoveHead();

  const std::string directory_;
  common::FileDescriptor lock_;
  const uint64_t limit_bytes_;
  std::deque<Segment> segments_;
  uint64_t head_offset_ = 0;  // in the first segment
  uint64_t bytes_ = 0;        // of records not dropped, headers included
  uint64_t next_number_ = 1;
  common::FileDescriptor tail_;
  bool tail_open_ = false;
};

}  // namespace lockstep::storage
