#include "worker/host/block_devices.h"

#include <blkid/blkid.h>
#include <dirent.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::worker {
namespace {

using common::ReadTrimmed;

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* stream = opendir(folder.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = readdir(stream)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

std::string ClassFolder(const std::string& name) { return "/sys/class/block/" + name; }

bool IsPartition(const std::string& name) {
  return access((ClassFolder(name) + "/partition").c_str(), F_OK) == 0;
}

std::string ParentOf(const std::string& partition) {
  char resolved[PATH_MAX];
  if (realpath((ClassFolder(partition) + "/..").c_str(), resolved) == nullptr) return partition;
  const std::string path(resolved);
  return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> PartitionsOf(const std::string& disk) {
  std::vector<std::string> partitions;
  for (const std::string& entry : EntriesOf(ClassFolder(disk))) {
    if (access(absl::StrCat(ClassFolder(disk), "/", entry, "/partition").c_str(), F_OK) == 0) {
      partitions.push_back(entry);
    }
  }
  return partitions;
}

dev_t NumberOf(const std::string& name) {
  const std::vector<std::string> parts =
      absl::StrSplit(ReadTrimmed(ClassFolder(name) + "/dev"), ':');
  if (parts.size() != 2) return 0;
  return makedev(atoi(parts[0].c_str()), atoi(parts[1].c_str()));
}

std::string LoopIdentity(dev_t device, uint64_t inode) {
  return absl::StrCat("loop-file:", major(device), ":", minor(device), ":", inode);
}

std::string LoopIdentity(const std::string& name) {
  std::string backing = ReadTrimmed(ClassFolder(name) + "/loop/backing_file");
  struct stat facts;
  if (backing.empty() || stat(backing.c_str(), &facts) != 0) return "";
  return LoopIdentity(facts.st_dev, facts.st_ino);
}

uint64_t DiskSequence(const std::string& name) {
  return strtoull(
      ReadTrimmed(ClassFolder(IsPartition(name) ? ParentOf(name) : name) + "/diskseq").c_str(),
      nullptr, 10);
}

std::string IdentityOf(const std::string& name) {
  if (IsPartition(name)) {
    const std::string parent = IdentityOf(ParentOf(name));
    const std::string number = ReadTrimmed(ClassFolder(name) + "/partition");
    return parent.empty() ? "" : absl::StrCat(parent, "-part", number);
  }
  if (name.rfind("loop", 0) == 0) return LoopIdentity(name);
  if (name.rfind("zram", 0) == 0) {
    return absl::StrCat("zram:", ReadTrimmed("/proc/sys/kernel/random/boot_id"), ":", name);
  }
  for (const char* file : {"/wwid", "/device/wwid", "/nguid", "/eui", "/serial", "/device/serial",
                           "/dm/uuid", "/md/uuid"}) {
    std::string value = ReadTrimmed(ClassFolder(name) + file);
    std::replace(value.begin(), value.end(), ' ', '_');
    if (!value.empty()) return value;
  }
  return "";
}

// Where a device itself, not its partitions, is mounted or swapped on.
std::string MountOf(const std::string& name) {
  const dev_t number = NumberOf(name);
  std::unique_ptr<libmnt_table, void (*)(libmnt_table*)> mounts(
      mnt_new_table_from_file("/proc/self/mountinfo"), mnt_unref_table);
  if (mounts != nullptr) {
    if (libmnt_fs* found = mnt_table_find_devno(mounts.get(), number, MNT_ITER_FORWARD)) {
      return absl::StrCat("mounted on ", mnt_fs_get_target(found));
    }
    // btrfs and overlays mount under numbers of their own: compare the sources too.
    libmnt_iter* walk = mnt_new_iter(MNT_ITER_FORWARD);
    libmnt_fs* entry = nullptr;
    std::string target;
    while (target.empty() && mnt_table_next_fs(mounts.get(), walk, &entry) == 0) {
      const char* source = mnt_fs_get_srcpath(entry);
      struct stat facts;
      if (source != nullptr && source[0] == '/' && stat(source, &facts) == 0 &&
          S_ISBLK(facts.st_mode) && facts.st_rdev == number) {
        target = mnt_fs_get_target(entry);
      }
    }
    mnt_free_iter(walk);
    if (!target.empty()) return absl::StrCat("mounted on ", target);
  }
  for (const auto& line : absl::StrSplit(ReadTrimmed("/proc/swaps"), '\n')) {
    const std::string path(line.substr(0, line.find(' ')));
    struct stat facts;
    if (path.rfind('/', 0) == 0 && stat(path.c_str(), &facts) == 0 && S_ISBLK(facts.st_mode) &&
        facts.st_rdev == number) {
      return "in use as swap";
    }
  }
  return "";
}

std::string DirectUseOf(const std::string& name) {
  std::string use = MountOf(name);
  if (!use.empty()) return use;
  const std::vector<std::string> holders = EntriesOf(ClassFolder(name) + "/holders");
  if (!holders.empty()) return absl::StrCat("held by ", holders[0], " (LVM, md or multipath)");
  return "";
}

std::string SchedulerOf(const std::string& name) {
  const std::string text = ReadTrimmed(ClassFolder(name) + "/queue/scheduler");
  const size_t open = text.find('[');
  if (open == std::string::npos) return text;
  return text.substr(open + 1, text.find(']') - open - 1);
}

v1::BlockDevice Describe(const std::string& name) {
  v1::BlockDevice device;
  device.set_name(name);
  device.set_path("/dev/" + name);
  const dev_t number = NumberOf(name);
  device.set_major_number(major(number));
  device.set_minor_number(minor(number));
  device.set_size_bytes(strtoull(ReadTrimmed(ClassFolder(name) + "/size").c_str(), nullptr, 10) *
                        512);
  const std::string disk = IsPartition(name) ? ParentOf(name) : name;
  device.set_logical_block_bytes(
      atoi(ReadTrimmed(ClassFolder(disk) + "/queue/logical_block_size").c_str()));
  device.set_scheduler(SchedulerOf(disk));
  device.set_rotational(ReadTrimmed(ClassFolder(disk) + "/queue/rotational") == "1");
  device.set_read_only(ReadTrimmed(ClassFolder(name) + "/ro") == "1");
  device.set_model(ReadTrimmed(ClassFolder(disk) + "/device/model"));
  device.set_identity(IdentityOf(name));
  device.set_disk_sequence(DiskSequence(name));
  device.set_in_use(UseOf(name));
  return device;
}

}  // namespace

std::vector<v1::BlockDevice> ListBlockDevices() {
  std::vector<v1::BlockDevice> devices;
  for (const std::string& name : EntriesOf("/sys/class/block")) {
    if (ReadTrimmed(ClassFolder(name) + "/size") == "0") continue;
    devices.push_back(Describe(name));
  }
  return devices;
}

absl::StatusOr<std::string> NameOfNumber(dev_t number) {
  char resolved[PATH_MAX];
  const std::string link = absl::StrCat("/sys/dev/block/", major(number), ":", minor(number));
  if (realpath(link.c_str(), resolved) == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("block device ", major(number), ":", minor(number), " does not exist"));
  }
  const std::string path(resolved);
  return path.substr(path.rfind('/') + 1);
}

absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd) {
  const auto name = NameOfNumber(number);
  if (!name.ok()) return name.status();
  v1::BlockDevice device = Describe(*name);
  loop_info64 loop = {};
  if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &loop) == 0) {
    const auto encoded = static_cast<uint32_t>(loop.lo_device);
    device.set_identity(LoopIdentity(
        makedev((encoded & 0xfff00) >> 8, (encoded & 0xff) | ((encoded >> 12) & 0xfff00)),
        loop.lo_inode));
  }
  uint64_t sequence = 0;
#ifdef BLKGETDISKSEQ
  if (fd >= 0 && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0) device.set_disk_sequence(sequence);
#endif
  return device;
}

std::string IdentityOfDevice(const std::string& name) { return IdentityOf(name); }

std::string IdentityOfNumber(dev_t number) {
  const auto name = NameOfNumber(number);
  return name.ok() ? IdentityOf(*name) : "";
}

BlockDeviceParts PartsOf(const std::string& name) {
  constexpr uint64_t kSector = 512;
  BlockDeviceParts parts;
  parts.size_bytes =
      strtoull(ReadTrimmed(ClassFolder(name) + "/size").c_str(), nullptr, 10) * kSector;
  if (IsPartition(name)) {
    parts.parent = ParentOf(name);
    parts.start_bytes =
        strtoull(ReadTrimmed(ClassFolder(name) + "/start").c_str(), nullptr, 10) * kSector;
  }
  parts.underneath = EntriesOf(ClassFolder(name) + "/slaves");
  return parts;
}

absl::StatusOr<std::string> WholeDiskOf(dev_t number) {
  const auto name = NameOfNumber(number);
  if (!name.ok()) return name.status();
  return IsPartition(*name) ? ParentOf(*name) : *name;
}

std::string UseOf(const std::string& name) {
  std::string use = DirectUseOf(name);
  if (!use.empty()) return use;
  if (IsPartition(name)) {
    const std::string disk = ParentOf(name);
    use = DirectUseOf(disk);
    return use.empty() ? "" : absl::StrCat("on ", disk, ", which is ", use);
  }
  for (const std::string& partition : PartitionsOf(name)) {
    use = DirectUseOf(partition);
    if (!use.empty()) return absl::StrCat("its partition ", partition, " is ", use);
  }
  return "";
}

absl::StatusOr<std::string> SignatureOf(int fd, const std::string& path) {
  std::unique_ptr<blkid_struct_probe, void (*)(blkid_probe)> probe(blkid_new_probe(),
                                                                   blkid_free_probe);
  if (probe == nullptr || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return absl::UnavailableError(absl::StrCat(path, ": libblkid cannot read it"));
  }
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
  blkid_probe_enable_partitions(probe.get(), 1);
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

}  // namespace lockstep::worker
