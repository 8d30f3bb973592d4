#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/environment/settings.h"

namespace lockstep::worker {

// A mount that a path of this process leads to, held open: it cannot become another one, and cannot
// be unmounted but by `umount -l`.
struct ReachedMount {
  common::FileDescriptor root;  // O_PATH
  uint64_t id = 0;  // never used again, or before Linux 6.8 not before the mount has gone
  MountEntry entry;
};

// The mounts of a file system, by its number in mountinfo. Mounts other than `own` are included
// only if no server needs to be asked about them, and at most 64.
std::vector<ReachedMount> ReachMounts(dev_t filesystem, const std::string& own);

// Changes and restores the options of mounts. A mount whose options are changed stays held until
// they are restored, so that what is mounted over it does not matter. Not thread-safe.
class MountOptions {
 public:
  // Plans the change anew, under the file system's lock, and holds the mount. FAILED_PRECONDITION
  // if another file system is mounted there than `wanted` is for.
  absl::StatusOr<WantedSetting> Hold(const WantedSetting& wanted);
  // Says in the entry which mount and file system it is about.
  void Identify(const WantedSetting& wanted, v1::SettingsJournal::Entry* entry) const;
  // To the mount that Hold() holds.
  absl::Status Write(const WantedSetting& wanted) const;
  // As the kernel shows them now, of the mount that is held.
  absl::StatusOr<MountEntry> Read(const std::string& target) const;
  // Restores the options that one phase has changed. Returns for each entry why its options are
  // not what they were; empty where they are. Another file system at the path is left alone.
  std::vector<std::string> Restore(const std::vector<v1::SettingsJournal::Entry>& entries) const;
  void Release() { held_.clear(); }

 private:
  // A mount through which an entry's file system can be remounted.
  struct Way {
    std::shared_ptr<ReachedMount> mount;
    bool is_own = false;  // the mount that the entry is about
  };
  absl::StatusOr<Way> WayTo(const v1::SettingsJournal::Entry& entry) const;
  std::string Judge(const v1::SettingsJournal::Entry& entry, const Way& way) const;

  std::map<std::string, std::shared_ptr<ReachedMount>> held_;  // by target
};

}  // namespace lockstep::worker
