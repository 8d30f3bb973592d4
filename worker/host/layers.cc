#include "worker/host/layers.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

// The limit for layers that lie on each other. Real stacks have fewer than ten.
constexpr size_t kMaxDepthOfStack = 32;
constexpr size_t kMaxText = 128;

// File systems over several devices have a read-ahead of their own (super_setup_bdi()).
bool KeepsReadAhead(const std::string& type) { return type == "btrfs" || type == "bcachefs"; }

}  // namespace

StorageLayers::StorageLayers(const std::string& root, const std::string& mountinfo,
                             size_t max_layers)
    : root_(root), max_layers_(max_layers), kernel_(root), mounts_(root, mountinfo) {}

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
  // A layer that is left out is remembered, too. A stack whose devices share their parts would
  // otherwise be walked once for each way through it.
  if (layers_.size() >= max_layers_) return numbers_[key] = 0;
  for (const uint32_t part : parts) {
    if (part != 0) layer.add_underneath(part);
  }
  layers_.push_back(std::move(layer));
  return numbers_[key] = static_cast<uint32_t>(layers_.size());
}

uint32_t StorageLayers::AddMount(uint64_t mount_id) {
  const MountLine* mount = mount_id == 0 ? nullptr : mounts_.WithId(mount_id);
  return mount == nullptr ? 0 : AddFilesystem(*mount);
}

uint32_t StorageLayers::AddFilesystem(const MountLine& mount) {
  v1::StorageLayer layer;
  layer.set_kind(common::Printable(mount.type, 64));
  layer.set_mount_point(common::Printable(mount.target, PATH_MAX));
  // A file system that is mounted at several places is one layer.
  return Add(absl::StrCat("mounted ", major(mount.number), ":", minor(mount.number)),
             std::move(layer), [&](std::set<uint32_t>* parts) { AddPartsOf(mount, parts); });
}

void StorageLayers::AddPartsOf(const MountLine& mount, std::set<uint32_t>* parts) {
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
    for (const std::string& directory : OverlayDirectories(mount.filesystem_options)) {
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
  layer.set_identity(common::Printable(IdentityOf(disk), 512));
  layer.set_label(common::Printable(common::ReadTrimmed(folder + "/dm/name"), kMaxText));
  // As in KernelBlocks::Describe().
  layer.set_page_cached(common::ReadTrimmed(folder + "/loop/dio") == "0");
  return Add(key, std::move(layer), [&](std::set<uint32_t>* parts) { AddPartsOf(disk, parts); });
}

void StorageLayers::AddPartsOf(const std::string& disk, std::set<uint32_t>* parts) {
  for (const std::string& part : kernel_.PartsOf(disk).underneath) parts->insert(AddDevice(part));
  const std::string backing =
      common::ReadTrimmed(absl::StrCat(root_, "/sys/class/block/", disk, "/loop/backing_file"));
  if (!backing.empty()) parts->insert(AddPath(PathOfBackingFile(backing)));
}

uint32_t StorageLayers::AddPath(const std::string& path) {
  if (!absl::StartsWith(path, "/")) return 0;  // relative to where somebody was when it was mounted
  if (const std::string device = DeviceNamed(path); !device.empty()) return AddDevice(device);
  const auto location = mounts_.Find(path);
  struct stat facts;
  // In a container the path may be one of the host. It then leads nowhere here, and a guess by its
  // beginning would name a wrong device. A server is not asked, and has no device here.
  if (!location.ok() ||
      (location->is_local && lstat((root_ + location->path).c_str(), &facts) != 0)) {
    return 0;
  }
  return AddFilesystem(*location->mount);
}

std::string StorageLayers::IdentityOf(const std::string& disk) const {
  const std::string backing =
      common::ReadTrimmed(absl::StrCat(root_, "/sys/class/block/", disk, "/loop/backing_file"));
  if (backing.empty()) return kernel_.IdentityOf(disk);
  // The identity of a loop device is its file's, which is looked at for it.
  const auto location = mounts_.Find(backing);
  return location.ok() && location->is_local ? kernel_.IdentityOf(disk) : "";
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
  const auto location = mounts_.Find(path);
  struct stat facts;
  if (!location.ok() || !location->is_local ||
      lstat((root_ + location->path).c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode)) {
    return "";
  }
  const auto found = kernel_.NameOf(facts.st_rdev);
  return found.ok() ? *found : "";
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

uint32_t NumberOf(const std::vector<v1::StorageLayer>& layers, const v1::StorageLayer& layer) {
  return static_cast<uint32_t>(&layer - layers.data()) + 1;
}

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

// The nearest devices among and underneath these layers.
std::vector<uint32_t> NearestDevices(const std::vector<v1::StorageLayer>& layers,
                                     const std::vector<uint32_t>& from) {
  std::vector<uint32_t> found;
  std::set<uint32_t> seen;
  for (const uint32_t number : from) {
    WalkDown(layers, number, &seen, [&](const v1::StorageLayer& layer) {
      if (!layer.device_name().empty()) found.push_back(NumberOf(layers, layer));
      return layer.device_name().empty();
    });
  }
  return found;
}

// Whether it is a mapped device: one that is made of devices.
bool IsMadeOfDevices(const std::vector<v1::StorageLayer>& layers, const v1::StorageLayer& layer) {
  return std::any_of(layer.underneath().begin(), layer.underneath().end(), [&](uint32_t part) {
    return part != 0 && part <= layers.size() && !layers[part - 1].device_name().empty();
  });
}

// The file of a device that passes each I/O on says "none" without brackets (elv_iosched_show()),
// or is missing.
bool HasQueue(const std::string& root, const std::string& device) {
  const std::string choices =
      common::ReadTrimmed(absl::StrCat(root, "/sys/class/block/", device, "/queue/scheduler"));
  return !choices.empty() && choices != "none";
}

}  // namespace

std::set<uint32_t> LayersBelow(const std::vector<v1::StorageLayer>& layers, uint32_t number) {
  std::set<uint32_t> below;
  if (number == 0 || number > layers.size()) return below;
  for (const uint32_t part : layers[number - 1].underneath()) {
    WalkDown(layers, part, &below, [](const v1::StorageLayer&) { return true; });
  }
  return below;
}

std::vector<std::string> TopDevicesUnder(const std::vector<v1::StorageLayer>& layers,
                                         uint32_t top) {
  std::vector<uint32_t> tops = NearestDevices(layers, {top});
  const auto lies_over_another = [&](uint32_t number) {
    const std::set<uint32_t> below = LayersBelow(layers, number);
    return std::any_of(tops.begin(), tops.end(),
                       [&](uint32_t other) { return below.contains(other); });
  };
  // An overlay can have one directory on a disk and another on a loop device over a file of that
  // disk. All I/O passes the disk then, and only a part of it the loop device.
  for (auto over = std::find_if(tops.begin(), tops.end(), lies_over_another); over != tops.end();
       over = std::find_if(tops.begin(), tops.end(), lies_over_another)) {
    const auto& parts = layers[*over - 1].underneath();
    tops.erase(over);
    for (const uint32_t part : NearestDevices(layers, {parts.begin(), parts.end()})) {
      if (std::find(tops.begin(), tops.end(), part) == tops.end()) tops.push_back(part);
    }
  }
  std::vector<std::string> names;
  for (const uint32_t number : tops) names.push_back(layers[number - 1].device_name());
  return names;
}

std::set<std::string> DevicesBelow(const std::vector<v1::StorageLayer>& layers, uint32_t number) {
  std::set<std::string> names;
  for (const uint32_t below : LayersBelow(layers, number)) {
    const std::string& name = layers[below - 1].device_name();
    if (!name.empty()) names.insert(name);
  }
  return names;
}

std::vector<uint32_t> MergeLayers(const std::vector<v1::StorageLayer>& layers,
                                  v1::Inspection* inspection) {
  const auto key_of = [](const v1::StorageLayer& layer) {
    return layer.device_name().empty() ? absl::StrCat(layer.kind(), " at ", layer.mount_point())
                                       : absl::StrCat("device ", layer.device_name());
  };
  std::map<std::string, uint32_t> known;
  for (int i = 0; i < inspection->layers_size(); ++i) {
    known.emplace(key_of(inspection->layers(i)), static_cast<uint32_t>(i) + 1);
  }
  std::vector<uint32_t> numbers;
  for (const v1::StorageLayer& layer : layers) {
    const auto there = known.find(key_of(layer));
    if (there != known.end()) {
      numbers.push_back(there->second);
      continue;
    }
    if (inspection->layers_size() >= limits::kStorageLayers) {
      numbers.push_back(0);
      continue;
    }
    v1::StorageLayer* added = inspection->add_layers();
    *added = layer;
    added->clear_underneath();
    // Those underneath come first in the list, so that their numbers are known, and are smaller.
    for (const uint32_t part : layer.underneath()) {
      if (part > 0 && part <= numbers.size() && numbers[part - 1] != 0) {
        added->add_underneath(numbers[part - 1]);
      }
    }
    numbers.push_back(static_cast<uint32_t>(inspection->layers_size()));
  }
  return numbers;
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
