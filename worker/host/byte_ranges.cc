#include "worker/host/byte_ranges.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "worker/host/block_devices.h"
#include "worker/host/loop_backing.h"
#include "worker/host/mapped_extents.h"
#include "worker/host/mount_table.h"
#include "xxhash.h"

namespace lockstep::worker {
namespace {

constexpr int kDeepest = 32;

// Two things with one hash make two jobs wait for each other without need. No conflict is ever
// overlooked.
uint64_t HashOf(const std::string& thing) { return XXH3_64bits(thing.data(), thing.size()); }

std::string FileThing(const std::string& filesystem, uint64_t inode) {
  return absl::StrCat("file:", filesystem, ":", inode);
}

v1::ByteRange MakeRange(const std::string& thing, uint64_t begin, uint64_t end) {
  v1::ByteRange place;
  place.set_thing(HashOf(thing));
  place.set_begin_bytes(begin);
  place.set_end_bytes(end);
  return place;
}

void AddDevice(const std::string& name, int fd, uint64_t begin, uint64_t end, int depth,
               std::vector<v1::ByteRange>* ranges);

// Adds what a logical volume uses of the devices underneath it. False where that is not known.
bool AddVolume(const std::string& name, uint64_t begin, uint64_t end, int depth,
               std::vector<v1::ByteRange>* ranges) {
  // The tables of other kinds are not read: that of an encrypted device has its key.
  if (ThisKernel().KindOf(name) != "lvm") return false;
  const auto extents = MappedExtentsOf(ThisKernel().NumberOf(name));
  if (!extents) return false;
  struct Part {
    std::string device;
    uint64_t begin, end;
  };
  std::vector<Part> used;
  for (const MappedExtent& extent : *extents) {
    const uint64_t first = std::max(begin, extent.begin);
    const uint64_t last = end == 0 ? extent.end : std::min(end, extent.end);
    if (first >= last) continue;
    const auto device = ThisKernel().NameOf(extent.device);
    if (!device.ok()) return false;
    if (extent.is_linear) {
      used.push_back({*device, extent.device_begin + (first - extent.begin),
                      extent.device_begin + (last - extent.begin)});
    } else {
      used.push_back({*device, extent.device_begin, extent.device_end});
    }
  }
  if (used.empty()) return false;  // a table that does not have these bytes
  for (const Part& part : used) {
    AddDevice(part.device, -1, part.begin, part.end, depth + 1, ranges);
  }
  return true;
}

// Adds the range of an extent [begin, end) of the device with this name; an end of 0 is its end.
void AddDevice(const std::string& name, int fd, uint64_t begin, uint64_t end, int depth,
               std::vector<v1::ByteRange>* ranges) {
  // Mapped devices lie on mapped devices. A description that is changed during the walk must not
  // make it endless.
  if (depth > kDeepest) return;
  const BlockDeviceParts parts = ThisKernel().PartsOf(name);
  if (!parts.parent.empty()) {
    const uint64_t size = parts.size_bytes;
    return AddDevice(parts.parent, -1, parts.start_bytes + begin,
                     parts.start_bytes + (end == 0 ? size : end), depth + 1, ranges);
  }
  if (!parts.underneath.empty()) {
    if (AddVolume(name, begin, end, depth, ranges)) return;
    // Each path of a multipath device shows all of it. Other mapped devices do not tell which parts
    // of the devices underneath they use: all of them count.
    const bool is_multipath = ThisKernel().IsMultipath(name);
    for (const std::string& below : parts.underneath) {
      is_multipath ? AddDevice(below, -1, begin, end, depth + 1, ranges)
                   : AddDevice(below, -1, 0, 0, depth + 1, ranges);
    }
    return;
  }
  common::FileDescriptor opened;
  // sysfs tells enough of other devices. A loop device must be opened, to ask which file it shows.
  if (fd < 0 && name.rfind("loop", 0) == 0) {
    opened =
        common::FileDescriptor(open(("/dev/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  if (const auto backing = LoopBackingOf(fd >= 0 ? fd : opened.get())) {
    const uint64_t limit = backing->size_limit == 0 ? 0 : backing->offset + backing->size_limit;
    const uint64_t to = end == 0 ? limit : backing->offset + end;
    // Over another device it shows bytes of that one, which has other names, too.
    if (const auto below = ThisKernel().NameOf(backing->disk); backing->disk != 0 && below.ok()) {
      return AddDevice(*below, -1, backing->offset + begin, to, depth + 1, ranges);
    }
    // This is the thing that FileRanges makes of the file itself: a job on the file and one on the
    // loop device exclude each other.
    ranges->push_back(MakeRange(FileThing(FilesystemKey(backing->device, nullptr), backing->inode),
                                backing->offset + begin, to));
    return;
  }
  const std::string identity = ThisKernel().IdentityOf(name);
  ranges->push_back(MakeRange(
      identity.empty()
          // A name means a device only on this host, and until its next start.
          ? absl::StrCat("disk:", common::ReadTrimmed("/proc/sys/kernel/random/boot_id"), ":", name)
          : absl::StrCat("disk:", identity),
      begin, end));
}

}  // namespace

v1::ByteRange DiskRange(const std::string& identity) {
  return MakeRange(absl::StrCat("disk:", identity), 0, 0);
}

v1::ByteRange MountOptionsRange(dev_t filesystem) {
  return MakeRange(
      absl::StrCat("mount options:", common::ReadTrimmed("/proc/sys/kernel/random/boot_id"), ":",
                   major(filesystem), ":", minor(filesystem)),
      0, 0);
}

std::string NetworkSourceIn(const std::string& mounts, dev_t device) {
  static const std::set<std::string> kTypes = {"nfs",  "nfs4",   "cifs",   "smb3",
                                               "ceph", "lustre", "beegfs", "fuse.glusterfs"};
  for (const MountLine& line : ParseMountInfo(mounts)) {
    if (line.number == device && kTypes.contains(line.type)) return line.source;
  }
  return "";
}

std::string NetworkSource(dev_t device) {
  return NetworkSourceIn(common::ReadTrimmed("/proc/self/mountinfo"), device);
}

std::string FilesystemKey(dev_t device, const struct statfs* facts) {
  // Hosts that see one file system must find the same key for it, or their jobs do not exclude each
  // other. Where nothing tells the file system to other hosts, the boot id stands for this kernel.
  const auto disk = WholeDiskOf(device);
  if (disk.ok()) {
    const std::string identity = IdentityOfNumber(device);
    if (!identity.empty()) return identity;
  } else if (const std::string source = NetworkSource(device); !source.empty()) {
    return "net:" + source;
  } else if (facts != nullptr) {
    constexpr int64_t kNfs = 0x6969;
    constexpr int64_t kFuse = 0x65735546;
    const bool elsewhere = facts->f_type == kNfs || facts->f_type == kFuse;
    if (elsewhere && (facts->f_fsid.__val[0] != 0 || facts->f_fsid.__val[1] != 0)) {
      return absl::StrCat("fsid:", facts->f_fsid.__val[0], "-", facts->f_fsid.__val[1]);
    }
  }
  return absl::StrCat(common::ReadTrimmed("/proc/sys/kernel/random/boot_id"), ":", major(device),
                      ":", minor(device));
}

void FileRanges::Add(const std::string& thing) {
  uint64_t hash = HashOf(thing);
  // The order of the bytes is fixed, since hosts of a fleet may differ in theirs.
  for (int byte = 0; byte < 8; ++byte, hash >>= 8) bytes_.push_back(static_cast<char>(hash & 0xff));
}

std::string FileRanges::KeyOf(dev_t device, int fd) {
  // FilesystemKey() reads sysfs and mountinfo, which must not happen for each of 65,536 files.
  std::string& key = filesystems_[device];
  if (!key.empty()) return key;
  struct statfs facts;
  return key = key_(device, fstatfs(fd, &facts) == 0 ? &facts : nullptr);
}

void FileRanges::AddFile(const common::FileDescriptor& file) { AddFileAt(file, 0); }

void FileRanges::AddFileAt(const common::FileDescriptor& file, int depth) {
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return;
  Add(FileThing(KeyOf(facts.st_dev, file.get()), facts.st_ino));
  // An overlay numbers its files by itself. Its directories may lie on another overlay.
  constexpr int kMaxOverlays = 8;
  if (depth >= kMaxOverlays) return;
  for (const common::FileDescriptor& real : overlays_.Under(file, facts.st_dev))
    AddFileAt(real, depth + 1);
}

void FileRanges::AddName(const common::FileDescriptor& directory, const std::string& rest,
                         bool near) {
  struct stat facts;
  if (fstat(directory.get(), &facts) != 0) return;
  // The way up from a directory is walked once. Thousands of files may lie in it.
  std::vector<Above>& chain = directories_[{facts.st_dev, facts.st_ino}];
  if (chain.empty()) {
    char path[PATH_MAX] = {};
    const std::string link = absl::StrCat("/proc/self/fd/", directory.get());
    std::string way = readlink(link.c_str(), path, sizeof path - 1) > 0 ? path : "";
    chain.push_back(
        {absl::StrCat("name:", KeyOf(facts.st_dev, directory.get()), ":", facts.st_ino, "/"), ""});
    std::string prefix;
    common::FileDescriptor here(open(link.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < kDeepest && here.valid() && way.size() > 1; ++depth) {
      const size_t slash = way.rfind('/');
      prefix = absl::StrCat(way.substr(slash + 1), "/", prefix);
      way = way.substr(0, slash);
      here = common::FileDescriptor(openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
      struct stat above;
      // Beyond a mount point the names belong to another file system.
      if (!here.valid() || fstat(here.get(), &above) != 0 || above.st_dev != facts.st_dev) break;
      chain.push_back(
          {absl::StrCat("name:", KeyOf(above.st_dev, here.get()), ":", above.st_ino, "/"), prefix});
    }
  }
  // The nearest directory may be one that another run has just made: the outermost one knows both.
  for (const Above& above : chain) {
    if (!near || &above == &chain.front() || &above == &chain.back()) {
      Add(absl::StrCat(above.key, above.prefix, rest));
    }
  }
}

std::vector<v1::ByteRange> DeviceRanges(dev_t number, int fd) {
  std::vector<v1::ByteRange> ranges;
  const auto name = ThisKernel().NameOf(number);
  if (name.ok()) AddDevice(*name, fd, 0, 0, 0, &ranges);
  return ranges;
}

}  // namespace lockstep::worker
