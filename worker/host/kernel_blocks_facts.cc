// Facts about a disk, as sysfs and udev's database have them.

#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"
#include "worker/host/kernel_blocks.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxFact = 256;

// "none [mq-deadline] kyber": the one in brackets.
std::string Chosen(const std::string& text) {
  const size_t open = text.find('[');
  if (open == std::string::npos) return text;
  return text.substr(open + 1, text.find(']') - open - 1);
}

// The component of a path that begins so; empty where there is none.
std::string ComponentOf(const std::string& path, const std::string& prefix) {
  for (const auto& part : absl::StrSplit(path, '/')) {
    if (absl::StartsWith(part, prefix)) return std::string(part);
  }
  return "";
}

}  // namespace

std::string KernelBlocks::UdevOf(const std::string& name, const std::string& key) const {
  const dev_t number = NumberOf(name);
  const std::string database = common::ReadTrimmed(
      absl::StrCat(root_, "/run/udev/data/b", major(number), ":", minor(number)));
  const std::string wanted = absl::StrCat("E:", key, "=");
  for (const auto& line : absl::StrSplit(database, '\n')) {
    if (absl::StartsWith(line, wanted)) return std::string(line.substr(wanted.size()));
  }
  return "";
}

std::string KernelBlocks::TransportOf(const std::string& disk) const {
  for (const char* kind : {"loop", "zram", "ram", "nbd", "pmem", "md"}) {
    const std::string rest =
        absl::StartsWith(disk, kind) ? disk.substr(std::string(kind).size()) : "";
    if (!rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos) return kind;
  }
  if (absl::StartsWith(disk, "dm-")) {
    return absl::StartsWith(Read(disk, "dm/uuid"), "mpath-") ? "multipath" : "dm";
  }
  if (absl::StartsWith(disk, "nvme")) {
    // With the kernel's own multipath the device belongs to a subsystem, which has controllers.
    std::string transport = Read(disk, "device/transport");
    for (const std::string& entry : EntriesOf(Folder(disk) + "/device")) {
      if (!transport.empty()) break;
      transport = Read(disk, absl::StrCat("device/", entry, "/transport"));
    }
    return transport.empty() || transport == "pcie" ? "nvme" : absl::StrCat("nvme-", transport);
  }
  // A SCSI disk does not say its transport: the devices above it in sysfs do.
  char resolved[PATH_MAX];
  if (realpath((Folder(disk) + "/device").c_str(), resolved) == nullptr) return "";
  const std::string path(resolved);
  if (!ComponentOf(path, "rport-").empty()) return "fc";
  if (!ComponentOf(path, "session").empty()) return "iscsi";
  if (!ComponentOf(path, "end_device-").empty()) return "sas";
  if (!ComponentOf(path, "ata").empty()) return "sata";
  if (!ComponentOf(path, "usb").empty()) return "usb";
  const std::string host = ComponentOf(path, "host");
  // virtio-scsi has a SCSI host below the virtio device, which virtio-blk has not.
  if (!ComponentOf(path, "virtio").empty()) return host.empty() ? "virtio" : "virtio-scsi";
  // With some drivers no object of a transport lies on the way. The class of the SCSI host then
  // says which transport the driver speaks.
  const std::pair<const char*, const char*> classes[] = {
      {"fc_host", "fc"}, {"iscsi_host", "iscsi"}, {"sas_host", "sas"}};
  for (const auto& [folder, transport] : classes) {
    const std::string known = absl::StrCat(root_, "/sys/class/", folder);
    for (const std::string& entry : EntriesOf(known)) {
      if (!host.empty() && entry == host) return transport;
    }
  }
  return "";
}

std::string KernelBlocks::KindOf(const std::string& disk) const {
  // LVM and cryptsetup begin the UUIDs of their devices so, and multipathd those of its own.
  const std::pair<const char*, const char*> makers[] = {
      {"LVM-", "lvm"}, {"CRYPT-", "crypt"}, {"mpath-", "multipath"}};
  const std::string uuid = Read(disk, "dm/uuid");
  for (const auto& [prefix, kind] : makers) {
    if (absl::StartsWith(uuid, prefix)) return kind;
  }
  for (const char* kind : {"drbd", "bcache"}) {
    if (absl::StartsWith(disk, kind)) return kind;
  }
  const std::string transport = TransportOf(disk);
  if (transport == "md") {
    const std::string level = Read(disk, "md/level");
    return level.empty() ? "md" : "md " + level;
  }
  return transport.empty() ? "disk" : transport;
}

std::string KernelBlocks::SerialOf(const std::string& disk) const {
  for (const char* file : {"serial", "device/serial"}) {
    if (std::string value = Read(disk, file); !value.empty()) return value;
  }
  // SPC-5 7.7.22: four bytes of header, then the serial number.
  if (const std::string page = Read(disk, "device/vpd_pg80"); page.size() > 4) {
    return std::string(absl::StripAsciiWhitespace(page.substr(4)));
  }
  // udev's database comes last: a container often has none.
  for (const char* key : {"ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_SERIAL"}) {
    if (std::string value = UdevOf(disk, key); !value.empty()) return value;
  }
  return "";
}

void KernelBlocks::DescribeQueue(const std::string& disk, v1::BlockDevice* device) const {
  const auto number = [&](const char* file) { return NumberIn(Read(disk, file)); };
  device->set_logical_block_bytes(static_cast<uint32_t>(number("queue/logical_block_size")));
  device->set_physical_block_bytes(static_cast<uint32_t>(number("queue/physical_block_size")));
  device->set_scheduler(Chosen(Read(disk, "queue/scheduler")));
  device->set_rotational(Read(disk, "queue/rotational") == "1");
  device->set_nr_requests(static_cast<uint32_t>(number("queue/nr_requests")));
  device->set_max_sectors_bytes(number("queue/max_sectors_kb") << 10);
  device->set_read_ahead_bytes(number("queue/read_ahead_kb") << 10);
  device->set_write_cache(Read(disk, "queue/write_cache"));
  // A device without discards has the file all the same, with 0 in it
  // (Documentation/ABI/stable/sysfs-block).
  device->set_discard(number("queue/discard_max_bytes") != 0);
  device->set_model(common::Printable(Read(disk, "device/model"), kMaxFact));
  device->set_serial(common::Printable(SerialOf(disk), kMaxFact));
  device->set_transport(TransportOf(disk));
  device->set_disk_sequence(NumberIn(Read(disk, "diskseq")));
}

// Before Linux 6.15 the paths of nvme0n1 are not named by it: they are the hidden devices
// nvme0cCn1, C being the controller.
std::vector<std::string> KernelBlocks::HiddenPathsOf(const std::string& name) const {
  std::vector<std::string> paths;
  const size_t space = name.rfind('n');
  if (!absl::StartsWith(name, "nvme") || space < 5 || space == std::string::npos) return paths;
  const std::string begin = name.substr(0, space) + "c";
  const std::string end = name.substr(space);
  // The subsystem, which is the device of its namespaces, lists its controllers.
  for (const std::string& entry : EntriesOf(Folder(name) + "/device")) {
    if (!absl::StartsWith(entry, "nvme")) continue;
    const std::string number = entry.substr(4);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string path = absl::StrCat(begin, number, end);
    if (access(Folder(path).c_str(), F_OK) == 0) paths.push_back(path);
  }
  return paths;
}

bool KernelBlocks::IsHostManaged(const std::string& name) const {
  return Read(WholeDiskOf(name), "queue/zoned") == "host-managed";
}

bool KernelBlocks::IsMultipath(const std::string& name) const {
  return absl::StartsWith(Read(name, "dm/uuid"), "mpath-") ||
         !EntriesOf(Folder(name) + "/multipath").empty() || !HiddenPathsOf(name).empty();
}

std::vector<v1::DevicePath> KernelBlocks::PathsOf(const std::string& name) const {
  std::vector<v1::DevicePath> paths;
  const auto add = [&](const std::string& path, const std::string& state) {
    v1::DevicePath& out = paths.emplace_back();
    out.set_name(path);
    out.set_state(state);
  };
  if (absl::StartsWith(Read(name, "dm/uuid"), "mpath-")) {
    for (const std::string& path : EntriesOf(Folder(name) + "/slaves")) {
      add(path, Read(path, "device/state"));
    }
    return paths;
  }
  // NVMe's own multipath: a path of each controller. While the controller is alive, its state is
  // that of asymmetric access.
  for (const std::string& path : EntriesOf(Folder(name) + "/multipath")) {
    const std::string controller = Read(name, absl::StrCat("multipath/", path, "/../state"));
    const std::string access = Read(name, absl::StrCat("multipath/", path, "/ana_state"));
    const bool is_live = controller.empty() || controller == "live";
    // A controller without asymmetric access has no such state.
    add(path, !is_live ? controller : access.empty() ? "live" : access);
  }
  if (!paths.empty() || IsPartition(name)) return paths;
  for (const std::string& path : HiddenPathsOf(name)) {
    const std::string controller = Read(path, "device/state");
    const std::string access = Read(path, "ana_state");
    const bool is_live = controller.empty() || controller == "live";
    add(path, !is_live ? controller : access.empty() ? "live" : access);
  }
  if (!paths.empty()) return paths;
  if (const std::string state = Read(name, "device/state"); !state.empty()) add(name, state);
  return paths;
}

}  // namespace lockstep::worker
