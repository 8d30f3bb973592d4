#include "controller/service/device_questions.h"

#include "common/limits.h"

namespace lockstep::controller {
namespace {

// A worker's own patience with a device, and the way there and back.
constexpr int64_t kAnswerNs = limits::kProbeNs + 2000000000;

}  // namespace

void DeviceQuestions::Ask(Done done) {
  const uint64_t id = ++made_;
  Pending& pending = pending_[id];
  pending.done = std::move(done);
  for (const v1::Hello& hello : fleet_->Hellos()) {
    const std::string& boot_id = hello.host().boot_id();
    v1::HostDevices* host = pending.reply.add_hosts();
    host->set_host(hello.host().name());
    host->set_boot_id(boot_id);
    host->set_missing("the worker has not answered");
    pending.missing[hello.worker_id()] = pending.reply.hosts_size() - 1;
    v1::ControllerMessage message;
    message.mutable_list_devices()->set_id(id);
    fleet_->Send(hello.worker_id(), std::move(message));
  }
  if (pending.missing.empty()) return Finish(id);
  loop_->After(kAnswerNs, [this, id] { Finish(id); });
}

void DeviceQuestions::OnAnswer(const std::string& worker_id, const v1::DeviceList& list) {
  const auto asked = pending_.find(list.id());
  if (asked == pending_.end()) return;
  const auto worker = asked->second.missing.find(worker_id);
  if (worker == asked->second.missing.end()) return;
  v1::HostDevices* host = asked->second.reply.mutable_hosts(worker->second);
  host->clear_missing();
  for (const v1::BlockDevice& device : list.devices()) {
    if (host->devices_size() >= limits::kDevicesOfAHost) break;
    *host->add_devices() = device;
  }
  asked->second.missing.erase(worker);
  if (asked->second.missing.empty()) Finish(list.id());
}

void DeviceQuestions::Finish(uint64_t id) {
  const auto asked = pending_.find(id);
  if (asked == pending_.end()) return;
  Pending ended = std::move(asked->second);
  pending_.erase(asked);
  ended.done(std::move(ended.reply));
}

void DeviceQuestions::Drop() {
  while (!pending_.empty()) Finish(pending_.begin()->first);
}

}  // namespace lockstep::controller
