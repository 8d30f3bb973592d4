// How much the kernel has written to block devices.

#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker/host/kernel_blocks.h"

namespace lockstep::worker {

KernelBlocks::Writes KernelBlocks::WritesOf(const std::string& name) const {
  const std::vector<std::string> fields =
      absl::StrSplit(Read(name, "stat"), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  // Documentation/block/stat.rst; discards since Linux 4.18.
  constexpr size_t kSectorsWritten = 6, kSectorsDiscarded = 13;
  Writes writes;
  if (fields.size() > kSectorsWritten) writes.written = NumberIn(fields[kSectorsWritten]);
  if (fields.size() > kSectorsDiscarded) writes.discarded = NumberIn(fields[kSectorsDiscarded]);
  return writes;
}

// The kernel counts a write to a partition for its disk, too: the rest went to the disk's own node.
// The counters cannot be read at one moment, and neighbours may write between two of them. They are
// read again until those of the partitions stand still.
KernelBlocks::Writes KernelBlocks::WritesPastPartitions(const std::string& disk) const {
  constexpr int kTries = 100;
  const std::vector<std::string> partitions = PartitionsOf(disk);
  Writes rest;
  for (int i = 0; i < kTries; ++i) {
    std::map<std::string, Writes> before;
    for (const std::string& part : partitions) before[part] = WritesOf(part);
    rest = WritesOf(disk);
    bool is_still = true;
    for (const auto& [part, writes] : before) {
      is_still = is_still && WritesOf(part) == writes;
      rest.written -= writes.written;
      rest.discarded -= writes.discarded;
    }
    if (is_still) break;
  }
  return rest;
}

std::vector<std::string> KernelBlocks::OtherNodesOf(const std::string& name) const {
  if (IsPartition(name)) return {ParentOf(name)};
  std::vector<std::string> nodes = PartitionsOf(name);
  if (absl::StartsWith(Read(name, "dm/uuid"), "mpath-")) {
    for (const std::string& path : EntriesOf(Folder(name) + "/slaves")) nodes.push_back(path);
  }
  return nodes;
}

std::string KernelBlocks::NotCountedBy(const std::string& name) const {
  std::vector<std::string> nodes = OtherNodesOf(name);
  nodes.push_back(name);
  for (const std::string& node : nodes) {
    const std::string disk = WholeDiskOf(node);
    // A node without the file is not counted either: its text would never change.
    if (Read(disk, "queue/iostats") == "0" || Read(node, "stat").empty()) {
      return Folder(disk) + "/queue/iostats";
    }
  }
  return "";
}

std::string KernelBlocks::WrittenSoFar(const std::string& name) const {
  const auto text = [](const std::string& of, const Writes& writes) {
    return absl::StrCat(" ", of, " written ", writes.written, " discarded ", writes.discarded);
  };
  std::string all = text(name, WritesOf(name));
  for (const std::string& other : OtherNodesOf(name)) {
    if (IsPartition(name)) {
      all += text(other, WritesPastPartitions(other));
    } else if (!IsPartition(other)) {
      all += text(other, WritesOf(other));
    }
  }
  return all;
}

}  // namespace lockstep::worker
