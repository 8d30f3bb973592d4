#include "controller/core/roster.h"

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace lockstep::controller {

absl::StatusOr<Roster::Admission> Roster::Attach(const v1::Hello& hello, int64_t now_ns) {
  if (!common::IsUuid(hello.worker_id()) || !common::IsUuid(hello.host().host_id()) || !common::IsUuid(hello.instance_id())) {
    return absl::FailedPreconditionError("its worker, host or instance id is not a UUID");
  }
  if (hello.host().name().empty() || hello.host().boot_id().empty()) {
    return absl::FailedPreconditionError("its host has no name or no boot id");
  }
  Admission admission;
  const auto found = members_.find(hello.worker_id());
  if (found != members_.end()) {
    const bool same = found->second.hello.instance_id() == hello.instance_id();
    if (found->second.connected && !same) {
      // Its old connection may not have been missed yet.
      return absl::UnavailableError(absl::StrCat("worker ", hello.worker_id(), " is attached already, from ",
                                                 found->second.hello.host().name(), "; was its state directory copied?"));
    }
    admission.resumed = same;
    admission.was_connected = found->second.connected;
    admission.replaced_process = !same;
  }
  const auto named = names_.find(hello.host().name());
  if (named != names_.end() && named->second != hello.worker_id()) {
    return absl::UnavailableError(
        absl::StrCat("a worker on a host named ", hello.host().name(), " is attached already; start this one with --name"));
  }
  if (found != members_.end()) names_.erase(found->second.hello.host().name());
  names_[hello.host().name()] = hello.worker_id();
  members_[hello.worker_id()] = {hello, true, now_ns};
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

std::vector<Roster::Expired> Roster::Expire(int64_t now_ns) {
  std::vector<Expired> expired;
  for (auto member = members_.begin(); member != members_.end();) {
    const int64_t silent = now_ns - member->second.heard_ns;
    if (silent <= lease_ns_) {
      ++member;
      continue;
    }
    expired.push_back({member->first, absl::StrCat(member->second.connected ? "silent" : "its connection ended and did not come back", " for ", silent / 1000000000, " s")});
    names_.erase(member->second.hello.host().name());
    member = members_.erase(member);
  }
  return expired;
}

bool Roster::IsConnected(const std::string& worker_id) const {
  const auto found = members_.find(worker_id);
  return found != members_.end() && found->second.connected;
}

const v1::Hello* Roster::Find(const std::string& worker_id) const {
  const auto found = members_.find(worker_id);
  return found == members_.end() ? nullptr : &found->second.hello;
}

}  // namespace lockstep::controller
