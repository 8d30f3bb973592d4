#pragma once

#include <google/protobuf/map.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// Which block devices of the host observe phases may see.
enum class ObserveScope {
  kAllowed,  // those that --allow covers
  kAll,
};

// The rights that this host's operator gives to jobs beyond --allow. Immutable; thread-safe.
class HostPolicy {
 public:
  HostPolicy() = default;
  // `settings`: devices whose settings jobs may change, and mounted file systems that they may
  // remount. `approving`: labels, as KEY=VALUE; a job that has one needs no confirmation to
  // overwrite what is expendable here. Errors name the entry.
  static absl::StatusOr<HostPolicy> Make(const std::vector<std::string>& settings,
                                         const std::vector<std::string>& approving,
                                         ObserveScope observes = ObserveScope::kAllowed);

  bool Approves(const google::protobuf::Map<std::string, std::string>& labels) const;
  // PERMISSION_DENIED with the remedy.
  absl::Status MayChangeDevice(const v1::BlockDevice& device) const;
  absl::Status MayRemount(const std::string& path) const;
  ObserveScope observes() const { return observes_; }

 private:
  std::vector<std::pair<std::string, std::string>> approving_;
  ObserveScope observes_ = ObserveScope::kAllowed;
  std::vector<std::string> settings_;
  std::vector<Guard> devices_;  // one, or none where nothing is allowed
};

}  // namespace lockstep::worker
