#include "worker/link/protocol.h"

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/version.h"

namespace lockstep::worker {

using common::Safeguard;
using Status = v1::WorkerStatus;

namespace {

v1::Severity OnWire(measure::Severity severity) {
  switch (severity) {
    case measure::Severity::kInfo:
      return v1::SEVERITY_INFO;
    case measure::Severity::kWarning:
      return v1::SEVERITY_WARNING;
    case measure::Severity::kError:
      return v1::SEVERITY_ERROR;
  }
  return v1::SEVERITY_UNSPECIFIED;
}

using timing::kSecond;
// The heartbeat says what a phase does that arms or drains for longer than this.
constexpr int64_t kLongNs = kSecond;

}  // namespace

v1::WorkerStatus Protocol::Introduce() {
  common::MutexLock lock(&mutex_);
  introduced_ = status_.SerializeAsString();
  return status_;
}

void Protocol::SayWhatChanged() {
  v1::WorkerMessage news;
  {
    common::MutexLock lock(&mutex_);
    // Messages between Hello and Welcome are dropped: a change of that time is told now.
    if (status_.SerializeAsString() == introduced_) return;
    *news.mutable_status() = status_;
  }
  ports_.send(news);
}

absl::Status Protocol::OnFirst(const v1::ControllerMessage& message) {
  if (message.has_refused()) {
    const auto code = message.refused().retry() ? absl::StatusCode::kUnavailable
                                                : absl::StatusCode::kFailedPrecondition;
    return absl::Status(code, absl::StrCat("it refuses this worker: ", message.refused().reason()));
  }
  if (!message.has_welcome()) {
    return absl::UnavailableError("its first message is neither Welcome nor Refused");
  }
  // Nothing of a session that this worker does not speak is kept, not even its epoch.
  if (absl::Status status =
          v1::CheckWelcome(message.welcome(), ports_.protocol, common::kSoftwareVersion);
      !status.ok()) {
    return status;
  }
  common::MutexLock lock(&mutex_);
  // Epochs of different stores do not compare. A new store begins with epoch 1, and a worker that
  // has served another store would refuse it for good.
  if (message.welcome().store_id() != store_id_) epoch_ = 0;
  store_id_ = message.welcome().store_id();
  if (!ports_.safeguards.Pass(Safeguard::kEpochRefused, message.epoch() >= epoch_)) {
    return absl::UnavailableError(
        absl::StrCat("it (epoch ", message.epoch(), ") was replaced by one of epoch ", epoch_));
  }
  epoch_ = message.epoch();
  return absl::OkStatus();
}

void Protocol::OnCommand(const v1::ControllerMessage& message, int64_t received_ns) {
  {
    common::MutexLock lock(&mutex_);
    if (!ports_.safeguards.Pass(Safeguard::kEpochRefused, message.epoch() >= epoch_)) {
      lock.Unlock();
      return Event(
          measure::Severity::kWarning,
          absl::StrCat("refused a command of the replaced controller of epoch ", message.epoch()));
    }
    epoch_ = message.epoch();
  }
  switch (message.kind_case()) {
    case v1::ControllerMessage::kClockPing: {
      v1::WorkerMessage reply;
      reply.mutable_clock_reply()->set_id(message.clock_ping().id());
      // Taken when the message came in, before any lock: time that this worker spends is not the
      // network's.
      reply.mutable_clock_reply()->set_received_ns(received_ns);
      reply.mutable_clock_reply()->set_replied_ns(ports_.now());
      return ports_.send(reply);
    }
    case v1::ControllerMessage::kInspect:
      return ports_.inspect(message.inspect());
    case v1::ControllerMessage::kListDevices:
      if (!ports_.list_devices) {
        v1::WorkerMessage none;
        none.mutable_devices()->set_id(message.list_devices().id());
        return ports_.send(none);
      }
      return ports_.list_devices(message.list_devices());
    case v1::ControllerMessage::kStampDevices:
      if (ports_.stamp_devices) ports_.stamp_devices(message.stamp_devices());
      return;
    case v1::ControllerMessage::kAssign:
      return Assign(message.assign());
    case v1::ControllerMessage::kGo:
      return Go(message.go());
    case v1::ControllerMessage::kStopAt:
      return ports_.executor->StopAt(message.stop_at());
    case v1::ControllerMessage::kStopNow:
      return StopNow(message.stop_now());
    case v1::ControllerMessage::kRunOver:
      return ports_.executor->RunOver(message.run_over().run_id());
    case v1::ControllerMessage::kRunsPruned:
      return ports_.executor->RunsPruned(
          {message.runs_pruned().run_ids().begin(), message.runs_pruned().run_ids().end()});
    case v1::ControllerMessage::kPreempt:
      return ports_.executor->Preempt(message.preempt());
    case v1::ControllerMessage::kWelcome:
    case v1::ControllerMessage::kRefused:
    // A command that only a newer controller knows parses as no kind at all. It is ignored.
    case v1::ControllerMessage::KIND_NOT_SET:
      return;
  }
}

void Protocol::Assign(const v1::Assignment& assignment) {
  std::string refused;
  {
    common::MutexLock lock(&mutex_);
    // An assignment comes twice where a connection was lost in between. One that is late must not
    // make a phase that is over run again.
    if (SamePhase(assignment.phase(), status_.phase())) return;
    if (status_.state() != Status::STATE_IDLE) {
      refused = absl::StrCat("still busy with phase ", status_.phase().phase(), " (attempt ",
                             status_.phase().attempt(), ") of run ", status_.phase().run_id());
    } else {
      status_.set_state(Status::STATE_ARMING);
      *status_.mutable_phase() = assignment.phase();
      status_.clear_failed();
      status_.clear_not_started();
      // The last order stays for the other phases of its run, and means nothing to another run.
      if (status_.ordered_phase().run_id() != assignment.phase().run_id()) {
        status_.clear_last_order();
        status_.clear_ordered_phase();
      }
      since_ns_ = ports_.now();
      go_within_ns_ = assignment.go_within_ns();
      hard_stop_ns_ = assignment.hard_stop_ns();
      load_ = assignment.has_run();
      hard_stopped_ = overfull_ = false;
      not_started_.clear();
    }
  }
  // The lock is released: Assign() may wait for the last phase's thread to end, and heartbeats need
  // the lock.
  if (refused.empty()) {
    const absl::Status status = ports_.executor->Assign(assignment);
    if (status.ok()) return;
    v1::PhaseFailed failed;
    *failed.mutable_phase() = assignment.phase();
    failed.set_reason(std::string(status.message()));
    return OnFailed(failed);
  }
  v1::WorkerMessage message;
  *message.mutable_phase_failed()->mutable_phase() = assignment.phase();
  message.mutable_phase_failed()->set_reason(refused);
  ports_.send(message);
}

void Protocol::Go(const v1::Go& go) {
  int64_t late = 0;
  {
    common::MutexLock lock(&mutex_);
    // The go came twice, is meant for another attempt, or the phase was given up during that time.
    if (status_.state() != Status::STATE_ARMED || !SamePhase(go.phase(), status_.phase()) ||
        !not_started_.empty()) {
      return;
    }
    // Only a load has to begin at one instant. Laying out files may begin late.
    late = load_ ? ports_.now() - go.at_ns() : 0;
    if (ports_.safeguards.Pass(Safeguard::kGoInTime, late <= 0)) {
      late = 0;
      status_.set_state(Status::STATE_RUNNING);
      since_ns_ = ports_.now();
      go_at_ns_ = go.at_ns();
    }
  }
  if (late > 0) return GiveUp(absl::StrCat("the go came ", late / 1000, " us after T"));
  const absl::Status status = ports_.executor->Go(go);
  if (!status.ok()) Event(measure::Severity::kError, std::string(status.message()));
}

void Protocol::GiveUp(const std::string& reason) {
  std::string run_id;
  {
    common::MutexLock lock(&mutex_);
    if (status_.state() == Status::STATE_IDLE || status_.state() == Status::STATE_RUNNING ||
        !not_started_.empty()) {
      return;
    }
    not_started_ = reason;
    run_id = status_.phase().run_id();
  }
  // Outside the lock: the executor may answer at once, in this thread.
  ports_.executor->StopNow(run_id);
}

void Protocol::StopNow(const v1::StopNow& stop) {
  bool idle = false;
  bool mine = false;
  v1::WorkerMessage answer;
  {
    common::MutexLock lock(&mutex_);
    // An end of the run stands, whatever comes after it. Orders of a lost connection can come after
    // newer ones, and must not make a run repeat its phase that was to end.
    const bool ends = status_.ordered_phase().run_id() == stop.run_id() &&
                      status_.last_order().kind() != v1::StopOrder::KIND_REPEAT &&
                      !stop.order().skip_cleanup();
    if (stop.has_order() && !ends) {
      *status_.mutable_last_order() = stop.order();
      *status_.mutable_ordered_phase() = stop.phase();
    }
    idle = status_.state() == Status::STATE_IDLE;
    if (idle) {
      *answer.mutable_status() = status_;
      *answer.mutable_status()->mutable_answers() = stop.phase();
    } else {
      answers_ = stop.phase();
      owes_answer_ = true;
      mine = stop.run_id() == status_.phase().run_id();
    }
  }
  if (idle) return ports_.send(answer);
  if (mine) ports_.executor->StopNow(stop.run_id());
}

void Protocol::Tick() {
  const int64_t now = ports_.now();
  bool unstarted = false;
  std::string run_id;
  std::string said;
  {
    common::MutexLock lock(&mutex_);
    const bool waiting =
        status_.state() == Status::STATE_ARMING || status_.state() == Status::STATE_ARMED;
    // The controller may be gone, and the devices must not stay claimed for a run that will not
    // begin.
    unstarted = waiting && go_within_ns_ > 0 &&
                !ports_.safeguards.Pass(Safeguard::kGoWithin, now - since_ns_ <= go_within_ns_);
    if (status_.state() == Status::STATE_RUNNING && hard_stop_ns_ > 0 && !hard_stopped_ &&
        // The controller counts on it: it gives the targets to others after this instant, without
        // asking.
        !ports_.safeguards.Pass(Safeguard::kHardStop, now < go_at_ns_ + hard_stop_ns_)) {
      hard_stopped_ = true;
      run_id = status_.phase().run_id();
      if (!load_) said = "the phase has reached its hard stop";
    }
    if (unstarted) said = absl::StrCat("no go came within ", go_within_ns_ / kSecond, " s");
  }
  if (unstarted) return GiveUp(said);
  if (run_id.empty()) return;
  ports_.executor->StopNow(run_id);
  if (!said.empty()) Event(measure::Severity::kWarning, said);
}

v1::WorkerMessage Protocol::EndPhaseLocked(const v1::PhaseFailed* failed) {
  status_.set_state(Status::STATE_IDLE);
  status_.set_failed(failed == nullptr ? "" : failed->reason());
  status_.set_not_started(failed != nullptr && failed->not_started());
  v1::WorkerMessage message;
  *message.mutable_status() = status_;
  if (owes_answer_) *message.mutable_status()->mutable_answers() = answers_;
  owes_answer_ = false;
  return message;
}

void Protocol::OnArmed(const v1::Armed& armed) {
  {
    common::MutexLock lock(&mutex_);
    if (status_.state() != Status::STATE_ARMING || !SamePhase(armed.phase(), status_.phase()))
      return;
    status_.set_state(Status::STATE_ARMED);
  }
  v1::WorkerMessage message;
  *message.mutable_armed() = armed;
  ports_.send(message);
}

void Protocol::OnFailed(const v1::PhaseFailed& failed) {
  v1::WorkerMessage message;
  *message.mutable_phase_failed() = failed;
  v1::WorkerMessage over;
  {
    common::MutexLock lock(&mutex_);
    if (!not_started_.empty()) {
      message.mutable_phase_failed()->set_reason(not_started_);
      message.mutable_phase_failed()->set_not_started(true);
    }
    over = EndPhaseLocked(&message.phase_failed());
  }
  log::Error("phase {} of run {} failed: {}", failed.phase().phase(), failed.phase().run_id(),
             message.phase_failed().reason());
  // The order matters: the failure belongs to the phase, which the status declares over.
  ports_.send(message);
  ports_.send(over);
}

void Protocol::OnProgress(const v1::PhaseProgress& progress) {
  v1::WorkerMessage message;
  *message.mutable_progress() = progress;
  ports_.send(message);
}

void Protocol::OnSample(const v1::PhaseId& phase, v1::IntervalSample sample) {
  v1::DeliveryItem item;
  *item.mutable_interval() = std::move(sample);
  Keep(phase, std::move(item));
}

void Protocol::OnBlockWrites(const v1::PhaseId& phase, const v1::BlockWrites& writes) {
  v1::DeliveryItem item;
  *item.mutable_block_writes() = writes;
  Keep(phase, std::move(item));
}

void Protocol::Keep(const v1::PhaseId& phase, v1::DeliveryItem item) {
  // A sample that is dropped would make the result unequal to its intervals. Without room the load
  // ends.
  if (ports_.outbox->Add(phase, std::move(item))) return;
  {
    common::MutexLock lock(&mutex_);
    if (overfull_) return;
    overfull_ = true;
  }
  ports_.executor->StopNow(phase.run_id());
  Event(measure::Severity::kError,
        "this worker can keep no more samples until the controller has committed some: the phase "
        "is stopped");
}

void Protocol::OnResult(const v1::PhaseId& phase, v1::PhaseResult result) {
  bool unstarted = false;
  {
    common::MutexLock lock(&mutex_);
    unstarted = !not_started_.empty();
    if (SamePhase(status_.ordered_phase(), phase)) *result.mutable_order() = status_.last_order();
    if (overfull_ && result.error().empty()) {
      result.set_error("it was stopped because no more samples could be kept");
    }
    // A load may run until its hard stop by design. Files that are laid out or removed are
    // incomplete then.
    if (hard_stopped_ && !load_ && result.error().empty()) {
      result.set_error(absl::StrCat("it was not done at its hard stop, ", hard_stop_ns_ / kSecond,
                                    " s after T"));
    }
  }
  // A phase that was given up has measured nothing: the answer of its executor counts as a failure.
  if (unstarted) {
    v1::PhaseFailed failed;
    *failed.mutable_phase() = phase;
    return OnFailed(failed);
  }
  v1::DeliveryItem item;
  *item.mutable_result() = std::move(result);
  // The result is in the outbox before the status says that the phase is over: an idle worker has
  // nothing left to add.
  (void)ports_.outbox->Add(phase, std::move(item));
  v1::WorkerMessage over;
  {
    common::MutexLock lock(&mutex_);
    over = EndPhaseLocked(nullptr);
  }
  ports_.send(over);
}

void Protocol::Event(measure::Severity severity, const std::string& text) {
  log::Warn("{}", text);
  OnReport(severity, text);
}

void Protocol::OnReport(measure::Severity severity, const std::string& text) {
  v1::WorkerMessage message;
  message.mutable_event()->set_severity(OnWire(severity));
  message.mutable_event()->set_message(text);
  ports_.send(message);
}

v1::WorkerStatus Protocol::status() const {
  common::MutexLock lock(&mutex_);
  return status_;
}

std::string Protocol::Activity() const {
  std::string text;
  int64_t since = 0;
  {
    common::MutexLock lock(&mutex_);
    const int64_t now = ports_.now();
    if (status_.state() == Status::STATE_ARMING) {
      text = "arming";
      since = now - since_ns_;
    } else if (status_.state() == Status::STATE_RUNNING &&
               now > go_at_ns_ + hard_stop_ns_ + kLongNs) {
      text = "draining";
      since = now - go_at_ns_ - hard_stop_ns_;
    }
  }
  if (since < kLongNs) return "";
  const std::string detail = ports_.executor->activity();
  return absl::StrCat(detail.empty() ? text : detail, " for ", since / kSecond, " s");
}

uint64_t Protocol::epoch() const {
  common::MutexLock lock(&mutex_);
  return epoch_;
}

}  // namespace lockstep::worker
