#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "proto/worker.pb.h"
#include "worker/host/kernel_blocks.h"

namespace lockstep::worker {

// The kernel that this process runs on.
const KernelBlocks& ThisKernel();

// The device with this number. With `fd`, the device itself open for reading, a loop device's file
// is the one that the kernel has, not what now has its name. NOT_FOUND when the kernel has none.
absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd = -1);

// The reason not to write the loop device that is open as `fd`: another one over the same file that
// somebody uses ("loop1, which is held by somebody"), or that this process may not open. Files are
// compared by LOOP_GET_STATUS64: a path may lead to another file here, in a container or below a
// mount. Empty when there is no such device, or `fd` is no loop device. Opens loop devices, to ask
// them.
std::string UsedLoopBeside(int fd);

// Files that lie underneath loop devices. While one of these is in use (mounted, in swap, held, or
// held by nobody knows whom) the file is never written, laid out anew or removed. Each loop device
// is opened and asked which file it shows, since its path may lead to another file here; one that
// cannot be opened (no right to, no node in a container's /dev) counts by its path. Asked anew when
// the last answers are older than kRefreshNs. Thread-safe.
class FilesUnderDevices {
 public:
  static constexpr int64_t kRefreshNs = 200 * timing::kMs;

  FilesUnderDevices();
  // FAILED_PRECONDITION for such a file, open as `fd`; `path` is for the message.
  absl::Status Check(const std::string& path, int fd) const;

 private:
  using File = std::pair<dev_t, uint64_t>;         // device and inode
  using Files = std::multimap<File, std::string>;  // names of the loop devices over each
  static Files QueryAll();

  mutable common::Mutex mutex_;
  mutable int64_t asked_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable Files files_ ABSL_GUARDED_BY(mutex_);
};

// As BlockDevice::identity; empty when it has none.
std::string IdentityOfNumber(dev_t number);

// The whole disk of a partition, or the device itself: what /proc/diskstats counts with merges and
// queue. NOT_FOUND for device numbers that are no block device's, as tmpfs's or overlay's.
absl::StatusOr<std::string> WholeDiskOf(dev_t number);

}  // namespace lockstep::worker
