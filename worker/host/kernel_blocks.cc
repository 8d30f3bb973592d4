#include "worker/host/kernel_blocks.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/limits.h"

namespace lockstep::worker {
namespace {

using common::ReadTrimmed;

// sysfs counts in sectors of 512 bytes, whatever the logical block size is.
constexpr uint64_t kSector = 512;

}  // namespace

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* stream = opendir(folder.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = readdir(stream)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(stream);
  // readdir(3) promises no order. Sorted, the first path or holder of a device is the same each
  // time.
  std::sort(names.begin(), names.end());
  return names;
}

uint64_t NumberIn(const std::string& text) { return strtoull(text.c_str(), nullptr, 10); }

std::string KernelBlocks::Folder(const std::string& name) const {
  return absl::StrCat(root_, "/sys/class/block/", name);
}

std::string KernelBlocks::Read(const std::string& name, const std::string& file) const {
  return ReadTrimmed(absl::StrCat(Folder(name), "/", file));
}

bool KernelBlocks::IsPartition(const std::string& name) const {
  return access((Folder(name) + "/partition").c_str(), F_OK) == 0;
}

std::string KernelBlocks::ParentOf(const std::string& partition) const {
  char resolved[PATH_MAX];
  // /sys/class/block/sda1 is a link to a folder inside that of sda.
  if (realpath((Folder(partition) + "/..").c_str(), resolved) == nullptr) return partition;
  const std::string path(resolved);
  return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> KernelBlocks::PartitionsOf(const std::string& disk) const {
  std::vector<std::string> partitions;
  for (const std::string& entry : EntriesOf(Folder(disk))) {
    // A disk's folder has other folders, too (queue, holders, slaves). Only a partition's has this
    // file.
    if (access(absl::StrCat(Folder(disk), "/", entry, "/partition").c_str(), F_OK) == 0) {
      partitions.push_back(entry);
    }
  }
  return partitions;
}

dev_t KernelBlocks::NumberOf(const std::string& name) const {
  const std::vector<std::string> parts = absl::StrSplit(Read(name, "dev"), ':');
  // No block device has the number 0:0, so that 0 stands for none.
  if (parts.size() != 2) return 0;
  return makedev(atoi(parts[0].c_str()), atoi(parts[1].c_str()));
}

std::string KernelBlocks::LoopIdentity(dev_t device, uint64_t inode, uint64_t offset,
                                       uint64_t size_limit) {
  const std::string file =
      absl::StrCat("loop-file:", major(device), ":", minor(device), ":", inode);
  // Loop devices may show different parts of one file. Offset and limit then tell them apart.
  if (offset == 0 && size_limit == 0) return file;
  return absl::StrCat(file, "@", offset, size_limit == 0 ? "" : absl::StrCat("+", size_limit));
}

std::string KernelBlocks::PartitionSuffixOf(const std::string& name) const {
  return IsPartition(name) ? absl::StrCat("-part", Read(name, "partition")) : "";
}

std::string KernelBlocks::IdentityOf(const std::string& name) const {
  if (IsPartition(name)) {
    const std::string parent = IdentityOf(ParentOf(name));
    return parent.empty() ? "" : parent + PartitionSuffixOf(name);
  }
  if (absl::StartsWith(name, "loop")) {
    // sysfs has no more than a path, which may lead to another file here. DescribeBlockDevice()
    // asks the device itself where it is open.
    const std::string backing = Read(name, "loop/backing_file");
    struct stat facts;
    if (backing.empty() || stat(backing.c_str(), &facts) != 0) return "";
    uint64_t offset = 0;
    uint64_t size_limit = 0;
    (void)absl::SimpleAtoi(Read(name, "loop/offset"), &offset);
    (void)absl::SimpleAtoi(Read(name, "loop/sizelimit"), &size_limit);
    return LoopIdentity(facts.st_dev, facts.st_ino, offset, size_limit);
  }
  if (absl::StartsWith(name, "zram")) {
    // After a restart the same name means other memory.
    return absl::StrCat("zram:", ReadTrimmed(root_ + "/proc/sys/kernel/random/boot_id"), ":", name);
  }
  // A multipath device is the LUN that all of its paths lead to.
  if (absl::StartsWith(Read(name, "dm/uuid"), "mpath-")) {
    const std::vector<std::string> paths = EntriesOf(Folder(name) + "/slaves");
    const std::string lun = paths.empty() ? "" : IdentityOf(paths.front());
    if (!lun.empty() && std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
          return IdentityOf(path) == lun;
        })) {
      return lun;
    }
  }
  // Names that are unique in the world come first. A serial number is unique only among the devices
  // of its vendor.
  for (const char* file :
       {"wwid", "device/wwid", "nguid", "eui", "serial", "device/serial", "dm/uuid", "md/uuid"}) {
    std::string value = Read(name, file);
    std::replace(value.begin(), value.end(), ' ', '_');
    if (!value.empty()) return value;
  }
  for (const char* key : {"ID_WWN_WITH_EXTENSION", "ID_SERIAL"}) {
    if (std::string value = UdevOf(name, key); !value.empty()) return value;
  }
  return "";
}

std::string KernelBlocks::DirectUseOf(const std::string& name, const KernelUses& uses) const {
  const dev_t number = NumberOf(name);
  const auto mounts = uses.MountsOf(number);
  if (!mounts.empty()) return absl::StrCat("mounted on ", mounts.front()->target);
  if (uses.IsSwap(number)) return "in use as swap";
  const std::vector<std::string> holders = EntriesOf(Folder(name) + "/holders");
  if (!holders.empty()) return absl::StrCat("held by ", holders[0], " (LVM, md or multipath)");
  return "";
}

std::string KernelBlocks::UseOf(const std::string& name) const {
  return UseOf(name, KernelUses(root_));
}

std::string KernelBlocks::WholeUseOf(const std::string& disk, const KernelUses& uses) const {
  std::string use = DirectUseOf(disk, uses);
  if (!use.empty()) return use;
  for (const std::string& partition : PartitionsOf(disk)) {
    use = DirectUseOf(partition, uses);
    if (!use.empty()) return absl::StrCat("its partition ", partition, " is ", use);
  }
  return "";
}

std::string KernelBlocks::UseOf(const std::string& name, const KernelUses& uses) const {
  std::string use = WholeUseOf(name, uses);
  if (!use.empty()) return use;
  if (IsPartition(name)) {
    // The neighbours of a partition hold other bytes. Only a user of the whole disk uses this
    // partition's bytes, too.
    const std::string disk = ParentOf(name);
    use = DirectUseOf(disk, uses);
    if (!use.empty()) return absl::StrCat("on ", disk, ", which is ", use);
  }
  // The loop devices come last: they must be opened, and all the rest is read from tables.
  return UseThroughLoops(name, uses);
}

v1::BlockDevice KernelBlocks::Describe(const std::string& name) const {
  return Describe(name, KernelUses(root_));
}

v1::BlockDevice KernelBlocks::Describe(const std::string& name, const KernelUses& uses) const {
  v1::BlockDevice device;
  device.set_name(name);
  device.set_path("/dev/" + name);
  const dev_t number = NumberOf(name);
  device.set_major_number(major(number));
  device.set_minor_number(minor(number));
  device.set_size_bytes(NumberIn(Read(name, "size")) * kSector);
  device.set_read_only(Read(name, "ro") == "1");
  // Without dio a loop device goes through the page cache of its file, also under O_DIRECT.
  device.set_page_cached(Read(WholeDiskOf(name), "loop/dio") == "0");
  device.set_identity(IdentityOf(name));
  DescribeQueue(WholeDiskOf(name), &device);
  if (IsPartition(name)) {
    device.set_disk_identity(IdentityOf(ParentOf(name)));
    device.set_begin_bytes(NumberIn(Read(name, "start")) * kSector);
  }
  for (const std::string& partition : PartitionsOf(name)) device.add_partitions(partition);
  for (const std::string& holder : EntriesOf(Folder(name) + "/holders")) device.add_holders(holder);
  for (const std::string& part : EntriesOf(Folder(name) + "/slaves")) {
    device.add_underneath(IdentityOf(part));
  }
  const std::vector<const MountEntry*> mounts = uses.MountsOf(number);
  // A host of containers has thousands of bind mounts of one device.
  const size_t told = std::min(mounts.size(), static_cast<size_t>(limits::kMountsOfADevice));
  for (size_t i = 0; i < told; ++i) {
    const MountEntry* mount = mounts[i];
    device.add_mounts(absl::StrCat(mount->type, " on ", mount->target, " (", mount->options, ";",
                                   mount->filesystem_options, ")"));
  }
  if (told < mounts.size()) device.add_mounts(absl::StrCat("and ", mounts.size() - told, " more"));
  device.set_in_use(UseOf(name, uses));
  device.set_busy(!DirectUseOf(name, uses).empty());
  for (v1::DevicePath& path : PathsOf(name)) *device.add_paths() = std::move(path);
  return device;
}

std::vector<v1::BlockDevice> KernelBlocks::List() const {
  // Mounts, swaps and loop devices are read once for the whole list. Describe(name) alone reads all
  // of them for each device.
  const KernelUses uses(root_);
  std::vector<v1::BlockDevice> devices;
  for (const std::string& name : EntriesOf(root_ + "/sys/class/block")) {
    // A path of a multipath device that the kernel hides has no number: nobody can open it.
    if (NumberOf(name) == 0) continue;
    // A loop device without a file and a drive without a medium have no size.
    if (Read(name, "size") != "0") devices.push_back(Describe(name, uses));
  }
  return devices;
}

absl::StatusOr<std::string> KernelBlocks::NameOf(dev_t number) const {
  char resolved[PATH_MAX];
  const std::string link =
      absl::StrCat(root_, "/sys/dev/block/", major(number), ":", minor(number));
  if (realpath(link.c_str(), resolved) == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("block device ", major(number), ":", minor(number), " does not exist"));
  }
  const std::string path(resolved);
  return path.substr(path.rfind('/') + 1);
}

BlockDeviceParts KernelBlocks::PartsOf(const std::string& name) const {
  BlockDeviceParts parts;
  parts.size_bytes = NumberIn(Read(name, "size")) * kSector;
  if (IsPartition(name)) {
    parts.parent = ParentOf(name);
    parts.start_bytes = NumberIn(Read(name, "start")) * kSector;
  }
  parts.underneath = EntriesOf(Folder(name) + "/slaves");
  return parts;
}

std::string KernelBlocks::WholeDiskOf(const std::string& name) const {
  return IsPartition(name) ? ParentOf(name) : name;
}

}  // namespace lockstep::worker
