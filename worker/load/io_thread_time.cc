// When a thread works: its begin, the ends of its intervals, and where its time goes.

#include <algorithm>

#include "common/timing.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {

// Intervals close during the wait, too: the collector waits for those of all threads.
void IoThread::Skip() {
  if (setup_.flow != nullptr && setup_.begin_ns == 0) setup_.flow->Leave();
  recorder_.Finish(0, Recorder::End::kLoadEnd);
}

void IoThread::AwaitBegin() {
  const int64_t go = timeline_->go_ns();
  begin_ns_ = go + setup_.begin_ns;
  outcome_.measured_from_ns = std::max(timeline_->ramp_end_ns(), begin_ns_);
  if (setup_.end_ns > 0) own_end_ns_ = go + setup_.end_ns;
  if (setup_.begin_ns == 0) return;
  for (int64_t now = clock_->MonotonicNs(); now < begin_ns_ && now < timeline_->load_end_ns();
       now = clock_->MonotonicNs()) {
    if (HasEnded(now)) CloseThrough(now);
    // The load's end may move to an earlier instant.
    const int64_t wake =
        std::min({begin_ns_, interval_end_ns_, timeline_->load_end_ns(), now + kPollNs});
    if (wake == begin_ns_) {
      common::SleepThenSpinUntil(*clock_, wake, setup_.spin_ns);
    } else {
      clock_->SleepUntil(wake);
    }
  }
}

void IoThread::CloseThrough(int64_t now_ns) {
  // Beyond the end of the load there is one interval, the drain.
  while (now_ns >= timeline_->EndOf(recorder_.interval()) &&
         timeline_->BeginOf(recorder_.interval()) < timeline_->load_end_ns()) {
    recorder_.CloseInterval();
  }
  interval_end_ns_ = timeline_->BeginOf(recorder_.interval() + 1);
  // The own end is one more end of an interval to the thread: its I/Os need no check of their own.
  if (now_ns < own_end_ns_) {
    interval_end_ns_ = std::min(interval_end_ns_, own_end_ns_);
  } else if (!exhausted_ && own_end_ns_ < timeline_->load_end_ns()) {
    exhausted_ = ended_on_time_ = true;
    const uint32_t interval = recorder_.interval();
    // The load's end may have moved to an earlier instant since it was read above.
    counted_until_ns_ = timeline_->BeginOf(interval) < own_end_ns_
                            ? std::max(own_end_ns_, timeline_->EndOf(interval))
                            : own_end_ns_;
  }
  // A ramp ends with an interval, so this comes by at both ends of the measured time. It is late by
  // the wait that the end falls into.
  const bool has_begun = now_ns >= timeline_->ramp_end_ns();
  const bool is_over = now_ns >= timeline_->load_end_ns();
  is_measured_ = has_begun && !is_over;
  if (has_begun) outcome_.usage.Begin();
  if (is_over) outcome_.usage.End();
}

int64_t IoThread::MeasuredAcross(int64_t from_ns, int64_t to_ns) const {
  const int64_t begin = std::max(from_ns, timeline_->ramp_end_ns());
  return std::max<int64_t>(0, std::min(to_ns, timeline_->load_end_ns()) - begin);
}

void IoThread::Account(int64_t time_ns, QueueState queue) {
  if (AwaitsOnlySyncs()) {
    outcome_.sync_ns += time_ns;
  } else if (waiting_ == Waiting::kThink) {
    outcome_.think_ns += time_ns;
  } else if (waiting_ == Waiting::kRate) {
    outcome_.rate_ns += time_ns;
  } else {
    outcome_.io_ns += time_ns;
    if (queue == QueueState::kFull) outcome_.queue_full_ns += time_ns;
  }
}

}  // namespace lockstep::worker
