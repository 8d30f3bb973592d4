#include "worker/host/mount_tree.h"

#include <linux/major.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

// The kernel gives up after so many links, too (path_resolution(7), ELOOP).
constexpr int kMaxMountLinks = 40;

std::deque<std::string> PathParts(const std::string& path) {
  std::deque<std::string> parts;
  for (const auto& part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part != ".") parts.emplace_back(part);
  }
  return parts;
}

// Whether the kernel answers for it alone. The caller also asks the layers of an overlay.
bool IsLocalMount(const MountTree::Mount& mount) {
  // FUSE asks a process, and a cluster's file system its other hosts.
  static constexpr absl::string_view kServed[] = {"nfs",   "nfs4", "gfs2",
                                                  "ocfs2", "fuse", "fuseblk"};
  if (absl::c_linear_search(kServed, mount.type) || absl::StartsWith(mount.type, "fuse."))
    return false;
  // Only these are known to answer among those without a block device: SMB, Ceph, Lustre, 9p and
  // automounts do not.
  static constexpr absl::string_view kWithout[] = {"tmpfs",   "devtmpfs", "ramfs", "rootfs",
                                                   "proc",    "sysfs",    "btrfs", "bcachefs",
                                                   "overlay", "zfs"};
  return major(mount.number) != 0 || absl::c_linear_search(kWithout, mount.type);
}

}  // namespace

MountTree::MountTree(const std::string& root)
    : MountTree(root, common::ReadTrimmed(root + "/proc/self/mountinfo")) {}

MountTree::MountTree(std::string root, const std::string& mountinfo) : root_(std::move(root)) {
  for (MountLine& line : ParseMountInfo(mountinfo)) {
    Mount& mount = mounts_.emplace_back();
    static_cast<MountLine&>(mount) = std::move(line);
    mount.is_local = IsLocalMount(mount);
  }
  std::set<int> ids;
  for (const Mount& mount : mounts_) {
    ids.insert(mount.id);
    if (mount.parent != mount.id) by_place_.emplace(std::pair(mount.parent, mount.target), &mount);
  }
  for (const Mount& mount : mounts_) {
    // The parent of the root is the root of another namespace, or itself: it is in no table.
    const bool is_first = !ids.contains(mount.parent) || mount.parent == mount.id;
    if (mount.target == "/" && is_first && top_ == nullptr) top_ = &mount;
  }
  if (top_ == nullptr) return;
  top_ = Topmost(top_, "/");
  // In the order of the table, in which an overlay or a loop device comes after what it lies on.
  for (Mount& mount : mounts_) {
    if (mount.type == "overlay") mount.is_local = HasLocalLayers(mount);
    const unsigned kind = major(mount.number);  // partitions of loop devices have the second one
    if (mount.is_local && (kind == LOOP_MAJOR || kind == BLOCK_EXT_MAJOR)) {
      mount.is_local = HasLocalFile(mount);
    }
  }
}

// The file may be on a server, which then has to answer for each name that is not in memory. A
// partition has the file of its disk, whose folder its own is in.
bool MountTree::HasLocalFile(const Mount& loop) const {
  const std::string folder =
      absl::StrCat(root_, "/sys/dev/block/", major(loop.number), ":", minor(loop.number));
  std::string file = common::ReadTrimmed(folder + "/loop/backing_file");
  if (file.empty()) file = common::ReadTrimmed(folder + "/../loop/backing_file");
  const auto location = Find(PathOfBackingFile(file));
  // Without a path that leads anywhere nothing is known against it.
  return !location.ok() || location->is_local;
}

// A name that the upper layer does not have is looked up in the lower ones, which may be on a
// server. In a container the layers' paths are those of its host. They then lead to no mount but
// the container's own ones, and say nothing.
bool MountTree::HasLocalLayers(const Mount& overlay) const {
  for (const std::string& layer : OverlayDirectories(overlay.filesystem_options)) {
    const Mount* at = top_;
    std::string path;
    for (const std::string& part : PathParts(layer)) {
      absl::StrAppend(&path, "/", part);
      at = Topmost(at, path);
    }
    if (at != &overlay && !at->is_local) return false;
  }
  return true;
}

// By the parents' ids, and not by the longest path: a mount that another one above it hides is in
// the table, too.
const MountTree::Mount* MountTree::Topmost(const Mount* below, const std::string& path) const {
  for (size_t i = 0; i < mounts_.size(); ++i) {
    // The later of two mounts at one place has the earlier one as its parent.
    const auto over = by_place_.find({below->id, path});
    if (over == by_place_.end()) return below;
    below = over->second;
  }
  return below;
}

const MountTree::Mount* MountTree::WithId(uint64_t id) const {
  const auto found = std::find_if(mounts_.begin(), mounts_.end(), [&](const Mount& mount) {
    return mount.id >= 0 && static_cast<uint64_t>(mount.id) == id;
  });
  return found == mounts_.end() ? nullptr : &*found;
}

std::string MountTree::Describe(const Mount& mount) {
  const bool says_no_more =
      mount.source.empty() || mount.source == mount.type || mount.source == "none";
  // The source of a FUSE mount is what the user who mounted it wrote.
  constexpr size_t kMaxSource = 128;
  return says_no_more
             ? mount.type
             : absl::StrCat(mount.type, " (", common::Printable(mount.source, kMaxSource), ")");
}

absl::StatusOr<MountTree::Location> MountTree::Find(const std::string& path) const {
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not an absolute path"));
  }
  if (top_ == nullptr) return absl::InternalError("/proc/self/mountinfo cannot be read");
  std::deque<std::string> parts = PathParts(path);
  std::vector<Location> above = {{top_, "", true}};  // of each directory on the way
  for (int links = 0; !parts.empty();) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == "..") {
      if (above.size() > 1) above.pop_back();
      continue;
    }
    const Location here = above.back();
    Location next = {here.mount, absl::StrCat(here.path, "/", part), true};
    next.mount = Topmost(here.mount, next.path);
    next.is_local = here.is_local && next.mount->is_local;
    // The name of a mount point is never asked: its attributes are those of what is mounted there,
    // whose server may not answer.
    char target[PATH_MAX] = {};
    const bool is_link = next.is_local && next.mount == here.mount &&
                         readlink((root_ + next.path).c_str(), target, sizeof target - 1) > 0;
    if (!is_link) {
      above.push_back(std::move(next));
      continue;
    }
    if (++links > kMaxMountLinks) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": has too many links"));
    }
    if (target[0] == '/') above.resize(1);
    std::deque<std::string> led = PathParts(target);
    led.insert(led.end(), parts.begin(), parts.end());
    parts = std::move(led);
  }
  Location found = above.back();
  if (found.path.empty()) found.path = "/";
  return found;
}

std::vector<const MountTree::Mount*> MountTree::Beneath(const std::string& directory) const {
  std::vector<const Mount*> found;
  const std::string beneath = directory == "/" ? "/" : directory + "/";
  for (const Mount& mount : mounts_) {
    if (!absl::StartsWith(mount.target, beneath)) continue;
    // One that is hidden is not where its path leads.
    const auto location = Find(mount.target);
    if (location.ok() && location->mount == &mount) found.push_back(&mount);
  }
  return found;
}

std::vector<const MountTree::Mount*> MountTree::OfSameFilesystem(const Mount& mount) const {
  std::vector<const Mount*> found;
  for (const bool of_all : {true, false}) {
    for (const Mount& other : mounts_) {
      if (other.number == mount.number && (other.root == "/") == of_all) found.push_back(&other);
    }
  }
  return found;
}

std::string PathOfBackingFile(const std::string& backing) {
  // As d_path() in the kernel's fs/d_path.c writes it.
  if (!absl::EndsWith(backing, " (deleted)")) return backing;
  return backing.substr(0, std::max<size_t>(1, backing.rfind('/')));
}

}  // namespace lockstep::worker
