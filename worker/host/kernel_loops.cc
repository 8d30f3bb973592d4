// Loop devices: other names of the bytes of files and devices.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/host/kernel_blocks.h"

namespace lockstep::worker {
namespace {

// Whether two loop devices are over one file. If an inode is not known, the kernel's path decides.
bool AreSiblings(const LoopEntry& a, const LoopEntry& b) {
  // A loop device over another device is found by that device's number instead.
  if (a.disk != 0 || b.disk != 0) return false;
  if (a.inode == 0 || b.inode == 0) return a.backing == b.backing;
  return a.device == b.device && a.inode == b.inode;
}

}  // namespace

std::vector<const LoopEntry*> KernelBlocks::LoopsOver(std::vector<const LoopEntry*> found,
                                                      std::set<dev_t> disks,
                                                      const KernelUses& uses) const {
  // Loop devices over loop devices, however many.
  for (size_t before = found.size() + 1; before != found.size();) {
    before = found.size();
    for (const LoopEntry* loop : found) {
      disks.insert(NumberOf(loop->name));
      for (const std::string& part : PartitionsOf(loop->name)) disks.insert(NumberOf(part));
    }
    for (const LoopEntry& loop : uses.loops()) {
      const bool is_known = std::find(found.begin(), found.end(), &loop) != found.end();
      const bool is_sibling = std::any_of(found.begin(), found.end(), [&](const LoopEntry* other) {
        return AreSiblings(*other, loop);
      });
      if (!is_known && (is_sibling || (loop.disk != 0 && disks.contains(loop.disk)))) {
        found.push_back(&loop);
      }
    }
  }
  return found;
}

std::string KernelBlocks::UseOfLoop(const std::string& loop, const KernelUses& uses) const {
  std::string use = WholeUseOf(loop, uses);
  // A test's root has no devices that could be opened.
  if (!use.empty() || !root_.empty()) return use;
  // A mount in a container is missing in this namespace's mountinfo. Only the kernel's own hold on
  // the device shows it.
  const common::FileDescriptor claim(
      open(("/dev/" + loop).c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
  if (claim.valid() || errno == ENXIO) return "";  // ENXIO: detached by now
  return errno == EBUSY ? "held by somebody" : "perhaps held: this worker may not open it to see";
}

std::vector<std::string> KernelBlocks::AliasesOf(const std::string& name) const {
  const KernelUses uses(root_);
  std::vector<std::string> aliases = OtherNodesOf(name);
  std::set<dev_t> numbers = {NumberOf(name)};
  for (const std::string& alias : aliases) numbers.insert(NumberOf(alias));
  std::vector<const LoopEntry*> self;
  for (const LoopEntry& loop : uses.loops()) {
    if (loop.name == WholeDiskOf(name)) self.push_back(&loop);
  }
  for (const LoopEntry* loop : LoopsOver(self, numbers, uses)) {
    aliases.push_back(loop->name);
    for (const std::string& part : PartitionsOf(loop->name)) aliases.push_back(part);
  }
  return aliases;
}

std::string KernelBlocks::ShownBy(const std::string& name) const {
  const std::string disk = WholeDiskOf(name);
  return absl::StrCat(Read(disk, "diskseq"), " ", Read(disk, "loop/offset"), " ",
                      Read(disk, "loop/sizelimit"), " ", Read(disk, "loop/backing_file"));
}

std::string KernelBlocks::UseThroughLoops(const std::string& name, const KernelUses& uses) const {
  const std::string disk = WholeDiskOf(name);
  std::set<dev_t> numbers = {NumberOf(name), NumberOf(disk)};
  if (disk == name) {
    for (const std::string& part : PartitionsOf(disk)) numbers.insert(NumberOf(part));
  }
  std::vector<const LoopEntry*> self;
  for (const LoopEntry& loop : uses.loops()) {
    if (loop.name != disk) continue;
    // A claim on the loop device keeps nobody from the device underneath.
    if (loop.disk != 0) {
      const auto below = NameOf(loop.disk);
      return absl::StrCat("a loop device over ", below.ok() ? *below : "another device",
                          ", which has a name of its own");
    }
    self.push_back(&loop);
  }
  for (const LoopEntry* loop : LoopsOver(self, numbers, uses)) {
    const std::string use = loop->name == disk ? "" : UseOfLoop(loop->name, uses);
    if (!use.empty()) return absl::StrCat("also ", loop->name, ", which is ", use);
  }
  return "";
}

std::vector<LoopEntry> KernelBlocks::Loops() const { return KernelUses(root_).loops(); }

std::string KernelBlocks::UseOfFileUnder(const std::string& loop_name) const {
  const KernelUses uses(root_);
  for (const LoopEntry& self : uses.loops()) {
    if (self.name != loop_name) continue;
    for (const LoopEntry* loop : LoopsOver({&self}, {}, uses)) {
      const std::string use = UseOfLoop(loop->name, uses);
      if (!use.empty()) return absl::StrCat(loop->name, ", which is ", use);
    }
  }
  return "";
}

}  // namespace lockstep::worker
