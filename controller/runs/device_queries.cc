#include "controller/runs/device_queries.h"

#include "common/limits.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

// A probe reads from every device of the fleet. Pages and scripts that poll share the answer of one
// second.
constexpr absl::Duration kFreshFor = absl::Seconds(1);

}  // namespace

bool DeviceQueries::Query(Done done) {
  if (fresh_) {
    done(reply_);
    return true;
  }
  if (waiting_.size() >= static_cast<size_t>(limits::kSlowCallsWaiting)) return false;
  waiting_.push_back(std::move(done));
  // One query serves all who wait: each of them would cost a message to every worker.
  if (waiting_.size() > 1) return true;
  const uint64_t id = NextId();
  reply_.Clear();
  missing_.clear();
  lost_.clear();
  for (const v1::Hello& hello : fleet_->Hellos()) {
    const std::string& boot_id = hello.host().boot_id();
    v1::HostDevices* host = reply_.add_hosts();
    host->set_host(hello.host().name());
    host->set_boot_id(boot_id);
    host->set_worker_id(hello.worker_id());
    // An answer clears this. A silent worker is listed with the reason, and not as a host without
    // devices.
    host->set_missing("the worker has not answered");
    missing_[hello.worker_id()] = reply_.hosts_size() - 1;
    v1::ControllerMessage message;
    message.mutable_list_devices()->set_id(id);
    message.mutable_list_devices()->set_kernel_only(kind_ == Kind::kKernelOnly);
    fleet_->Send(hello.worker_id(), std::move(message));
  }
  if (missing_.empty()) {
    Finish(id);
  } else {
    loop_->After(absl::Nanoseconds(timing::kDevicesAnswerNs), [this, id] { Finish(id); });
  }
  return true;
}

void DeviceQueries::OnAnswer(const std::string& worker_id, const v1::DeviceList& list) {
  if (list.id() != made_ || waiting_.empty()) return;
  const auto worker = missing_.find(worker_id);
  if (worker == missing_.end()) return;
  v1::HostDevices* host = reply_.mutable_hosts(worker->second);
  host->clear_missing();
  for (const v1::BlockDevice& device : list.devices()) {
    // The reply is kept for all callers, and a worker decides how much it sends.
    if (host->devices_size() >= limits::kDevicesOfAHost) break;
    *host->add_devices() = device;
  }
  missing_.erase(worker);
  if (missing_.empty()) Finish(made_);
}

void DeviceQueries::OnLost(const std::string& worker_id) {
  const auto worker = missing_.find(worker_id);
  if (worker == missing_.end() || waiting_.empty()) return;
  // The host is removed in Finish(): until then missing_ holds places in the reply, which must not
  // move.
  lost_.insert(worker->second);
  missing_.erase(worker);
  if (missing_.empty()) Finish(made_);
}

void DeviceQueries::Finish(uint64_t id) {
  if (id != made_ || waiting_.empty()) return;
  // The last place goes first, so that the places before it stay valid.
  for (auto place = lost_.rbegin(); place != lost_.rend(); ++place) {
    reply_.mutable_hosts()->DeleteSubrange(*place, 1);
  }
  lost_.clear();
  if (kind_ == Kind::kInspect) {
    fresh_ = true;
    loop_->After(kFreshFor, [this, id] {
      if (id == made_) fresh_ = false;
    });
  }
  missing_.clear();
  // A callback may query again. It then finds no query under way, and begins one.
  const std::vector<Done> waiting = std::move(waiting_);
  waiting_.clear();
  for (const Done& done : waiting) done(reply_);
}

void DeviceQueries::Drop() {
  if (!waiting_.empty()) Finish(made_);
}

}  // namespace lockstep::controller
