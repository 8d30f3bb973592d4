#include "worker/host/device_content.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/side_by_side.h"
#include "common/units.h"
#include "worker/host/loop_backing.h"
#include "xxhash.h"

namespace lockstep::worker {
namespace {

using common::FileDescriptor;

// Devices may take long for each read, so that several are in flight. Eight keep a disk busy. With
// more of them from every worker of a fleet, the check itself would be a load for a SAN.
constexpr size_t kReadsAtOnce = 8;
// SpotsOf() gives at most 64 places, so that all of them are read at once.
constexpr size_t kSamplesAtOnce = 64;
constexpr uint64_t kPiece = 1 << 20;
constexpr uint64_t kAlignment = 4096;

bool IsZero(const char* data, size_t length) {
  // Compares the data with itself, one byte further on: zero when it begins with zero.
  return length == 0 || (data[0] == 0 && memcmp(data, data + 1, length - 1) == 0);
}

struct Buffer {
  // O_DIRECT refuses memory that is not aligned to the logical block (open(2)).
  explicit Buffer(size_t length)
      : data(static_cast<char*>(aligned_alloc(kAlignment, length))), length(length) {}
  ~Buffer() { free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* const data;
  const size_t length;
};

// O_DIRECT reads past the page cache, where the device allows it: another host may have written
// what this one's cache holds. The device itself is opened once more, by its descriptor.
FileDescriptor OpenDirect(int fd) {
  struct stat facts;
  if (fstat(fd, &facts) != 0 || !S_ISBLK(facts.st_mode)) return {};
  return FileDescriptor(open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                             O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_DIRECT));
}

// Reads all of a spot. The buffer has room for it, rounded up to the alignment.
bool ReadAt(int fd, int direct, const Spot& spot, Buffer* buffer) {
  if (direct >= 0 && spot.offset % kAlignment == 0 && spot.length % kAlignment == 0 &&
      pread(direct, buffer->data, spot.length, static_cast<off_t>(spot.offset)) ==
          static_cast<ssize_t>(spot.length)) {
    return true;
  }
  // A device that refuses O_DIRECT is read through the cache, whose pages may be older than another
  // host's writes.
  posix_fadvise(fd, static_cast<off_t>(spot.offset), static_cast<off_t>(spot.length),
                POSIX_FADV_DONTNEED);
  return pread(fd, buffer->data, spot.length, static_cast<off_t>(spot.offset)) ==
         static_cast<ssize_t>(spot.length);
}

// The findings of many reads of a device at once.
struct Reading {
  const int fd;
  const FileDescriptor direct;
  explicit Reading(int device) : fd(device), direct(OpenDirect(device)) {}
  std::atomic<uint64_t> first_data{std::numeric_limits<uint64_t>::max()};
  std::atomic<uint64_t> unreadable{std::numeric_limits<uint64_t>::max()};
  std::atomic<bool> late{false};

  bool HasData() const { return first_data != std::numeric_limits<uint64_t>::max(); }
  bool Failed() const { return unreadable != std::numeric_limits<uint64_t>::max(); }

  // Reads the spot; takes down the first byte that is not zero. Returns a hash of it.
  uint64_t Read(const Spot& spot, Buffer* buffer) {
    if (!ReadAt(fd, direct.get(), spot, buffer)) {
      Lower(&unreadable, spot.offset);
      return 0;
    }
    if (!IsZero(buffer->data, spot.length)) {
      const char* found = std::find_if(buffer->data, buffer->data + spot.length,
                                       [](char byte) { return byte != 0; });
      Lower(&first_data, spot.offset + static_cast<uint64_t>(found - buffer->data));
    }
    return XXH3_64bits(buffer->data, spot.length);
  }

  // The reads end in any order: of the data that they found, the first byte is reported.
  static void Lower(std::atomic<uint64_t>* value, uint64_t to) {
    uint64_t was = *value;
    while (to < was && !value->compare_exchange_weak(was, to)) {
    }
  }
};

std::string Fingerprint(const void* data, size_t length) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(data, length));
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

absl::Status Unreadable(const std::string& path, uint64_t offset) {
  return absl::UnavailableError(absl::StrCat(path, ": offset ", offset, " cannot be read"));
}

// Reads every byte. Returns what it finds, in words; empty for nothing but zeros.
absl::StatusOr<std::string> ReadWhole(int fd, const std::string& path, uint64_t size,
                                      int64_t until_ns) {
  // A sparse image of terabytes is answered by its file system, without reading it.
  if (IsHole(fd)) return std::string();
  Reading reading(fd);
  std::atomic<uint64_t> next{0};
  common::SideBySide(kReadsAtOnce, kReadsAtOnce, [&](size_t) {
    Buffer buffer(kPiece);
    for (uint64_t at = kPiece * next++; at < size; at = kPiece * next++) {
      // The first byte that is not zero decides. The rest of the device need not be read.
      if (reading.HasData() || reading.Failed() || reading.late) return;
      if (common::SystemClock().MonotonicNs() >= until_ns) {
        reading.late = true;
        return;
      }
      (void)reading.Read({at, std::min(kPiece, size - at)}, &buffer);
    }
  });
  // Data decides even where another piece was unreadable or the time ran out: the device is not
  // blank.
  if (reading.HasData()) return DataAt(reading.first_data);
  if (reading.Failed()) return Unreadable(path, reading.unreadable);
  return reading.late ? UnknownContent(size) : std::string();
}

// The samples: what they found in words, and their fingerprint.
absl::StatusOr<DeviceContent> ReadSamples(int fd, const std::string& path, uint64_t size) {
  // The places are the same on every host and in every phase: otherwise two fingerprints of one
  // content could not be compared.
  const std::vector<Spot> spots = SpotsOf(size);
  std::vector<uint64_t> hashes(spots.size() + 1);
  Reading reading(fd);
  common::SideBySide(spots.size(), kSamplesAtOnce, [&](size_t i) {
    // aligned_alloc(3) takes multiples of the alignment only.
    Buffer buffer((spots[i].length + kAlignment - 1) / kAlignment * kAlignment);
    hashes[i] = reading.Read(spots[i], &buffer);
  });
  if (reading.Failed()) return Unreadable(path, reading.unreadable);
  // A device that grew holds the same samples and is another one.
  hashes.back() = size;
  DeviceContent content;
  if (reading.HasData()) content.what = DataAt(reading.first_data);
  content.samples = Fingerprint(hashes.data(), hashes.size() * sizeof hashes[0]);
  return content;
}

// The zones of a zoned device (blkzoned.h); none of others. The blocks before a zone's write
// pointer are data, even if they are zero. The blocks behind it cannot be read, or read as
// anything.
absl::StatusOr<std::vector<blk_zone>> ZonesOf(int fd, const std::string& path) {
  uint32_t count = 0;
  // The sparse copy of a LUN (Luns::WhatIsOn()) is a regular file, which refuses the ioctl.
  if (ioctl(fd, BLKGETNRZONES, &count) != 0 || count == 0) return std::vector<blk_zone>();
  std::vector<blk_zone> zones;
  // A report takes 256 KiB. A disk of 14 TB with zones of 256 MiB has some 52,000 of them.
  constexpr uint32_t kAtOnce = 4096;
  std::vector<char> memory(sizeof(blk_zone_report) + kAtOnce * sizeof(blk_zone));
  uint64_t sector = 0;
  while (zones.size() < count) {
    auto* report = reinterpret_cast<blk_zone_report*>(memory.data());
    memset(memory.data(), 0, memory.size());
    report->sector = sector;
    report->nr_zones = kAtOnce;
    if (ioctl(fd, BLKREPORTZONE, report) != 0 || report->nr_zones == 0) {
      return absl::UnavailableError(absl::StrCat(path, ": its zones cannot be read"));
    }
    zones.insert(zones.end(), report->zones, report->zones + report->nr_zones);
    sector = zones.back().start + zones.back().len;
  }
  return zones;
}

DeviceContent ContentOfZones(int fd, const std::vector<blk_zone>& zones, int64_t until_ns) {
  constexpr uint64_t kSector = 512;
  uint64_t written = 0;
  std::string state;
  Reading reading(fd);
  Buffer buffer(kPiece);
  for (const blk_zone& zone : zones) {
    // Each write to a sequential zone moves its write pointer. The pointers tell a device that has
    // changed, without a read of its data.
    absl::StrAppend(&state, zone.start, " ", zone.type, " ", zone.cond, " ", zone.wp, "\n");
    if (zone.type != BLK_ZONE_TYPE_CONVENTIONAL) {
      written += zone.cond != BLK_ZONE_COND_EMPTY ? 1 : 0;
      continue;
    }
    const uint64_t end = (zone.start + zone.len) * kSector;
    for (uint64_t at = zone.start * kSector; at < end; at += kPiece) {
      if (reading.HasData() || reading.late) break;
      reading.late = common::SystemClock().MonotonicNs() >= until_ns;
      (void)reading.Read({at, std::min(kPiece, end - at)}, &buffer);
    }
  }
  DeviceContent content;
  if (written > 0) {
    content.what = absl::StrCat("data in ", written, " of ", zones.size(), " zones");
  } else if (reading.HasData()) {
    content.what = DataAt(reading.first_data);
  } else if (reading.late || reading.Failed()) {
    content.what = UnknownContent((zones.back().start + zones.back().len) * kSector);
  }
  content.samples = Fingerprint(state.data(), state.size());
  if (!content.what.empty()) content.fingerprint = content.samples;
  return content;
}

}  // namespace

bool IsHole(int fd) {
  const auto loop = LoopBackingOf(fd);
  const FileDescriptor file = OpenBackingFile(fd);
  if (!loop || !file.valid()) return false;
  // Data that was written through the device may not be in the file yet, where SEEK_DATA looks.
  if (fsync(fd) != 0) return false;
  return lseek(file.get(), static_cast<off_t>(loop->offset), SEEK_DATA) < 0 && errno == ENXIO;
}

std::string UnknownContent(uint64_t size_bytes) {
  return absl::StrCat("data or nothing, which is not known: its ",
                      common::FormatSize(static_cast<double>(size_bytes)),
                      " cannot all be read before a run");
}

std::string DataAt(uint64_t offset) {
  return absl::StrCat("data without a known signature (not zero at offset ", offset, ")");
}

namespace {

// libblkid's places: up to 4 MiB from the start, and 1.5 MiB before the end.
constexpr off_t kHeadBytes = (4 << 20) + 4096;
constexpr off_t kTailBytes = 3 << 19;

}  // namespace

absl::StatusOr<std::string> SignatureOf(int fd, const std::string& path) {
  std::unique_ptr<blkid_struct_probe, void (*)(blkid_probe)> probe(blkid_new_probe(),
                                                                   blkid_free_probe);
  if (probe == nullptr || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return absl::UnavailableError(absl::StrCat(path, ": libblkid cannot read it"));
  }
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
  blkid_probe_enable_partitions(probe.get(), 1);
  // libblkid reads where signatures may lie one place after the other: all of these at once first.
  const off_t size = lseek(fd, 0, SEEK_END);
  for (const auto& [from, length] :
       {std::pair<off_t, off_t>(0, kHeadBytes),
        std::pair<off_t, off_t>(std::max<off_t>(0, size - kTailBytes), kTailBytes)}) {
    posix_fadvise(fd, from, length, POSIX_FADV_WILLNEED);
  }
  // 0 found, 1 nothing, -2 ambivalent (more than one signature), -1 error.
  const int result = blkid_do_safeprobe(probe.get());
  if (result == 1) return std::string();
  if (result == -2) return std::string("signatures of more than one file system");
  if (result != 0) {
    return absl::UnavailableError(absl::StrCat(path, ": its first sectors cannot be read"));
  }
  const char* value = nullptr;
  if (blkid_probe_lookup_value(probe.get(), "TYPE", &value, nullptr) == 0) {
    const std::string type(value);
    const bool member =
        type.find("LVM") != std::string::npos || type.find("raid") != std::string::npos;
    return absl::StrCat(member ? "a signature of " : "a file system or signature of type ", type);
  }
  if (blkid_probe_lookup_value(probe.get(), "PTTYPE", &value, nullptr) == 0) {
    return absl::StrCat("a partition table of type ", value);
  }
  return std::string();
}

absl::StatusOr<std::string> ReadDevice(int fd, const std::string& path, uint64_t offset,
                                       uint32_t length) {
  const FileDescriptor direct = OpenDirect(fd);
  Buffer buffer(length);
  if (!ReadAt(fd, direct.get(), {offset, length}, &buffer)) return Unreadable(path, offset);
  return std::string(buffer.data, length);
}

std::vector<Spot> SpotsOf(uint64_t size_bytes) {
  constexpr uint64_t kEnd = 1 << 20;
  constexpr uint64_t kSpot = 4096;
  constexpr uint64_t kBetween = 62;
  if (size_bytes <= 2 * kEnd) return {{0, size_bytes}};
  std::vector<Spot> spots = {{0, kEnd}};
  for (uint64_t i = 1; i <= kBetween; ++i) {
    // The places are aligned to 4 KiB, so that ReadAt() can read them past the page cache.
    const uint64_t at = size_bytes / (kBetween + 1) * i / kSpot * kSpot;
    if (at >= kEnd && at + kSpot <= size_bytes - kEnd) spots.push_back({at, kSpot});
  }
  spots.push_back({size_bytes - kEnd, kEnd});
  return spots;
}

absl::StatusOr<DeviceContent> ContentOf(int fd, const std::string& path, ContentDepth depth,
                                        int64_t until_ns) {
  // The bytes behind a write pointer of a zoned device mean nothing, even if they look like a
  // signature.
  const auto zones = ZonesOf(fd, path);
  if (!zones.ok()) return zones.status();
  if (!zones->empty()) {
    return depth == ContentDepth::kSignature ? DeviceContent()
                                             : ContentOfZones(fd, *zones, until_ns);
  }
  auto signature = SignatureOf(fd, path);
  if (!signature.ok()) return signature.status();
  if (signature->empty() && depth == ContentDepth::kSignature) return DeviceContent();
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return common::ErrnoStatus(errno, path);
  auto content = ReadSamples(fd, path, static_cast<uint64_t>(size));
  if (!content.ok()) return content.status();
  content->has_signature = !signature->empty();
  // A signature says whose data it is, which the first byte that is not zero does not.
  if (content->has_signature) content->what = *std::move(signature);
  if (content->what.empty() && depth == ContentDepth::kEmptiness) {
    auto whole = ReadWhole(fd, path, static_cast<uint64_t>(size), until_ns);
    if (!whole.ok()) return whole.status();
    content->what = *std::move(whole);
  }
  if (!content->what.empty()) content->fingerprint = content->samples;
  return content;
}

absl::StatusOr<std::string> SamplesOf(int fd, const std::string& path) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return common::ErrnoStatus(errno, path);
  auto content = ReadSamples(fd, path, static_cast<uint64_t>(size));
  if (!content.ok()) return content.status();
  return std::move(content->samples);
}

}  // namespace lockstep::worker
