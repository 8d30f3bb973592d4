#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/limits.h"
#include "proto/host.pb.h"
#include "worker/host/device_content.h"
#include "worker/host/mark_keys.h"

namespace lockstep::worker {

// A stamp says that an admin has given a device to Lockstep for good: jobs overwrite it without
// `expendable` and without a token. It fills kStampBytes at each end of the device with copies of
// one block, so that whatever else begins to use the device destroys it: partition tables, md, LVM,
// LUKS, ZFS and file systems all write within the first or the last MiB. It counts only whole, on
// the device that it names, signed as marks are (MarkKeys), and while the store has its number as
// live: the last is the controller's to check, and nothing here knows it.
inline constexpr uint64_t kStampBytes = 1 << 20;
// A device with less room than this is not enrolled.
inline constexpr uint64_t kMinStamped = limits::kMinEnrolledBytes;

struct StampFacts {
  std::string identity;  // StampIdentity()
  uint64_t size_bytes = 0;
  std::string number;  // that the store gave it
  // For whoever reads it: an admin's name, and a time (RFC 3339).
  std::string by, at;
};

// Both ends' bytes, kStampBytes each.
struct StampBytes {
  std::string first, last;
};
// The name by which a stamp knows its device: the identity, and for a loop device also the
// attachment (boot id and disk sequence), since inodes are used again for other bytes. Empty for a
// device without an identity, where the kernel numbers no attachments (before Linux 5.15), and for
// zram, which may be reset within one.
std::string StampIdentity(const v1::BlockDevice& device);
// INVALID_ARGUMENT for facts that cannot be written down; else as MarkKeys::Sign().
absl::StatusOr<StampBytes> ComposeStamp(const StampFacts& facts, const MarkKeys& keys);

// The stamp that was read from a device.
struct DeviceStamp {
  enum class State {
    kNone,    // the device does not begin with one
    kCounts,  // whole, of this device, and of a worker that this store knows
    kBroken,  // `message` says why it does not count
  };
  State state = State::kNone;
  std::string message;
  std::string enrolled;  // of one that counts: "2026-11-24T08:00:00Z by alice"
  std::string number;    // the same
};

// Reads `length` bytes, a multiple of 4096, at `offset`; past any cache, where that can be.
using ReadBytes = std::function<absl::StatusOr<std::string>(uint64_t offset, uint32_t length)>;

// One block is read of a device that does not begin with a stamp, else all of both ends. `identity`
// and `size_bytes` are what the device says of itself. Errors are those of `read`.
absl::StatusOr<DeviceStamp> ReadStamp(const ReadBytes& read, const std::string& identity,
                                      uint64_t size_bytes, const MarkKeys& keys);

// The stamp on a device that is open for reading; none on one without an identity. `path` is for
// messages.
absl::StatusOr<DeviceStamp> StampOn(int fd, const std::string& path, const v1::BlockDevice& device,
                                    const MarkKeys& keys);
// Says of what a device carries that its stamp, if it has the rest of one, counts no more.
void AddStampText(const DeviceStamp& stamp, DeviceContent* content);
// The bytes of a device that a job may have: between its stamps, `stamp_bytes` each, 0 where it has
// none; of these the first `wanted`, 0 for all. INVALID_ARGUMENT, with the device's path, when
// there are fewer.
absl::StatusOr<uint64_t> UsableBytes(const v1::BlockDevice& device, int64_t wanted,
                                     uint64_t stamp_bytes);
// Takes down, for a listing, what is on a device, and the stamp on it.
void SetContent(const DeviceContent& content, const DeviceStamp& stamp, v1::BlockDevice* device);

}  // namespace lockstep::worker
