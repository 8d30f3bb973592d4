#include "worker/host/kernel_uses.h"

#include <fcntl.h>
#include <libmount/libmount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "absl/strings/str_split.h"
#include "common/files.h"
#include "worker/host/loop_backing.h"

namespace lockstep::worker {
namespace {

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

// The number of a path that is a block device; 0 otherwise.
dev_t BlockNumberOf(const std::string& path) {
  struct stat facts;
  const bool is_block =
      path.rfind('/', 0) == 0 && stat(path.c_str(), &facts) == 0 && S_ISBLK(facts.st_mode);
  return is_block ? facts.st_rdev : 0;
}

// FUSE counts, too: the process that answers may be gone. An automount asks the server first.
bool IsNetworkType(const std::string& type) {
  static const std::set<std::string> kTypes = {"nfs",    "nfs4", "cifs",  "smb3", "ceph",
                                               "lustre", "9p",   "ocfs2", "fuse", "beegfs",
                                               "gfs2",   "afs",  "autofs"};
  return kTypes.contains(type) || type.rfind("fuse.", 0) == 0;
}

// Takes down what the loop device shows.
void QueryLoop(LoopEntry* loop) {
  const common::FileDescriptor fd(
      open(("/dev/" + loop->name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto backing = LoopBackingOf(fd.get());
  if (!backing) return;
  loop->device = backing->device;
  loop->inode = backing->inode;
}

}  // namespace

KernelUses::KernelUses(const std::string& root) {
  const std::unique_ptr<libmnt_table, void (*)(libmnt_table*)> table(
      mnt_new_table_from_file((root + "/proc/self/mountinfo").c_str()), mnt_unref_table);
  if (table != nullptr) {
    libmnt_iter* walk = mnt_new_iter(MNT_ITER_FORWARD);
    libmnt_fs* entry = nullptr;
    std::vector<std::string> sources;
    while (mnt_table_next_fs(table.get(), walk, &entry) == 0) {
      sources.push_back(TextOf(mnt_fs_get_srcpath(entry)));
      mounts_.push_back({mnt_fs_get_devno(entry), 0, TextOf(mnt_fs_get_target(entry)),
                         TextOf(mnt_fs_get_fstype(entry)), TextOf(mnt_fs_get_vfs_options(entry)),
                         TextOf(mnt_fs_get_fs_options(entry)), mnt_fs_get_id(entry)});
    }
    mnt_free_iter(walk);
    // A source may be the path of anything: of FUSE, its user chooses it, and SMB's begins with two
    // slashes. One on a server, which need not answer, is no device's.
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::string path = sources[i].substr(sources[i].starts_with("//") ? 1 : 0);
      if (path.starts_with("/dev/") || !IsOnNetwork(path)) mounts_[i].source = BlockNumberOf(path);
    }
  }
  const std::string swaps = common::ReadTrimmed(root + "/proc/swaps");
  for (const auto& line : absl::StrSplit(swaps, '\n')) {
    const dev_t number = BlockNumberOf(std::string(line.substr(0, line.find(' '))));
    // A swap file has no number of its own. Its file system is mounted, which is a use already.
    if (number != 0) swaps_.insert(number);
  }
  FindLoops(root);
}

bool KernelUses::IsOnNetwork(const std::string& path) const {
  const MountEntry* nearest = nullptr;
  for (const MountEntry& mount : mounts_) {
    const bool is_above =
        mount.target == "/" || path == mount.target || path.rfind(mount.target + "/", 0) == 0;
    // The later one of two mounts at one path is seen, hence `>=`.
    if (is_above && (nearest == nullptr || mount.target.size() >= nearest->target.size())) {
      nearest = &mount;
    }
  }
  return nearest != nullptr && IsNetworkType(nearest->type);
}

void KernelUses::FindLoops(const std::string& root) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/sys/class/block", none)) {
    LoopEntry loop;
    loop.name = entry.path().filename();
    if (loop.name.rfind("loop", 0) != 0) continue;
    loop.backing = common::ReadTrimmed(entry.path() / "loop/backing_file");
    if (loop.backing.empty()) continue;
    // The path is enough here: no device is opened only to be listed. Before a file is written,
    // each loop device is asked itself (FilesUnderDevices).
    struct stat facts;
    if (!IsOnNetwork(loop.backing) && stat(loop.backing.c_str(), &facts) == 0) {
      if (S_ISBLK(facts.st_mode)) loop.disk = facts.st_rdev;
      loop.device = facts.st_dev;
      loop.inode = facts.st_ino;
    } else if (root.empty() && !IsOnNetwork(loop.backing)) {
      QueryLoop(&loop);  // its file has no name any more
    }
    loops_.push_back(loop);
  }
}

std::vector<const MountEntry*> KernelUses::MountsOf(dev_t number) const {
  std::vector<const MountEntry*> found;
  if (number == 0) return found;  // as mounts without a device have it, too
  for (const MountEntry& mount : mounts_) {
    // A mount of btrfs has a number of its own, so that only its source leads to the device.
    if (mount.number == number || mount.source == number) found.push_back(&mount);
  }
  return found;
}

const MountEntry* KernelUses::MountAt(const std::string& target) const {
  const MountEntry* found = nullptr;
  for (const MountEntry& mount : mounts_) {
    // A later mount covers an earlier one at the same place.
    if (mount.target == target) found = &mount;
  }
  return found;
}

}  // namespace lockstep::worker
