// Which servers serve the targets of a load?

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/files.h"
#include "worker/host/block_devices.h"
#include "worker/host/layers.h"
#include "worker/host/mount_tree.h"
#include "worker/host/storage_servers.h"
#include "worker/iscsi/luns.h"
#include "worker/load/load.h"

namespace lockstep::worker {
namespace {

// The number of the block device that is open, or of the file system that an open file is on; 0
// where it is not known. A network file system answers from memory, whatever its server does.
dev_t DeviceUnder(int descriptor) {
  struct statx facts;
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &facts) != 0) return 0;
  return S_ISBLK(facts.stx_mode) ? makedev(facts.stx_rdev_major, facts.stx_rdev_minor)
                                 : makedev(facts.stx_dev_major, facts.stx_dev_minor);
}

}  // namespace

void Load::FindObservedServers() {
  for (const std::string& name : DevicesOf(assignment_)) {
    for (const StorageServer& server : ServersOfDevice(ThisKernel(), "", name)) {
      network_.Add(std::nullopt, server);
    }
  }
  if (assignment_.sample_mounts().empty()) return;
  const std::string mountinfo = common::ReadTrimmed("/proc/self/mountinfo");
  const MountTree tree("", mountinfo);
  for (const std::string& mount_point : assignment_.sample_mounts()) {
    const auto location = tree.Find(mount_point);
    if (!location.ok() || location->mount->target != mount_point) continue;
    const MountTree::Mount& mount = *location->mount;
    for (const StorageServer& server :
         ServersOfMount(mountinfo, mount.number, static_cast<uint64_t>(mount.id))) {
      network_.Add(std::nullopt, server);
    }
  }
}

void Load::FindServers() {
  // Without a target it is an observe phase, or a worker that only samples.
  if (assignment_.targets().empty()) return FindObservedServers();
  std::set<std::pair<uint32_t, dev_t>> seen;  // hundreds of files lie on few file systems
  // The kernel counts for a file system, wherever it is mounted. All targets on one share the mount
  // of the first, so that nothing is sampled twice.
  std::map<dev_t, std::vector<StorageServer>> known;
  std::string mounts;
  for (const auto& part : parts_) {
    for (const OpenedFile& file : part->targets.files) {
      if (file.lun != nullptr) {
        StorageServer server;
        server.protocol = "iscsi";
        server.address = HostIn(file.lun->numeric.portal);
        network_.Add(file.target, server);
        continue;
      }
      const int descriptor = file.engine_file.descriptor();
      const dev_t device = descriptor < 0 ? 0 : DeviceUnder(descriptor);
      if (device == 0 || !seen.insert({file.target, device}).second) continue;
      auto found = known.find(device);
      if (found == known.end()) {
        std::vector<StorageServer> servers;
        if (const auto name = ThisKernel().NameOf(device); name.ok()) {
          servers = ServersOfDevice(ThisKernel(), "", *name);
        } else {
          if (mounts.empty()) mounts = common::ReadTrimmed("/proc/self/mountinfo");
          servers = ServersOfMount(mounts, device, MountIdOf(descriptor));
        }
        found = known.emplace(device, std::move(servers)).first;
      }
      for (const StorageServer& server : found->second) network_.Add(file.target, server);
    }
  }
}

}  // namespace lockstep::worker
