#pragma once

#include <google/protobuf/repeated_field.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/host/host_policy.h"
#include "worker/host/kernel_blocks.h"
#include "worker/host/layers.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {

// The objects that observe phases see on this host, at one moment: block devices with all layers
// underneath them, and mounts of servers. They are found by mounts, links and sysfs alone, as the
// layers of a load's targets are (StorageLayers): nothing is opened, and no server is asked. Not
// thread-safe.
class ObservableDevices {
 public:
  // `allowed`: what --allow names (Guard::Names()). `root` is where /sys, /proc and paths are
  // looked up: tests have their own.
  ObservableDevices(const std::vector<Guard::Named>& allowed, ObserveScope scope,
                    const std::string& root = "");

  // `top_layers` of the answer are numbers among layers(). Each answer may add to these.
  v1::ObservedDevices Answer(const v1::ObserveRequest& request);
  const std::vector<v1::StorageLayer>& layers() const { return shown_.layers(); }
  // Whether these devices, and the mounts at these mount points, may be sampled, as they are named
  // now. PERMISSION_DENIED names the first that may not.
  absl::Status MaySample(const std::vector<std::string>& names,
                         const std::vector<std::string>& mount_points = {}) const;

 private:
  using Names = std::set<std::string>;  // of whole devices, as in /proc/diskstats
  // The devices and mounts that lie under a path.
  struct Found {
    Names devices;              // the topmost
    std::set<uint64_t> mounts;  // ids of those above them
    // File systems that a server has: their types by mount point, as ObservedMount has both.
    std::map<std::string, std::string> of_server;
  };

  void AddNamed(const Guard::Named& named);
  void AddPath(const Guard::Named& named);
  void AddAll();
  void Add(const Found& found);
  void LeaveOut(const std::string& text, const std::string& reason);
  // All devices and partitions that have a number.
  std::vector<std::string> AllNames() const;
  // The name of the device or partition at a path below /dev; NOT_FOUND where it is no such node.
  absl::StatusOr<std::string> NodeAt(const MountTree::Location& location) const;
  // Finds the devices under a path that a job names. It looks for no file outside of the paths in
  // --allow, so that nobody learns by jobs which files a host has.
  absl::StatusOr<Found> Asked(const std::string& path);
  absl::Status CheckThere(const MountTree::Location& location) const;
  // "is on sda, which …" of the first that may not be seen; empty if all may.
  std::string Hidden(const Found& found) const;
  // The same of any path.
  absl::StatusOr<Found> Under(const std::string& path);
  absl::StatusOr<Found> UnderMount(const MountTree::Mount& mount);
  // All devices underneath one.
  Names Beneath(const std::string& name);
  // Devices on which a file system or swap space lies directly.
  Names InUse();
  // Adds the layers of what was chosen, and says in the answer which of them are on top.
  void Show(const Found& chosen, v1::ObservedDevices* answer);
  // Whether an entry that is a path leads where it led when the worker started.
  static bool IsSamePath(const Guard::Named& named, const MountTree::Location& location);
  // Whether it is the device that had the name when the worker started.
  bool IsSame(const Guard::Named& named, const std::string& name) const;
  std::string IdentityOf(const std::string& name) const;
  std::string Refusal() const;  // of a request that names no device, where none can be seen

  const std::string root_;
  const ObserveScope scope_;
  const KernelBlocks kernel_;
  const std::string mountinfo_;
  const MountTree mounts_;
  StorageLayers known_;  // all that was looked at, to find what lies on what
  StorageLayers shown_;  // what answers show
  std::vector<std::string> allowed_;
  std::vector<std::string> allowed_paths_;  // directories and files, without links
  Names named_;                             // devices that may be seen for themselves
  Found visible_;                           // these with all underneath them
  std::vector<std::string> left_out_;
};

// The answers to an inspection's requests, in their order, with their layers among the
// inspection's. They are refused where a file system or a device does not answer in time.
void AnswerObserves(const Guard& guard, ObserveScope scope,
                    const google::protobuf::RepeatedPtrField<v1::ObserveRequest>& requests,
                    v1::Inspection* inspection);

// Whether an observe phase may sample these devices and mounts now. Since the inspection another
// device may have got the name of one, and the controller may order what it did not ask for.
// PERMISSION_DENIED names the device, DEADLINE_EXCEEDED says that a file system or a device does
// not answer.
absl::Status CheckSampled(const Guard& guard, ObserveScope scope,
                          const std::vector<std::string>& names,
                          const std::vector<std::string>& mount_points);

}  // namespace lockstep::worker
