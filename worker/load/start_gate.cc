#include "worker/load/start_gate.h"

namespace lockstep::worker {

bool StartGate::MayStart(int64_t now_ns, int64_t* intended_ns) {
  // A pause comes before the schedule: it also holds back I/Os that are due, and these then count
  // as late.
  waits_ = Waits::kThink;
  wake_ns_ = pause_until_ns_;
  if (wake_ns_ > now_ns) return false;
  waits_ = Waits::kRate;
  if (schedule_) {
    const int64_t due = schedule_->next_ns();
    wake_ns_ = due == Schedule::kNever ? due : go_ns_ + due;
    if (wake_ns_ > now_ns) return false;
    *intended_ns = wake_ns_;
    longest_backlog_ns_ = std::max(longest_backlog_ns_, now_ns - wake_ns_);
  } else if (pacer_.active()) {
    wake_ns_ = pacer_.next_ns();
    if (wake_ns_ > now_ns) return false;
  }
  waits_ = Waits::kNothing;
  return true;
}

bool StartGate::MayStartKind(int64_t now_ns, IoKind* kind) {
  const Pacer& own = PacerOf(*kind);
  if (!own.active() || own.next_ns() <= now_ns) return true;
  const IoKind turned = *kind == IoKind::kRead ? IoKind::kWrite : IoKind::kRead;
  const Pacer& other = PacerOf(turned);
  waits_ = Waits::kRate;
  wake_ns_ = own.next_ns();
  // Without a limit of its own the other direction would do all that the storage can.
  if (!other.active()) return false;
  if (other.next_ns() <= now_ns) {
    waits_ = Waits::kNothing;
    *kind = turned;
    return true;
  }
  wake_ns_ = std::min(wake_ns_, other.next_ns());
  return false;
}

// The arrivals that are left could be millions. Their expected number is computed rather than drawn
// one by one, and is as good for a report.
StartGate::Backlog StartGate::BacklogAt(int64_t load_end_ns, bool exhausted) const {
  Backlog backlog;
  backlog.longest_ns = longest_backlog_ns_;
  const int64_t end = load_end_ns - go_ns_;
  if (!schedule_ || schedule_->next_ns() >= end || exhausted) return backlog;
  backlog.unstarted = static_cast<uint64_t>(
      // The next arrival is drawn already and lies before the end: at least this one was not
      // started.
      std::max(1.0, schedule_->Expected(end) - schedule_->Expected(schedule_->next_ns())));
  backlog.longest_ns = std::max(backlog.longest_ns, end - schedule_->next_ns());
  return backlog;
}

}  // namespace lockstep::worker
