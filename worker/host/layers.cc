#include "worker/host/layers.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

// Of layers that lie on each other. Real stacks have fewer than ten.
constexpr size_t kMaxDepthOfStack = 32;
constexpr size_t kMaxText = 128;

// File systems over several devices have a read-ahead of their own (super_setup_bdi()).
bool KeepsReadAhead(const std::string& type) { return type == "btrfs" || type == "bcachefs"; }

// The kernel writes blanks, backslashes and, in options, commas as three octal digits
// (seq_escape()).
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_octal = text[i] == '\\' && i + 3 < text.size() &&
                          sscanf(text.substr(i + 1, 3).c_str(), "%3o", &value) == 1;
    plain.push_back(is_octal ? static_cast<char>(value) : text[i]);
    if (is_octal) i += 3;
  }
  return plain;
}

dev_t NumberFrom(const std::string& text) {
  unsigned major_number = 0;
  unsigned minor_number = 0;
  if (sscanf(text.c_str(), "%u:%u", &major_number, &minor_number) != 2) return 0;
  return makedev(major_number, minor_number);
}

// The directories that an overlay is made of, as they were given at the mount: the upper one first,
// which gets what is written.
std::vector<std::string> OverlayDirectories(const std::string& options) {
  std::vector<std::string> directories;
  for (const auto& option : absl::StrSplit(options, ',')) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    const std::string value = Unescaped(pair.second);
    if (pair.first == "upperdir") directories.insert(directories.begin(), value);
    // Since Linux 6.7 layers can be added one by one, and the kernel then shows an option for each.
    if (pair.first == "lowerdir+" || pair.first == "datadir+") directories.push_back(value);
    if (pair.first != "lowerdir") continue;
    // A colon in a name has a backslash before it.
    const std::string parts = absl::StrReplaceAll(value, {{"\\:", std::string(1, '\0')}});
    for (const auto& part : absl::StrSplit(parts, ':', absl::SkipEmpty())) {
      directories.push_back(absl::StrReplaceAll(part, {{std::string(1, '\0'), ":"}}));
    }
  }
  return directories;
}

}  // namespace

StorageLayers::StorageLayers(const std::string& root, const std::string& mountinfo)
    : root_(root), kernel_(root) {
  // "36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda rw,errors=continue"
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    Mount mount;
    if (dash - fields.begin() < 6 || fields.end() - dash < 4 ||
        !absl::SimpleAtoi(fields[0], &mount.id)) {
      continue;
    }
    mount.number = NumberFrom(fields[2]);
    mount.target = Unescaped(fields[4]);
    mount.type = dash[1];
    mount.source = Unescaped(dash[2]);
    mount.options = dash[3];
    mounts_.push_back(std::move(mount));
  }
}

template <typename FindParts>
uint32_t StorageLayers::Add(const std::string& key, v1::StorageLayer layer, FindParts find_parts) {
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  // A loop device can lie on an overlay whose lower directory is on that loop device, and sysfs may
  // change during the walk.
  if (in_progress_.contains(key) || in_progress_.size() >= kMaxDepthOfStack) return 0;
  in_progress_.insert(key);
  std::set<uint32_t> parts;
  find_parts(&parts);
  in_progress_.erase(key);
  // That it is left out is remembered, too. A stack whose devices share their parts would otherwise
  // be walked once for each way through it.
  if (layers_.size() >= static_cast<size_t>(limits::kStorageLayers)) return numbers_[key] = 0;
  for (const uint32_t part : parts) {
    if (part != 0) layer.add_underneath(part);
  }
  layers_.push_back(std::move(layer));
  return numbers_[key] = static_cast<uint32_t>(layers_.size());
}

uint32_t StorageLayers::AddMount(uint64_t mount_id) {
  const auto found = std::find_if(mounts_.begin(), mounts_.end(),
                                  [&](const Mount& mount) { return mount.id == mount_id; });
  return mount_id == 0 || found == mounts_.end() ? 0 : AddFilesystem(*found);
}

uint32_t StorageLayers::AddFilesystem(const Mount& mount) {
  v1::StorageLayer layer;
  layer.set_kind(common::Printable(mount.type, 64));
  layer.set_mount_point(common::Printable(mount.target, PATH_MAX));
  // A file system that is mounted at several places is one layer.
  return Add(absl::StrCat("mounted ", major(mount.number), ":", minor(mount.number)),
             std::move(layer), [&](std::set<uint32_t>* parts) { AddPartsOf(mount, parts); });
}

void StorageLayers::AddPartsOf(const Mount& mount, std::set<uint32_t>* parts) {
  if (major(mount.number) != 0) {
    const auto name = kernel_.NameOf(mount.number);
    if (name.ok()) parts->insert(AddDevice(*name));
    return;
  }
  // Only of these types the kernel itself names the source or the directories. The source of a FUSE
  // mount is what the user who mounted it wrote.
  if (mount.type == "btrfs") {
    for (const std::string& device : BtrfsDevices(DeviceNamed(mount.source))) {
      parts->insert(AddDevice(device));
    }
  } else if (mount.type == "bcachefs") {
    for (const auto& path : absl::StrSplit(mount.source, ':')) {
      const std::string device = DeviceNamed(std::string(path));
      if (!device.empty()) parts->insert(AddDevice(device));
    }
  } else if (mount.type == "overlay") {
    for (const std::string& directory : OverlayDirectories(mount.options)) {
      parts->insert(AddPath(directory));
    }
  }
}

uint32_t StorageLayers::AddDevice(const std::string& name) {
  if (name.empty() || absl::StrContains(name, '/') ||
      access(absl::StrCat(root_, "/sys/class/block/", name).c_str(), F_OK) != 0) {
    return 0;
  }
  // The kernel counts merges and the queue of a disk, not of its partitions.
  const std::string disk = kernel_.WholeDiskOf(name);
  const std::string key = "device " + disk;
  // sysfs need not be read again for each target.
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  const std::string folder = absl::StrCat(root_, "/sys/class/block/", disk);
  v1::StorageLayer layer;
  layer.set_kind(common::Printable(kernel_.KindOf(disk), 64));
  layer.set_device_name(disk);
  layer.set_identity(common::Printable(kernel_.IdentityOf(disk), 512));
  layer.set_label(common::Printable(common::ReadTrimmed(folder + "/dm/name"), kMaxText));
  // As in KernelBlocks::Describe().
  layer.set_page_cached(common::ReadTrimmed(folder + "/loop/dio") == "0");
  return Add(key, std::move(layer), [&](std::set<uint32_t>* parts) { AddPartsOf(disk, parts); });
}

void StorageLayers::AddPartsOf(const std::string& disk, std::set<uint32_t>* parts) {
  for (const std::string& part : kernel_.PartsOf(disk).underneath) parts->insert(AddDevice(part));
  const std::string backing =
      common::ReadTrimmed(absl::StrCat(root_, "/sys/class/block/", disk, "/loop/backing_file"));
  if (!backing.empty()) parts->insert(AddPath(backing));
}

uint32_t StorageLayers::AddPath(const std::string& path) {
  if (!absl::StartsWith(path, "/")) return 0;  // relative to where somebody was when it was mounted
  if (const std::string device = DeviceNamed(path); !device.empty()) return AddDevice(device);
  // The directory of a file that has lost its name is where it was.
  const bool is_deleted = absl::EndsWith(path, " (deleted)");
  const std::string known =
      is_deleted ? path.substr(0, std::max<size_t>(1, path.rfind('/'))) : path;
  // In a container the path may be one of the host. It then leads nowhere here, and a guess by its
  // beginning would name a wrong device.
  const Mount* mount = MountHolding(RealPath(known));
  return mount == nullptr ? 0 : AddFilesystem(*mount);
}

std::vector<std::string> StorageLayers::BtrfsDevices(const std::string& device) const {
  // Each file system is a folder by its UUID, with a link for each device, also where it has one.
  const std::string folder = root_ + "/sys/fs/btrfs";
  for (const std::string& uuid : EntriesOf(folder)) {
    std::vector<std::string> devices = EntriesOf(absl::StrCat(folder, "/", uuid, "/devices"));
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) return devices;
  }
  return device.empty() ? std::vector<std::string>{} : std::vector<std::string>{device};
}

std::string StorageLayers::DeviceNamed(const std::string& path) const {
  if (!absl::StartsWith(path, "/dev/")) return "";
  // By name first: a container's /dev may lack the node. sysfs has an exclamation mark for each
  // slash in a name.
  const std::string name = absl::StrReplaceAll(path.substr(5), {{"/", "!"}});
  const std::string blocks = root_ + "/sys/class/block";
  if (!name.empty() && name[0] != '.' && access(absl::StrCat(blocks, "/", name).c_str(), F_OK) == 0)
    return name;
  if (absl::StartsWith(path, "/dev/mapper/")) {
    for (const std::string& entry : EntriesOf(blocks)) {
      const std::string mapped = common::ReadTrimmed(absl::StrCat(blocks, "/", entry, "/dm/name"));
      if (!mapped.empty() && mapped == path.substr(12)) return entry;
    }
  }
  struct stat facts;
  if (stat((root_ + path).c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode)) return "";
  const auto found = kernel_.NameOf(facts.st_rdev);
  return found.ok() ? *found : "";
}

std::string StorageLayers::RealPath(const std::string& path) const {
  char base[PATH_MAX];
  char resolved[PATH_MAX];
  if (realpath((root_ + "/").c_str(), base) == nullptr ||
      realpath((root_ + path).c_str(), resolved) == nullptr) {
    return "";
  }
  const std::string above = root_.empty() ? "" : base;
  const std::string real(resolved);
  if (!absl::StartsWith(real, above)) return "";
  return real.size() == above.size() ? "/" : real.substr(above.size());
}

const StorageLayers::Mount* StorageLayers::MountHolding(const std::string& path) const {
  const Mount* nearest = nullptr;
  for (const Mount& mount : mounts_) {
    const bool is_above = !path.empty() && (mount.target == "/" || path == mount.target ||
                                            absl::StartsWith(path, mount.target + "/"));
    // Of two mounts at one place the later one is seen, hence `>=`.
    if (is_above && (nearest == nullptr || mount.target.size() >= nearest->target.size())) {
      nearest = &mount;
    }
  }
  return nearest;
}

uint64_t MountIdOf(int fd) {
  std::istringstream words(common::ReadTrimmed(absl::StrCat("/proc/self/fdinfo/", fd)));
  for (std::string word; words >> word;) {
    uint64_t id = 0;
    if (word == "mnt_id:" && words >> id) return id;
  }
  return 0;
}

namespace {

// Walks down from a layer. `goes_on` says whether to look underneath a layer, too. Each layer is
// seen once.
void WalkDown(const std::vector<v1::StorageLayer>& layers, uint32_t number,
              std::set<uint32_t>* seen,
              const std::function<bool(const v1::StorageLayer&)>& goes_on) {
  if (number == 0 || number > layers.size() || !seen->insert(number).second) return;
  const v1::StorageLayer& layer = layers[number - 1];
  if (!goes_on(layer)) return;
  for (const uint32_t part : layer.underneath()) WalkDown(layers, part, seen, goes_on);
}

// Whether it is a mapped device: one that is made of devices.
bool IsMadeOfDevices(const std::vector<v1::StorageLayer>& layers, const v1::StorageLayer& layer) {
  return std::any_of(layer.underneath().begin(), layer.underneath().end(), [&](uint32_t part) {
    return part != 0 && part <= layers.size() && !layers[part - 1].device_name().empty();
  });
}

// Of a device that passes each I/O on the file says "none" without brackets (elv_iosched_show()),
// or is missing.
bool HasQueue(const std::string& root, const std::string& device) {
  const std::string choices =
      common::ReadTrimmed(absl::StrCat(root, "/sys/class/block/", device, "/queue/scheduler"));
  return !choices.empty() && choices != "none";
}

}  // namespace

std::vector<std::string> TopDevicesUnder(const std::vector<v1::StorageLayer>& layers,
                                         uint32_t top) {
  std::set<std::string> below;
  std::vector<std::string> found;
  std::set<uint32_t> seen;
  WalkDown(layers, top, &seen, [&](const v1::StorageLayer& layer) {
    if (layer.device_name().empty()) return true;
    found.push_back(layer.device_name());
    std::set<uint32_t> under;
    for (const uint32_t part : layer.underneath()) {
      WalkDown(layers, part, &under, [&](const v1::StorageLayer& lower) {
        if (!lower.device_name().empty()) below.insert(lower.device_name());
        return true;
      });
    }
    return false;
  });
  // An overlay can have one directory on a disk and another on a loop device over a file of that
  // disk.
  std::erase_if(found, [&](const std::string& device) { return below.contains(device); });
  return found;
}

std::vector<std::string> QueuesUnder(const std::string& root,
                                     const std::vector<v1::StorageLayer>& layers, uint32_t top) {
  std::vector<std::string> found;
  std::set<uint32_t> seen;
  WalkDown(layers, top, &seen, [&](const v1::StorageLayer& layer) {
    const std::string& device = layer.device_name();
    if (device.empty()) return true;
    if (IsMadeOfDevices(layers, layer) && !HasQueue(root, device)) return true;
    found.push_back(device);
    return false;
  });
  return found;
}

absl::StatusOr<std::vector<std::string>> ReadAheadDevicesUnder(
    const std::vector<v1::StorageLayer>& layers, uint32_t top) {
  std::string with_own;
  std::vector<std::string> found;
  std::set<uint32_t> seen;
  WalkDown(layers, top, &seen, [&](const v1::StorageLayer& layer) {
    if (KeepsReadAhead(layer.kind())) with_own = layer.kind();
    if (!layer.device_name().empty()) found.push_back(layer.device_name());
    return layer.device_name().empty();
  });
  if (!with_own.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(with_own,
                     " keeps a read-ahead of its own (/sys/class/bdi), which Lockstep "
                     "does not change: leave read_ahead out"));
  }
  return found;
}

}  // namespace lockstep::worker
