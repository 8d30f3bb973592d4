#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/environment/mounted.h"
#include "worker/environment/settings.h"

namespace lockstep::worker {

// Changes settings of the kernel for a phase, and restores them. Their earlier values are on disk
// before anything is changed (the journal), so that a worker that was killed restores them when it
// is started again. Two workers of a kernel never change the same thing at once (flock(2) beneath
// /run/lockstep). Not thread-safe.
class EnvironmentKeeper {
 public:
  // `directory` has the journal. `root` is where /sys, /proc and /run are looked for.
  explicit EnvironmentKeeper(const std::string& directory, const std::string& root = "");

  // Restores the settings that a killed worker has left changed. Returns messages for the log: what
  // was restored, and what could not be.
  std::vector<std::string> Recover();
  // Whether the last Recover() has restored all that it found.
  bool has_recovered_all() const { return has_recovered_all_; }
  // Makes all changes, or none: after an error all settings have their earlier values, or the error
  // names those that do not.
  absl::Status Apply(const std::vector<WantedSetting>& wanted);
  bool has_changes() const { return !journal_.entries().empty(); }
  // Puts all back, and says what was changed, and what could not be restored.
  std::vector<v1::SettingChange> Restore();
  // Says what was changed, and that it is not restored for this reason: the next Restore() or
  // Recover() does it.
  std::vector<v1::SettingChange> Leave(const std::string& why);

 private:
  // `key`: LockKey(). OK if this keeper has the lock already.
  absl::Status Lock(const std::string& key, const std::string& thing);
  absl::Status WriteJournal();
  absl::Status Change(const WantedSetting& wanted);
  // Locks and holds what the settings are of; the mounts are planned anew under their locks.
  absl::StatusOr<std::vector<WantedSetting>> Take(const std::vector<WantedSetting>& wanted);
  absl::Status Holds(const WantedSetting& wanted) const;
  // Notes how the kernel shows what was changed.
  absl::Status ReadBack();
  // As the kernel has it now.
  absl::StatusOr<std::string> Read(const std::string& thing, const std::string& name) const;
  // Why the setting of a queue is not what it was; empty when it is.
  std::string Restore(const v1::SettingsJournal::Entry& entry) const;
  std::vector<v1::SettingChange> Changes(const std::vector<std::string>& problems) const;
  // Restores every setting that can be restored. The others are reported once, and forgotten.
  std::vector<std::string> PutAllBack();

  const std::string path_;
  const std::string root_;
  const KernelSettings kernel_;
  const std::string boot_id_;
  v1::SettingsJournal journal_;
  bool has_recovered_all_ = true;
  std::map<std::pair<std::string, std::string>, std::string> values_;  // as read back
  std::map<std::string, common::FileDescriptor> locks_;                // by LockKey()
  MountOptions mounts_;
};

}  // namespace lockstep::worker
