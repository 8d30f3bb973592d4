#include "controller/core/roster.h"

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace lockstep::controller {

absl::StatusOr<Roster::Admission> Roster::Attach(const Identity& worker, int64_t now_ns) {
  if (!common::IsUuid(worker.worker_id) || !common::IsUuid(worker.host_id) || !common::IsUuid(worker.instance_id)) {
    return absl::FailedPreconditionError("its worker, host or instance id is not a UUID");
  }
  if (worker.host_name.empty() || worker.boot_id.empty()) {
    return absl::FailedPreconditionError("its host has no name or no boot id");
  }
  Admission admission;
  const auto found = members_.find(worker.worker_id);
  if (found != members_.end()) {
    const bool same = found->second.identity.instance_id == worker.instance_id;
    if (found->second.connected && !same) {
      // Its old connection may not have been missed yet.
      return absl::UnavailableError(absl::StrCat("worker ", worker.worker_id, " is attached already, from ",
                                                 found->second.identity.host_name, "; was its state directory copied?"));
    }
    admission.resumed = same;
    admission.was_connected = found->second.connected;
    admission.replaced_process = !same;
  }
  const auto named = names_.find(worker.host_name);
  if (named != names_.end() && named->second != worker.worker_id) {
    return absl::UnavailableError(
        absl::StrCat("a worker on a host named ", worker.host_name, " is attached already; start this one with --name"));
  }
  if (found != members_.end()) names_.erase(found->second.identity.host_name);
  names_[worker.host_name] = worker.worker_id;
  members_[worker.worker_id] = {worker, true, now_ns};
  return admission;
}

void Roster::Disconnected(const std::string& worker_id) {
  const auto found = members_.find(worker_id);
  if (found != members_.end()) found->second.connected = false;
}

void Roster::Heard(const std::string& worker_id, int64_t now_ns) {
  const auto found = members_.find(worker_id);
  if (found != members_.end()) found->second.heard_ns = now_ns;
}

void Roster::Excuse(int64_t nanoseconds) {
  for (auto& [id, member] : members_) member.heard_ns += nanoseconds;
}

std::vector<Roster::Expired> Roster::Expire(int64_t now_ns) {
  std::vector<Expired> expired;
  for (auto member = members_.begin(); member != members_.end();) {
    const int64_t silent = now_ns - member->second.heard_ns;
    if (silent <= lease_ns_) {
      ++member;
      continue;
    }
    expired.push_back({member->first, absl::StrCat(member->second.connected ? "silent" : "its connection ended and did not come back", " for ", silent / 1000000000, " s")});
    names_.erase(member->second.identity.host_name);
    member = members_.erase(member);
  }
  return expired;
}

bool Roster::IsConnected(const std::string& worker_id) const {
  const auto found = members_.find(worker_id);
  return found != members_.end() && found->second.connected;
}

}  // namespace lockstep::controller
