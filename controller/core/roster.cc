#include "controller/core/roster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/ids.h"
#include "common/text.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

bool IsId(const std::string& text) {
  return !text.empty() && text.size() <= 128 && common::IsPlainLine(text);
}

std::string Named(const std::string& certificate) {
  return certificate.empty() ? "a worker without one"
                             : absl::StrCat("the certificate ", certificate);
}

}  // namespace

// No message of this function names an id, since whoever reads it could claim that id.
absl::Status Roster::CheckOwner(const Identity& worker) const {
  for (const std::string& id : {worker.worker_id, worker.host_id}) {
    const auto of = bound_ids_.find(id);
    if (of == bound_ids_.end() || of->second == worker.host_name) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        worker.host_name, " (", Named(worker.certificate), ") attaches with an id of host ",
        of->second, ", which belongs to the certificate ", bindings_.at(of->second).certificate,
        "; was its state directory copied? If the host was renamed, an admin runs `lockstep "
        "forget ",
        of->second, "`"));
  }
  const auto host = bindings_.find(worker.host_name);
  if (host == bindings_.end() || host->second.certificate == worker.certificate) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the host name ", worker.host_name, " belongs to the certificate ",
                   host->second.certificate, ", not to ", Named(worker.certificate),
                   "; to give it to another certificate, an admin runs `lockstep forget ",
                   worker.host_name, "`"));
}

absl::StatusOr<Roster::Admission> Roster::Attach(const Identity& worker, int64_t now_ns) {
  if (!common::IsUuid(worker.worker_id) || !common::IsUuid(worker.host_id) ||
      !common::IsUuid(worker.instance_id)) {
    return absl::FailedPreconditionError("its worker, host or instance id is not a UUID");
  }
  if (!common::IsHostName(worker.host_name)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", common::Printable(worker.host_name, 60),
                     "' is not a valid host name (letters, digits, '.', '_' and '-', at most 253); "
                     "start the worker with --name NAME"));
  }
  if (!IsId(worker.boot_id)) return absl::FailedPreconditionError("its host has no boot id");
  // Every refusal comes before the first change, so that a refused worker leaves the roster as it
  // was.
  if (absl::Status owner = CheckOwner(worker); !owner.ok()) return owner;
  Admission admission;
  const auto found = members_.find(worker.worker_id);
  // A worker that is known comes back even when the roster is full.
  if (found == members_.end() && members_.size() >= static_cast<size_t>(limits::kWorkers)) {
    return absl::UnavailableError(
        absl::StrCat(members_.size(), " workers are attached; this controller takes no more"));
  }
  if (found != members_.end()) {
    const bool same = found->second.identity.instance_id == worker.instance_id;
    if (found->second.connected && !same) {
      // Its old connection may not have been missed yet.
      return absl::UnavailableError(
          absl::StrCat("worker ", worker.worker_id, " is attached already, from ",
                       found->second.identity.host_name, "; was its state directory copied?"));
    }
    // The same process may be back before its old connection is known to be broken, since TCP may
    // take minutes to notice that. Then nothing was lost.
    admission.resumed = same;
    admission.was_connected = found->second.connected;
    admission.replaced_process = !same;
  }
  const auto named = names_.find(worker.host_name);
  if (named != names_.end() && named->second != worker.worker_id) {
    return absl::UnavailableError(absl::StrCat("a worker on a host named ", worker.host_name,
                                               " is attached already; start this one with --name"));
  }
  // The worker may be back under another name (--name).
  if (found != members_.end()) names_.erase(found->second.identity.host_name);
  names_[worker.host_name] = worker.worker_id;
  members_[worker.worker_id] = {.identity = worker, .connected = true, .heard_ns = now_ns};
  LOCKSTEP_CHECK(names_.size() == members_.size(), "two attached workers share a name");
  // Without a certificate nothing proves the name. To bind it would let the first caller keep the
  // real worker out.
  if (worker.certificate.empty()) return admission;
  const auto known = bindings_.find(worker.host_name);
  admission.succeeded = known != bindings_.end() && (known->second.host_id != worker.host_id ||
                                                     known->second.worker_id != worker.worker_id);
  Bind({worker.worker_id, worker.host_id, worker.host_name, worker.certificate});
  return admission;
}

void Roster::Bind(const Owner& owner) {
  // The ids that the host had before become free with this. Otherwise they would stay bound to its
  // name after it was set up anew.
  Forget(owner.host_name);
  bindings_[owner.host_name] = {owner.certificate, owner.worker_id, owner.host_id};
  bound_ids_[owner.worker_id] = owner.host_name;
  bound_ids_[owner.host_id] = owner.host_name;
}

uint32_t Roster::Forget(const std::string& host_name) {
  const auto bound = bindings_.find(host_name);
  if (bound == bindings_.end()) return 0;
  bound_ids_.erase(bound->second.worker_id);
  bound_ids_.erase(bound->second.host_id);
  bindings_.erase(bound);
  return 1;
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
    expired.push_back(
        {member->first,
         absl::StrCat(
             member->second.connected ? "silent" : "its connection ended and did not come back",
             " for ", silent / timing::kSecond, " s")});
    const size_t named = names_.erase(member->second.identity.host_name);
    LOCKSTEP_CHECK(named == 1, "an attached worker has no name");
    member = members_.erase(member);
  }
  return expired;
}

bool Roster::IsDue(int64_t now_ns) const {
  return std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
    return now_ns - member.second.heard_ns > lease_ns_;
  });
}

}  // namespace lockstep::controller
