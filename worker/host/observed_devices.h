#pragma once

#include <google/protobuf/repeated_field.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/host/host_policy.h"
#include "worker/host/kernel_blocks.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {

// Which block devices observe phases see on this host, at one moment. By mounts, links and sysfs
// alone: nothing is opened, and no server is asked. Not thread-safe.
class ObservableDevices {
 public:
  // `allowed`: what --allow names (Guard::Names()). `root` is where /sys, /proc and paths are
  // looked up: tests have their own.
  ObservableDevices(const std::vector<Guard::Named>& allowed, ObserveScope scope,
                    const std::string& root = "");

  v1::ObservedDevices Answer(const v1::ObserveRequest& request) const;
  // Whether these devices may be sampled, as they are named now. PERMISSION_DENIED names the first
  // that may not.
  absl::Status MaySample(const std::vector<std::string>& names) const;

 private:
  using Names = std::set<std::string>;  // of whole devices, as in /proc/diskstats

  void AddNamed(const Guard::Named& named);
  void AddPath(const Guard::Named& named);
  void LeaveOut(const std::string& text, const std::string& reason);
  // All devices and partitions that have a number.
  std::vector<std::string> AllNames() const;
  // The name of the device or partition at a path below /dev; NOT_FOUND where it is no such node.
  absl::StatusOr<std::string> NodeAt(const MountTree::Location& location) const;
  // The devices of a path that a job names. It looks for no file outside of what --allow names, so
  // that nobody learns by jobs which files a host has.
  absl::StatusOr<Names> Asked(const std::string& path) const;
  absl::Status CheckThere(const MountTree::Location& location) const;
  // "is on sda, which …" of the first that may not be seen; empty if all may.
  std::string Hidden(const Names& names) const;
  // The devices under a path, whatever it is.
  absl::StatusOr<Names> Under(const std::string& path, int depth = 0) const;
  absl::StatusOr<Names> UnderMount(const MountTree::Mount& mount, int depth) const;
  Names PoolOf(const std::string& name) const;  // a btrfs
  // Whether an entry that is a path leads where it led when the worker started.
  static bool IsSamePath(const Guard::Named& named, const MountTree::Location& location);
  // Whether it is the device that had the name when the worker started.
  bool IsSame(const Guard::Named& named, const std::string& name) const;
  std::string IdentityOf(const std::string& name) const;
  // The devices that one is built on, down to the last.
  Names Beneath(const std::string& name, int depth = 0) const;
  std::string Refusal() const;  // of a request that names no device, where none can be seen

  const std::string root_;
  const ObserveScope scope_;
  const KernelBlocks kernel_;
  const MountTree mounts_;
  std::vector<std::string> allowed_;
  std::vector<std::string> allowed_paths_;  // directories and files, without links
  Names visible_;
  std::vector<std::string> left_out_;
};

// The answers to an inspection's requests, in their order. They are refused where a file system or
// a device does not answer in time.
std::vector<v1::ObservedDevices> AnswerObserves(
    const Guard& guard, ObserveScope scope,
    const google::protobuf::RepeatedPtrField<v1::ObserveRequest>& requests);

// Whether an observe phase may sample these devices now. Since the inspection another device may
// have got the name of one, and the controller may order what it did not ask for. PERMISSION_DENIED
// names the device, DEADLINE_EXCEEDED says that a file system or a device does not answer.
absl::Status CheckSampled(const Guard& guard, ObserveScope scope,
                          const std::vector<std::string>& names);

}  // namespace lockstep::worker
