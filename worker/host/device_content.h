#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// The contents of a device or a LUN.
struct DeviceContent {
  // In words: its signature, or that it has data, or that nobody knows. Empty when it is blank.
  std::string what;
  // A hash of its size and of all bytes that were read: the first and the last MiB, in which file
  // systems, partition tables and volume managers keep their UUIDs and write times, and blocks of 4
  // KiB between them. Another file system, a mount for writing or other data there give another
  // one; data elsewhere does not. Empty when the device is blank.
  std::string fingerprint;
  // The same, also of a blank device; empty where only signatures were looked for.
  std::string samples;
  // It is known to be blank: nothing was ever written to a loop device's file.
  bool is_blank = false;
  // It is a signature: of a file system, a partition table, a member of a volume.
  bool has_signature = false;
};

// How closely a device is read.
enum class ContentDepth {
  kSignature,  // data without a signature counts for nothing
  kSamples,    // the first and the last MiB, and blocks between
  kEmptiness,  // then, as nothing was found, every byte: samples cannot prove that there is nothing
};

// `fd`: the device, open for reading; `path` is for messages. With kEmptiness a device that cannot
// be read to its end before `until_ns` (CLOCK_MONOTONIC) is not blank: what it holds is not known.
// UNAVAILABLE when the device cannot be read.
absl::StatusOr<DeviceContent> ContentOf(int fd, const std::string& path, ContentDepth depth,
                                        int64_t until_ns);

// Whether the file underneath a loop device is nothing but a hole from the device's start on: all
// of the device then reads as zero (lseek(2), SEEK_DATA; blocks that are reserved and were never
// written count as holes). False where it cannot be known.
bool IsHole(int fd);

// DeviceContent::samples of a device, or of a file. UNAVAILABLE when it cannot be read.
absl::StatusOr<std::string> SamplesOf(int fd, const std::string& path);

// The signature on a device that nothing uses now: "an ext4 file system", "a gpt partition table".
// Empty when there is none.
absl::StatusOr<std::string> SignatureOf(int fd, const std::string& path);

// Bytes of the device, past the page cache where it can be: another host may have written what this
// one's cache has. `length` is a multiple of 4096. UNAVAILABLE when they cannot be read.
absl::StatusOr<std::string> ReadDevice(int fd, const std::string& path, uint64_t offset,
                                       uint32_t length);

// A range to take samples from.
struct Spot {
  uint64_t offset = 0, length = 0;
};
std::vector<Spot> SpotsOf(uint64_t size_bytes);

// The words for a device that was not read to its end.
std::string UnknownContent(uint64_t size_bytes);
// The words for data at an offset.
std::string DataAt(uint64_t offset);

}  // namespace lockstep::worker
