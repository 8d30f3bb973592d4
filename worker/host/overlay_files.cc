#include "worker/host/overlay_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/host/layers.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kOverlay = 0x794c7630;  // statfs(2)

bool HasOption(const std::string& options, const std::string& option) {
  return absl::StrContains(absl::StrCat(",", options, ","), absl::StrCat(",", option, ","));
}

std::string PathOfOpen(const common::FileDescriptor& file) {
  char path[PATH_MAX] = {};
  const std::string link = absl::StrCat("/proc/self/fd/", file.get());
  return readlink(link.c_str(), path, sizeof path - 1) > 0 ? path : "";
}

}  // namespace

std::vector<std::string> PathsUnderOverlay(const MountLine& overlay, const std::string& path) {
  const std::string mount_point = overlay.target == "/" ? "" : overlay.target;
  if (!absl::StartsWith(path, mount_point + "/")) return {};
  // A bind mount shows a directory of the overlay.
  const std::string beneath = overlay.root == "/" ? "" : overlay.root;
  std::vector<std::string> paths;
  for (const std::string& directory : OverlayDirectories(overlay.filesystem_options)) {
    // One that is relative was so to where somebody was when it was mounted.
    if (!absl::StartsWith(directory, "/")) return {};
    paths.push_back(
        absl::StrCat(directory == "/" ? "" : directory, beneath, path.substr(mount_point.size())));
  }
  return paths;
}

const MountTree::Mount* OverlayFiles::MountOf(uint64_t id) {
  const MountTree::Mount* mount = mounts_ == nullptr ? nullptr : mounts_->WithId(id);
  if (mount != nullptr) return mount;
  mounts_ = std::make_unique<MountTree>();
  return mounts_->WithId(id);
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
  const bool is_metacopy = HasOption(mount->filesystem_options, "metacopy=on");
  std::vector<common::FileDescriptor> found;
  for (const std::string& path : PathsUnderOverlay(*mount, PathOfOpen(file))) {
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
