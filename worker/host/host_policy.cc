#include "worker/host/host_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::worker {
namespace {

absl::Status NotAllowed(const std::string& what, const std::vector<std::string>& settings) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, " may not be changed by jobs: this worker's --allow-settings names ",
                   settings.empty() ? "nothing" : absl::StrJoin(settings, ", ")));
}

}  // namespace

absl::StatusOr<HostPolicy> HostPolicy::Make(const std::vector<std::string>& settings,
                                            const std::vector<std::string>& approving,
                                            ObserveScope observes) {
  HostPolicy policy;
  policy.observes_ = observes;
  for (const std::string& label : approving) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--approve-label '", label, "': write KEY=VALUE"));
    }
    policy.approving_.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  if (settings.empty()) return policy;
  // --allow-settings follows the rules of --allow. Only the flag in an error is another one.
  auto devices = Guard::Make(settings, {});
  if (!devices.ok()) {
    std::string words(devices.status().message());
    if (words.rfind("--allow ", 0) == 0) words.insert(7, "-settings");
    return absl::Status(devices.status().code(), words);
  }
  policy.settings_ = devices->allow();
  policy.devices_.push_back(*std::move(devices));
  return policy;
}

bool HostPolicy::Approves(const google::protobuf::Map<std::string, std::string>& labels) const {
  return std::any_of(approving_.begin(), approving_.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

absl::Status HostPolicy::MayChangeDevice(const v1::BlockDevice& device) const {
  if (!devices_.empty() && devices_.front().Allows(device)) return absl::OkStatus();
  return NotAllowed(absl::StrCat("settings of ", device.path()), settings_);
}

absl::Status HostPolicy::MayRemount(const std::string& path) const {
  // Only the mount point itself counts. A directory that permits devices must not permit a remount
  // of every file system beneath it.
  const bool named = std::find(settings_.begin(), settings_.end(), path) != settings_.end();
  return named ? absl::OkStatus() : NotAllowed("mount options of " + path, settings_);
}

}  // namespace lockstep::worker
