#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/host/overlay_files.h"

namespace lockstep::worker {

// The source of a network file system (server:/export), by its device number; empty for others.
// `mounts`: as /proc/self/mountinfo.
std::string NetworkSource(dev_t device);
std::string NetworkSourceIn(const std::string& mounts, dev_t device);

// The identity of a file system, the same wherever it is mounted: the device underneath if that has
// an identity, the source of a network file system, the file system's own id where there is no
// device (FUSE), else this kernel and the device number.
std::string FilesystemKey(dev_t device, const struct statfs* facts);

// Collects the ranges of a target's files, 8 bytes each: the inode of each file that exists, and
// for every file its name beneath each of the directories above it, so that a file is recognised
// after it was made. Not thread-safe.
class FileRanges {
 public:
  // `key`: FilesystemKey(), or what remembers it.
  using Key = std::function<std::string(dev_t device, const struct statfs* facts)>;
  explicit FileRanges(Key key = FilesystemKey) : key_(std::move(key)) {}
  // A file that is open (or known by O_PATH). One on an overlay is also the file that the overlay
  // shows, where that can be found.
  void AddFile(const common::FileDescriptor& file);
  // Adds the name `rest` beneath `directory`, an O_PATH descriptor. With `near` only for that
  // directory and the outermost one, not for those between.
  void AddName(const common::FileDescriptor& directory, const std::string& rest, bool near);
  const std::string& bytes() const { return bytes_; }

 private:
  struct Above {
    std::string key;     // of the directory
    std::string prefix;  // the way from it down
  };
  void AddFileAt(const common::FileDescriptor& file, int depth);
  void Add(const std::string& thing);
  std::string KeyOf(dev_t device, int fd);

  Key key_;
  OverlayFiles overlays_;
  std::string bytes_;
  std::map<dev_t, std::string> filesystems_;
  std::map<std::pair<dev_t, ino_t>, std::vector<Above>> directories_;
};

// The bytes that a block device stands for: a partition is an extent of its disk, a loop device of
// its file, a logical volume its extents, another mapped device all of what lies underneath. `fd`:
// the device itself, open for reading.
std::vector<v1::ByteRange> DeviceRanges(dev_t number, int fd);

// The range that stands for the options of a mounted file system, by its number in mountinfo. They
// are this kernel's, and the same under all mount points.
v1::ByteRange MountOptionsRange(dev_t filesystem);

// All the bytes of the disk or LUN with this identity, however it is reached.
v1::ByteRange DiskRange(const std::string& identity);

}  // namespace lockstep::worker
