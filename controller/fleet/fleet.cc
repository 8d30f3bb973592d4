#include "controller/fleet/fleet.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/mark_endorsement.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/units.h"
#include "common/version.h"
#include "controller/fleet/control_stream.h"

namespace lockstep::controller {
namespace {

// The fleet's thread wakes every 50 ms or sooner. After a pause of a second, the process itself
// stood still.
constexpr int64_t kStoodStillNs = timing::kSecond;
// A lost worker is noticed at most this long after its lease.
constexpr int64_t kPollNs = 50 * timing::kMs;
// A burst lasts 48 ms, which is less than a go waits for its replies (run_actor_times.cc). Fleets
// beyond 250 workers have fewer pings each.
constexpr int kBurst = 12;
constexpr size_t kBurstTotal = 3000;
constexpr int64_t kBurstNs = 4 * timing::kMs;
// A worker that never replies must not fill the memory.
constexpr size_t kPingsKept = 128;
// A worker sends a few messages a second. A peer that sends more than this for longer is broken or
// hostile.
constexpr double kMessagesPerSecond = limits::kWorkerMessages;
constexpr double kMessageBurst = limits::kWorkerBurst;
constexpr int64_t kWallWarningNs = timing::kSecond;

}  // namespace

Fleet::Fleet(Options options, const common::Clock* clock, Callbacks callbacks)
    : options_(std::move(options)),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      roster_(options_.lease_ns) {
  for (const Roster::Owner& owner : options_.bindings) roster_.Bind(owner);
  thread_ = std::thread([this] { Main(); });
}

Fleet::~Fleet() {
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

absl::Status Fleet::Agree(v1::Hello* hello) const {
  const auto agreed =
      v1::Agree(*hello, options_.protocol, options_.lowest_guard, common::kSoftwareVersion);
  if (!agreed.ok()) return agreed.status();
  // A later reader of this Hello finds what may be used with this worker, and no number without a
  // name, which the check of the fields would refuse.
  hello->clear_features();
  for (const int number : agreed->features) {
    hello->add_features(static_cast<v1::ProtocolFeature>(number));
  }
  hello->set_spoken_version(agreed->version);
  return absl::OkStatus();
}

absl::Status Fleet::Attach(const v1::Hello& hello, ControlStream* stream) {
  std::string endorsement;
  if (options_.mark_authority && hello.mark_key().size() == common::SigningKey::kPublicBytes) {
    endorsement = options_.mark_authority->Sign(common::MarkEndorsementText(hello.mark_key()));
  }
  // Callbacks are made without mutex_, since they may call this object. Only `intruder`, which does
  // not, is called under it. callback_mutex_ keeps their order that of the roster's decisions.
  common::MutexLock one_at_a_time(&callback_mutex_);
  Roster::Admission admission;
  {
    common::MutexLock lock(&mutex_);
    if (stopping_) return absl::UnavailableError("the controller is shutting down");
    const int64_t now = clock_->MonotonicNs();
    auto admitted =
        roster_.Attach({hello.worker_id(), hello.instance_id(), hello.host().host_id(),
                        hello.host().name(), hello.host().boot_id(), hello.certificate()},
                       now);
    if (absl::IsPermissionDenied(admitted.status())) {
      callbacks_.intruder(hello, stream->peer(), std::string(admitted.status().message()));
    }
    if (!admitted.ok()) return admitted.status();
    admission = *admitted;
    unwelcomed_.erase(stream);
    // Welcome is queued before anybody else can send.
    v1::ControllerMessage welcome;
    welcome.mutable_welcome()->set_protocol_version(hello.spoken_version());
    welcome.mutable_welcome()->set_software_version(common::kSoftwareVersion);
    *welcome.mutable_welcome()->mutable_features() = hello.features();
    welcome.mutable_welcome()->set_lease_ns(options_.lease_ns);
    welcome.mutable_welcome()->set_store_id(options_.store_id);
    // A secret for Deliver, which comes over another connection: without certificates nothing else
    // says that both belong to one worker.
    const std::string session = absl::StrCat(common::NewUuid(), common::NewUuid());
    welcome.mutable_welcome()->set_session(session);
    if (!endorsement.empty()) {
      welcome.mutable_welcome()->set_mark_authority(options_.mark_authority->public_key());
      welcome.mutable_welcome()->set_mark_endorsement(endorsement);
    }
    stream->Command(std::move(welcome));
    Member& member = members_[hello.worker_id()];
    // The same process came back before its old connection was missed.
    if (member.stream != nullptr) member.stream->End("it has attached again");
    // The clock facts of another process, or of the time before a reboot, are not this one's.
    if (!admission.resumed) member = Member();
    member.hello = hello;
    member.stream = stream;
    member.session = session;
    member.certificate = stream->certificate();
    // Replies to pings of the old connection would be measured over two connections.
    member.pings.clear();
    member.next_ping_ns = now;
    member.burst = kBurst;
    member.budget = kMessageBurst;
    member.budget_at_ns = now;
    bursting_ = true;
  }
  changed_.NotifyAll();
  if (admission.succeeded) {
    callbacks_.succeeded(absl::StrCat(
        "host ", hello.host().name(),
        " has come back with new ids (its state directory was lost, or it was set up anew); its "
        "certificate ",
        hello.certificate(), " is the same"));
  }
  if (admission.replaced_process) {
    callbacks_.lost(hello.worker_id(), "its process ended; another one has taken its place");
  }
  callbacks_.attached(hello);
  return absl::OkStatus();
}

bool Fleet::OnMessage(const std::string& worker_id, ControlStream* stream,
                      const v1::WorkerMessage& message, int64_t received_ns) {
  {
    common::MutexLock lock(&mutex_);
    const auto found = members_.find(worker_id);
    if (found == members_.end() || found->second.stream != stream) return false;
    Member& member = found->second;
    // Every message counts, not heartbeats alone: a busy connection must not end its own lease.
    roster_.Heard(worker_id, received_ns);
    member.budget =
        std::min(kMessageBurst,
                 member.budget + kMessagesPerSecond *
                                     static_cast<double>(received_ns - member.budget_at_ns) / 1e9);
    member.budget_at_ns = received_ns;
    if (--member.budget < 0) {
      stream->Refuse(absl::UnavailableError(absl::StrCat(
          "it floods this controller: more than ", kMessagesPerSecond, " messages a second")));
      return false;
    }
    if (message.has_heartbeat()) {
      const int64_t before = member.wall_difference_ns;
      // A worker may say any number. An overflow of int64_t is undefined, so the difference is a
      // double and is clamped.
      member.wall_difference_ns =
          static_cast<int64_t>(std::clamp(static_cast<double>(message.heartbeat().wall_clock_ns()) -
                                              static_cast<double>(clock_->WallNs()),
                                          -4e18, 4e18));
      if (std::abs(member.wall_difference_ns) > kWallWarningNs &&
          std::abs(before) <= kWallWarningNs) {
        log::Warn(
            "the wall clock of {} is {:.1f} s off this controller's; nothing here relies on it, "
            "its logs do",
            member.hello.host().name(), static_cast<double>(member.wall_difference_ns) / 1e9);
      }
    }
    if (message.has_clock_reply()) {
      const auto sent = member.pings.find(message.clock_reply().id());
      if (sent == member.pings.end()) return true;
      member.estimator.Add(sent->second, message.clock_reply().received_ns(),
                           message.clock_reply().replied_ns(), received_ns);
      member.pings.erase(sent);
      return true;
    }
    // Most heartbeats say nothing that a run needs, and the deciding thread has one message fewer
    // for each worker and second.
    if (message.has_heartbeat() && message.heartbeat().activity().empty()) return true;
  }
  common::MutexLock one_at_a_time(&callback_mutex_);
  callbacks_.message(worker_id, message);
  return true;
}

void Fleet::Detach(const std::string& worker_id, ControlStream* stream) {
  // Taken first, as by Attach(): callbacks come in the order of what they tell.
  common::MutexLock one_at_a_time(&callback_mutex_);
  {
    common::MutexLock lock(&mutex_);
    const auto found = members_.find(worker_id);
    if (found == members_.end() || found->second.stream != stream) return;
    // The member stays until its lease ends: a worker that comes back before has lost nothing.
    found->second.stream = nullptr;
    found->second.burst = 0;
    roster_.Disconnected(worker_id);
    // Shutdown() ends the streams itself.
    if (stopping_) return;
  }
  callbacks_.detached(worker_id);
}

bool Fleet::Send(const std::string& worker_id, v1::ControllerMessage message) {
  common::MutexLock lock(&mutex_);
  const auto found = members_.find(worker_id);
  if (found == members_.end() || found->second.stream == nullptr) return false;
  found->second.stream->Command(std::move(message));
  return true;
}

void Fleet::PingBurst(const std::vector<std::string>& worker_ids) {
  {
    common::MutexLock lock(&mutex_);
    // In a large fleet each worker gets fewer pings, so that the burst itself does not become the
    // delay that it measures.
    const int burst = std::clamp(
        static_cast<int>(kBurstTotal / std::max<size_t>(1, worker_ids.size())), 1, kBurst);
    for (const std::string& id : worker_ids) {
      const auto found = members_.find(id);
      if (found != members_.end()) found->second.burst = std::max(found->second.burst, burst);
    }
    bursting_ = true;
  }
  changed_.NotifyAll();
}

ClockEstimator::Estimate Fleet::ClockAt(const std::string& worker_id, int64_t at_ns) const {
  common::MutexLock lock(&mutex_);
  const auto found = members_.find(worker_id);
  return found == members_.end() ? ClockEstimator::Estimate() : found->second.estimator.At(at_ns);
}

int64_t Fleet::WallDifferenceNs(const std::string& worker_id) const {
  common::MutexLock lock(&mutex_);
  const auto found = members_.find(worker_id);
  return found == members_.end() ? 0 : found->second.wall_difference_ns;
}

bool Fleet::MayDeliver(const std::string& worker_id, const std::string& certificate,
                       const std::string& session) const {
  common::MutexLock lock(&mutex_);
  const auto found = members_.find(worker_id);
  return found != members_.end() && found->second.hello.certificate() == certificate &&
         !session.empty() && found->second.session == session;
}

uint32_t Fleet::SpokenVersion(const std::string& worker_id) const {
  common::MutexLock lock(&mutex_);
  const auto found = members_.find(worker_id);
  return found == members_.end() ? 0 : found->second.hello.spoken_version();
}

uint32_t Fleet::Forget(const std::string& host_name) {
  common::MutexLock lock(&mutex_);
  return roster_.Forget(host_name);
}

bool Fleet::AddUnwelcomed(ControlStream* stream) {
  common::MutexLock lock(&mutex_);
  if (stopping_ || unwelcomed_.size() >= static_cast<size_t>(limits::kUnwelcomed)) return false;
  unwelcomed_[stream] = clock_->MonotonicNs();
  return true;
}

void Fleet::RemoveUnwelcomed(ControlStream* stream) {
  common::MutexLock lock(&mutex_);
  unwelcomed_.erase(stream);
}

std::vector<v1::AttachedWorker> Fleet::List() const {
  std::vector<v1::AttachedWorker> list;
  common::MutexLock lock(&mutex_);
  for (const auto& [id, member] : members_) {
    v1::AttachedWorker worker;
    *worker.mutable_hello() = member.hello;
    const auto clock = member.estimator.At(clock_->MonotonicNs());
    worker.set_clock_offset_ns(static_cast<double>(clock.offset_ns));
    worker.set_clock_bound_ns(static_cast<double>(clock.bound_ns));
    worker.set_round_trip_ns(static_cast<double>(clock.round_trip_ns));
    worker.set_clock_drift_ppm(clock.drift * 1e6);
    worker.set_clock_drift_bound_ppm(clock.drift_bound * 1e6);
    worker.set_wall_difference_ns(static_cast<double>(member.wall_difference_ns));
    worker.set_disconnected(member.stream == nullptr);
    if (member.certificate) {
      const absl::Time now = absl::FromUnixNanos(clock_->WallNs());
      worker.mutable_certificate()->set_not_after(
          common::FormatInstant(absl::ToUnixNanos(member.certificate->not_after)));
      if (common::ValidityAt(*member.certificate, now) != common::Validity::kValid) {
        worker.mutable_certificate()->set_warning(common::DescribeExpiry(*member.certificate, now));
      }
    }
    list.push_back(std::move(worker));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.hello().host().name() < b.hello().host().name();
  });
  return list;
}

std::vector<v1::Hello> Fleet::Hellos() const {
  std::vector<v1::Hello> hellos;
  common::MutexLock lock(&mutex_);
  for (const auto& [id, member] : members_) {
    if (member.stream != nullptr) hellos.push_back(member.hello);
  }
  std::sort(hellos.begin(), hellos.end(),
            [](const auto& a, const auto& b) { return a.host().name() < b.host().name(); });
  return hellos;
}

void Fleet::PingLocked(Member* member, int64_t now_ns) {
  v1::ControllerMessage ping;
  ping.mutable_clock_ping()->set_id(next_ping_);
  // Taken before the message is queued: time that it waits here widens the bound, which is safe.
  // Taken after, the offset could lie outside its bound.
  member->pings[next_ping_++] = clock_->MonotonicNs();
  if (member->pings.size() > kPingsKept) member->pings.erase(member->pings.begin());
  member->next_ping_ns = now_ns + timing::kPingNs;
  member->stream->Command(std::move(ping));
}

void Fleet::Main() {
  common::MutexLock lock(&mutex_);
  int64_t last = clock_->MonotonicNs();
  while (!stopping_) {
    const int64_t now = clock_->MonotonicNs();
    // This process stood still (a virtual machine that was paused, SIGSTOP): what came during that
    // time has not been read yet.
    if (now - last > kStoodStillNs) roster_.Excuse(now - last);
    last = now;
    bursting_ = false;
    for (auto& [id, member] : members_) {
      if (member.stream == nullptr || (member.burst == 0 && now < member.next_ping_ns)) continue;
      PingLocked(&member, now);
      if (member.burst > 0 && --member.burst > 0) bursting_ = true;
    }
    for (auto& [stream, since] : unwelcomed_) {
      if (now - since <= limits::kHelloNs) continue;
      stream->End("it has not said Hello in time");
      // End() asks gRPC to cancel, and OnDone() removes the entry. Until then the stream need not
      // be ended again with every poll.
      since = now;
    }
    if (roster_.IsDue(now)) {
      // callback_mutex_ is taken first, and the roster is read again under it. Otherwise a worker
      // that returns in between would be reported as attached, and then as lost.
      lock.Unlock();
      common::MutexLock one_at_a_time(&callback_mutex_);
      lock.Lock();
      const std::vector<Roster::Expired> expired = roster_.Expire(clock_->MonotonicNs());
      for (const Roster::Expired& lost : expired) {
        Member& member = members_[lost.worker_id];
        if (member.stream != nullptr) member.stream->End(lost.reason);
        members_.erase(lost.worker_id);
      }
      lock.Unlock();
      for (const Roster::Expired& lost : expired) callbacks_.lost(lost.worker_id, lost.reason);
      lock.Lock();
    }
    changed_.WaitFor(&lock, std::chrono::nanoseconds(bursting_ ? kBurstNs : kPollNs));
  }
}

void Fleet::Shutdown() {
  common::MutexLock lock(&mutex_);
  stopping_ = true;
  for (auto& [id, member] : members_) {
    if (member.stream != nullptr) member.stream->End("the controller is shutting down");
  }
  changed_.NotifyAll();
}

}  // namespace lockstep::controller
