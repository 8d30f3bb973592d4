#include "worker/host/kernel_uses.h"

#include <libmount/libmount.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::worker {
namespace {

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

// Of a path that is a block device; 0 otherwise.
dev_t BlockNumberOf(const std::string& path) {
  struct stat facts;
  const bool is_block =
      path.rfind('/', 0) == 0 && stat(path.c_str(), &facts) == 0 && S_ISBLK(facts.st_mode);
  return is_block ? facts.st_rdev : 0;
}

}  // namespace

KernelUses::KernelUses(const std::string& root) {
  const std::unique_ptr<libmnt_table, void (*)(libmnt_table*)> table(
      mnt_new_table_from_file((root + "/proc/self/mountinfo").c_str()), mnt_unref_table);
  if (table != nullptr) {
    libmnt_iter* walk = mnt_new_iter(MNT_ITER_FORWARD);
    libmnt_fs* entry = nullptr;
    while (mnt_table_next_fs(table.get(), walk, &entry) == 0) {
      mounts_.push_back({mnt_fs_get_devno(entry), BlockNumberOf(TextOf(mnt_fs_get_srcpath(entry))),
                         TextOf(mnt_fs_get_target(entry)), TextOf(mnt_fs_get_fstype(entry)),
                         TextOf(mnt_fs_get_vfs_options(entry)),
                         TextOf(mnt_fs_get_fs_options(entry))});
    }
    mnt_free_iter(walk);
  }
  const std::string swaps = common::ReadTrimmed(root + "/proc/swaps");
  for (const auto& line : absl::StrSplit(swaps, '\n')) {
    const dev_t number = BlockNumberOf(std::string(line.substr(0, line.find(' '))));
    if (number != 0) swaps_.insert(number);
  }
  const std::string blocks = root + "/sys/class/block";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(blocks, none)) {
    LoopEntry loop;
    loop.name = entry.path().filename();
    if (loop.name.rfind("loop", 0) != 0) continue;
    const std::string backing = common::ReadTrimmed(entry.path() / "loop/backing_file");
    struct stat facts;
    if (backing.empty() || stat(backing.c_str(), &facts) != 0) continue;
    if (S_ISBLK(facts.st_mode)) loop.disk = facts.st_rdev;
    loop.device = facts.st_dev;
    loop.inode = facts.st_ino;
    loops_.push_back(loop);
  }
}

std::vector<const MountEntry*> KernelUses::MountsOf(dev_t number) const {
  std::vector<const MountEntry*> found;
  for (const MountEntry& mount : mounts_) {
    if (mount.number == number || mount.source == number) found.push_back(&mount);
  }
  return found;
}

const MountEntry* KernelUses::MountAt(const std::string& target) const {
  const MountEntry* found = nullptr;
  for (const MountEntry& mount : mounts_) {
    if (mount.target == target) found = &mount;
  }
  return found;
}

}  // namespace lockstep::worker
