#include "worker/host/overlay_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/host/layers.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kOverlay = 0x794c7630;  // statfs(2)

std::string PathOfOpen(const common::FileDescriptor& file) {
  char path[PATH_MAX] = {};
  const std::string link = absl::StrCat("/proc/self/fd/", file.get());
  return readlink(link.c_str(), path, sizeof path - 1) > 0 ? path : "";
}

bool IsDirectory(const MountTree& mounts, const std::string& path) {
  const auto location = mounts.Find(path);
  if (!location.ok() || !location->is_local) return false;  // a server is not asked
  return common::FileDescriptor(
             open(location->path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
      .valid();
}

// The nearest directory above the path that all of these directories are in; empty where none is.
std::string NearestAbove(const MountTree& mounts, const std::string& path,
                         const std::vector<std::string>& directories) {
  std::string above = path;
  while (above.size() > 1) {
    above = above.substr(0, above.rfind('/'));
    if (std::all_of(directories.begin(), directories.end(), [&](const std::string& directory) {
          return IsDirectory(mounts, absl::StrCat(above, "/", directory));
        })) {
      return above.empty() ? "/." : above;  // an empty one is none
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> PathsUnderOverlay(const MountLine& overlay, const std::string& path,
                                           const std::string& base) {
  const std::string mount_point = overlay.target == "/" ? "" : overlay.target;
  if (!absl::StartsWith(path, mount_point + "/")) return {};
  // A bind mount shows a directory of the overlay.
  const std::string beneath = overlay.root == "/" ? "" : overlay.root;
  std::vector<std::string> paths;
  for (const std::string& directory : OverlayDirectories(overlay.filesystem_options)) {
    const bool is_relative = !absl::StartsWith(directory, "/");
    if (is_relative && base.empty()) return {};
    paths.push_back(absl::StrCat(is_relative        ? absl::StrCat(base, "/", directory)
                                 : directory == "/" ? ""
                                                    : directory,
                                 beneath, path.substr(mount_point.size())));
  }
  return paths;
}

const MountTree::Mount* OverlayFiles::MountOf(uint64_t id) {
  const MountTree::Mount* mount = mounts_ == nullptr ? nullptr : mounts_->WithId(id);
  if (mount != nullptr) return mount;
  mounts_ = std::make_unique<MountTree>();
  return mounts_->WithId(id);
}

// The kernel does not tell where somebody was who mounted it by relative directories. Mount points
// lie beside their directories, so that it was most likely the nearest directory above the mount
// point in which all of them are. A bind mount may be anywhere: then the mount point of the overlay
// itself counts. A wrong guess could only take two files for one, and refuse them.
const std::string& OverlayFiles::BaseOf(const MountTree::Mount& mount) {
  const auto [known, is_new] = bases_.try_emplace(mount.id);
  if (!is_new) return known->second;
  std::vector<std::string> relative;
  for (const std::string& directory : OverlayDirectories(mount.filesystem_options)) {
    if (!absl::StartsWith(directory, "/")) relative.push_back(directory);
  }
  if (relative.empty()) return known->second;
  for (const MountTree::Mount* same : mounts_->OfSameFilesystem(mount)) {
    known->second = NearestAbove(*mounts_, same->target, relative);
    if (!known->second.empty()) break;
  }
  return known->second;
}

std::vector<common::FileDescriptor> OverlayFiles::Under(const common::FileDescriptor& file,
                                                        dev_t device) {
  const auto [known, is_new] = is_overlay_.try_emplace(device, false);
  struct statfs space;
  if (is_new) known->second = fstatfs(file.get(), &space) == 0 && space.f_type == kOverlay;
  if (!known->second) return {};
  const MountTree::Mount* mount = MountOf(MountIdOf(file.get()));
  if (mount == nullptr || mount->type != "overlay") return {};
  // Without the option the topmost directory that has the file has all of it. With it, a file in
  // the upper directory may have its bytes in a lower one.
  const bool is_metacopy = HasMountOption(mount->filesystem_options, "metacopy=on");
  std::vector<common::FileDescriptor> found;
  for (const std::string& path : PathsUnderOverlay(*mount, PathOfOpen(file), BaseOf(*mount))) {
    const auto location = mounts_->Find(path);
    if (!location.ok() || !location->is_local) continue;
    common::FileDescriptor real(open(location->path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts;
    if (!real.valid() || fstat(real.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    found.push_back(std::move(real));
    if (!is_metacopy) break;
  }
  return found;
}

}  // namespace lockstep::worker
