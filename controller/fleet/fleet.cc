#include "controller/fleet/fleet.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "controller/fleet/control_stream.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kPingNs = 1000000000;
// Silence of a worker for longer than this loses it. Its own lease is as long, so that it has ended its I/O by then.
constexpr int64_t kLeaseNs = 10000000000;
constexpr int kBurst = 12;
constexpr int64_t kBurstNs = 4000000;
constexpr size_t kPingsKept = 128;

}  // namespace

Fleet::Fleet(uint64_t epoch, std::string store_id, const common::Clock* clock, Callbacks callbacks)
    : epoch_(epoch), store_id_(std::move(store_id)), clock_(clock), callbacks_(std::move(callbacks)), thread_([this] { Main(); }) {}

Fleet::~Fleet() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status Fleet::Attach(const v1::Hello& hello, ControlStream* stream) {
  if (!common::IsUuid(hello.worker_id()) || !common::IsUuid(hello.host().host_id())) {
    return absl::FailedPreconditionError("its worker or host id is not a UUID");
  }
  if (hello.host().name().empty() || hello.host().boot_id().empty()) {
    return absl::FailedPreconditionError("its host has no name or no boot id");
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return absl::UnavailableError("the controller is shutting down");
    const auto found = members_.find(hello.worker_id());
    if (found != members_.end()) {
      // Its old connection may not have been missed yet.
      return absl::UnavailableError(absl::StrCat("worker ", hello.worker_id(), " is attached already, from ",
                                                 found->second.hello.host().name(), "; was its state directory copied?"));
    }
    for (const auto& [id, other] : members_) {
      if (other.hello.host().name() == hello.host().name()) {
        return absl::UnavailableError(
            absl::StrCat("a worker on a host named ", hello.host().name(), " is attached already; start this one with --name"));
      }
    }
    // Welcome is queued before anybody else can send.
    v1::ControllerMessage welcome;
    welcome.mutable_welcome()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
    welcome.mutable_welcome()->set_lease_ns(kLeaseNs);
    welcome.mutable_welcome()->set_store_id(store_id_);
    stream->Command(std::move(welcome));
    Member& member = members_[hello.worker_id()];
    member.hello = hello;
    member.stream = stream;
    member.heard_ns = clock_->MonotonicNs();
    bursts_[hello.worker_id()] = kBurst;
  }
  changed_.notify_all();
  callbacks_.attached(hello);
  return absl::OkStatus();
}

void Fleet::OnMessage(const std::string& worker_id, const v1::WorkerMessage& message, int64_t received_ns) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = members_.find(worker_id);
    if (found == members_.end()) return;
    Member& member = found->second;
    member.heard_ns = received_ns;
    if (message.has_heartbeat()) {
      member.wall_difference_ns = message.heartbeat().wall_clock_ns() - clock_->WallNs();
      return;
    }
    if (message.has_clock_reply()) {
      const auto sent = member.pings.find(message.clock_reply().id());
      if (sent == member.pings.end()) return;
      member.estimator.Add(sent->second, message.clock_reply().received_ns(), message.clock_reply().replied_ns(), received_ns);
      member.pings.erase(sent);
      return;
    }
  }
  callbacks_.message(worker_id, message);
}

void Fleet::Detach(const std::string& worker_id, ControlStream* stream, const std::string& reason) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = members_.find(worker_id);
    if (found == members_.end() || found->second.stream != stream) return;
    members_.erase(found);
    bursts_.erase(worker_id);
  }
  callbacks_.lost(worker_id, reason);
}

bool Fleet::Send(const std::string& worker_id, v1::ControllerMessage message) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = members_.find(worker_id);
  if (found == members_.end()) return false;
  found->second.stream->Command(std::move(message));
  return true;
}

void Fleet::PingBurst(const std::vector<std::string>& worker_ids) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& id : worker_ids) bursts_[id] = kBurst;
  }
  changed_.notify_all();
}

ClockEstimator::Estimate Fleet::ClockOf(const std::string& worker_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = members_.find(worker_id);
  return found == members_.end() ? ClockEstimator::Estimate() : found->second.estimator.At(clock_->MonotonicNs());
}

bool Fleet::IsAttached(const std::string& worker_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return members_.count(worker_id) != 0;
}

std::vector<v1::AttachedWorker> Fleet::List() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<v1::AttachedWorker> list;
  for (const auto& [id, member] : members_) {
    v1::AttachedWorker worker;
    *worker.mutable_hello() = member.hello;
    const auto clock = member.estimator.At(clock_->MonotonicNs());
    worker.set_clock_offset_ns(static_cast<double>(clock.offset_ns));
    worker.set_clock_bound_ns(static_cast<double>(clock.bound_ns));
    worker.set_round_trip_ns(static_cast<double>(clock.round_trip_ns));
    worker.set_wall_difference_ns(static_cast<double>(member.wall_difference_ns));
    list.push_back(std::move(worker));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.hello().host().name() < b.hello().host().name(); });
  return list;
}

std::vector<v1::Hello> Fleet::Hellos() const {
  std::vector<v1::Hello> hellos;
  for (v1::AttachedWorker& worker : List()) hellos.push_back(std::move(*worker.mutable_hello()));
  return hellos;
}

void Fleet::PingLocked(Member* member) {
  v1::ControllerMessage ping;
  ping.mutable_clock_ping()->set_id(next_ping_);
  member->pings[next_ping_++] = clock_->MonotonicNs();
  if (member->pings.size() > kPingsKept) member->pings.erase(member->pings.begin());
  member->stream->Command(std::move(ping));
}

void Fleet::Main() {
  int64_t next_round = clock_->MonotonicNs();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const int64_t now = clock_->MonotonicNs();
    if (now >= next_round) {
      next_round = now + kPingNs;
      for (auto& [id, member] : members_) {
        PingLocked(&member);
        if (now - member.heard_ns > kLeaseNs) member.stream->End(absl::StrCat("silent for ", (now - member.heard_ns) / 1000000000, " s"));
      }
    }
    for (auto burst = bursts_.begin(); burst != bursts_.end();) {
      const auto found = members_.find(burst->first);
      if (found != members_.end()) PingLocked(&found->second);
      burst = --burst->second <= 0 ? bursts_.erase(burst) : std::next(burst);
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(bursts_.empty() ? std::max<int64_t>(1, next_round - now) : kBurstNs));
  }
}

void Fleet::Shutdown() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  for (auto& [id, member] : members_) member.stream->End("the controller is shutting down");
  changed_.notify_all();
}

}  // namespace lockstep::controller
