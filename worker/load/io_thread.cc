#include "worker/load/io_thread.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/timing.h"

namespace lockstep::worker {
namespace {

// A wait for completions lasts at least this long, even where an interval is about to end. Shorter
// ones would become a series of system calls at each boundary.
constexpr int64_t kMinWaitNs = timing::kMs;

Recorder::Options RecorderOptions(const IoThreadSetup& setup, const Access& access) {
  Recorder::Options options;
  options.kinds = {access.reads(), access.writes() || setup.copy != nullptr, access.trims(),
                   setup.sync.any()};
  options.response = setup.start.open_loop.has_value();
  options.submission = setup.engine.timed_submission;
  return options;
}

}  // namespace

IoThread::IoThread(IoThreadSetup setup, Access access, const Timeline* timeline,
                   const common::Clock* clock)
    : setup_(std::move(setup)),
      timeline_(timeline),
      clock_(clock),
      access_(std::move(access)),
      recorder_(RecorderOptions(setup_, access_)),
      checks_(setup_.checks),
      content_(setup_.content, setup_.seed),
      slots_(setup_.engine.queue_depth),
      free_(setup_.engine.queue_depth),
      batch_(setup_.engine.queue_depth),
      completions_(setup_.engine.queue_depth),
      left_(setup_.idle         ? 0
            : setup_.quota != 0 ? setup_.quota
                                : ~uint64_t{0}),
      left_bytes_(setup_.quota_bytes != 0 ? setup_.quota_bytes : ~uint64_t{0}),
      gate_(setup_.start),
      syncs_(setup_.sync, setup_.paths.size()),
      copy_writes_(setup_.copy != nullptr ? setup_.engine.queue_depth : 0) {
  // After arming nothing is allocated: at most every slot waits to be sent again.
  retry_.reserve(slots_.size());
}

IoThread::~IoThread() {
  if (!outcome_.stuck) return;
  // The kernel may still write into the buffers.
  (void)engine_.release();
  (void)buffers_.release();
}

int IoThread::FillBatch(int64_t now_ns, bool load_goes_on) {
  const int limit = static_cast<int>(setup_.max_batch);
  int count = 0;
  waiting_ = Waiting::kNothing;
  // Before anything new: an I/O that is sent again keeps its start, and its latency grows while it
  // waits.
  while (count < limit && !retry_.empty()) {
    batch_[count++] = slots_[retry_.back()].request;
    retry_.pop_back();
  }
  if (setup_.copy != nullptr && !StartCopyWrites(now_ns, &count)) return count;
  while (count < limit && !free_.empty()) {
    // A sync goes before further writes, which it would otherwise have to wait for, too.
    if (!syncs_.empty()) {
      StartSync(now_ns, count++);
      continue;
    }
    if (!load_goes_on || left_ == 0 || left_bytes_ == 0) {
      // Only a quota that is used up while the load goes on ends the workload by itself. A load
      // that is cut short has not done all that it was to do.
      exhausted_ = exhausted_ || load_goes_on;
      break;
    }
    if (setup_.shared_syncs != nullptr && TakeSharedSync()) continue;
    int64_t intended_ns = now_ns;
    if (!gate_.open() && !gate_.MayStart(now_ns, &intended_ns)) {
      waiting_ = gate_.waits() == StartGate::Waits::kThink ? Waiting::kThink : Waiting::kRate;
      wake_ns_ = gate_.wake_ns();
      break;
    }
    if (setup_.flow != nullptr && !HasTurn()) {
      waiting_ = Waiting::kRate;
      wake_ns_ = now_ns + kFlowNs;
      break;
    }
    if (!StartIo(now_ns, intended_ns, count)) break;
    has_turn_ = false;
    ++count;
  }
  if (count != 0) ++outcome_.exchanges;
  return count;
}

int IoThread::FillPlain(int64_t now_ns) {
  const int count = static_cast<int>(std::min<uint64_t>({setup_.max_batch, free_.count, left_}));
  for (int i = 0; i < count; ++i) {
    const uint32_t number = free_.Take();
    Slot& slot = slots_[number];
    const Access::Next next = access_.Take();
    slot.retries = 0;
    IoRequest& request = slot.request;
    request.kind = next.kind;
    request.file = next.file;
    request.slot = number;
    request.length = next.length;
    request.offset = next.offset;
    request.priority = next.io_priority;
    request.buffer = next.kind == IoKind::kWrite ? write_buffers_ + number : number;
    if (content_.stamps() && next.kind == IoKind::kWrite) {
      StampContent(buffers_->at(request.buffer), next.length, next.offset, ++write_sequence_);
    }
    // Release: the monitoring thread that sees this time sees the request, too.
    slot.submitted_ns.store(now_ns, std::memory_order_release);
    batch_[i] = request;
  }
  left_ -= static_cast<uint64_t>(count);
  exhausted_ = left_ == 0;
  outcome_.submitted += static_cast<uint64_t>(count);
  outcome_.exchanges += count != 0;
  return count;
}

// An I/O that is held, for its block or its direction, keeps its turn.
bool IoThread::HasTurn() {
  has_turn_ = has_turn_ || setup_.flow->Take();
  return has_turn_;
}

uint32_t IoThread::TakeSlot(int64_t now_ns, int64_t intended_ns) {
  const uint32_t index = free_.Take();
  Slot& slot = slots_[index];
  slot.intended_ns = intended_ns;
  slot.retries = 0;
  slot.request.slot = index;
  return index;
}

bool IoThread::StartIo(int64_t now_ns, int64_t intended_ns, int index) {
  const uint32_t number = TakeSlot(now_ns, intended_ns);
  Slot& slot = slots_[number];
  // A write that had to wait is sent next, not drawn again: the sequence of offsets stays the
  // seed's.
  Access::Next next = held_ ? *held_ : access_.Take();
  held_.reset();
  if (gate_.has_directions() && !gate_.MayStartKind(now_ns, &next.kind)) {
    held_ = next;
    free_.Give(number);
    waiting_ = Waiting::kRate;
    wake_ns_ = gate_.wake_ns();
    return false;
  }
  if (checks_.writes() && next.kind == IoKind::kWrite &&
      !checks_.BeginWrite(next.file, next.offset, &slot.ticket)) {
    held_ = next;
    free_.Give(number);
    waiting_ = Waiting::kBlock;
    wake_ns_ = now_ns + kBlockNs;
    return false;
  }
  slot.pause_ns = next.pause_ns;
  IoRequest& request = slot.request;
  request.kind = next.kind;
  request.file = next.file;
  request.length = next.length;
  request.offset = next.offset;
  request.priority = next.io_priority;
  request.buffer = next.kind == IoKind::kWrite ? write_buffers_ + number : number;
  if (next.kind == IoKind::kWrite) FillContentOf(&slot, now_ns);
  // This must precede the submission. EndRead() takes a state that is unchanged since now as proof
  // that no write overlapped the read.
  if (checks_.reads() && next.kind == IoKind::kRead) {
    checks_.BeginRead(request.file, request.offset, &slot.ticket);
  }
  slot.submitted_ns.store(now_ns, std::memory_order_release);
  batch_[index] = request;
  is_held_counted_ = false;
  ++outcome_.submitted;
  ++started_;
  slot.is_first_pass = setup_.quota - left_ < access_.part_blocks();
  --left_;
  left_bytes_ -= std::min<uint64_t>(left_bytes_, request.length);
  if (!gate_.open()) gate_.Started(now_ns, request.kind, request.length);
  return true;
}

void IoThread::FillContentOf(Slot* slot, int64_t now_ns) {
  IoRequest& request = slot->request;
  slot->sequence = ++write_sequence_;
  if (!checks_.writes()) return content_.Fill(*buffers_, write_sequence_, &request);
  checks_.Make(request.file, request.offset, slot->ticket,
               {write_sequence_, durable_sequence_, sync_epoch_, now_ns},
               buffers_->at(request.buffer));
}

// With inline completion all I/Os of a batch took equally long, and are recorded together.
void IoThread::CompletePlain(int count, int64_t now_ns) {
  IoKind kind = IoKind::kRead;
  int64_t service = -1;
  uint64_t equal = 0;
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const IoCompletion& completion = completions_[i];
    Slot& slot = slots_[completion.slot];
    const uint32_t length = slot.request.length;
    // Errors and short transfers take the long way, which knows all cases. They are rare enough to
    // cost nothing here.
    if (completion.result != static_cast<int32_t>(length)) {
      Complete(completion, now_ns);
      continue;
    }
    const int64_t own = now_ns - slot.submitted_ns.load(std::memory_order_relaxed);
    if (own != service || slot.request.kind != kind) {
      if (equal != 0) recorder_.RecordEqual(kind, service, equal, bytes);
      equal = bytes = 0;
      service = own;
      kind = slot.request.kind;
    }
    ++equal;
    bytes += length;
    slot.submitted_ns.store(0, std::memory_order_release);
    free_.Give(completion.slot);
  }
  if (equal != 0) recorder_.RecordEqual(kind, service, equal, bytes);
}

bool IoThread::Succeed(Slot* slot, int32_t result, int64_t now_ns) {
  const IoRequest& request = slot->request;
  const int64_t service = now_ns - slot->submitted_ns.load(std::memory_order_relaxed);
  // With a schedule an I/O waits for its slot from its intended start on. Leaving that out would be
  // coordinated omission.
  const int64_t latency = gate_.has_schedule() ? now_ns - slot->intended_ns : service;
  const bool moves = request.kind == IoKind::kRead || request.kind == IoKind::kWrite;
  const bool is_short = moves && static_cast<uint32_t>(result) < request.length;
  recorder_.RecordDone(request.kind, service, latency, moves ? result : request.length,
                       is_short ? Recorder::Transfer::kShort : Recorder::Transfer::kWhole);
  if (setup_.engine.timed_submission) recorder_.RecordSubmission(request.kind, slot->submission_ns);
  if (is_short && outcome_.first_error.empty()) {
    outcome_.first_error = absl::StrCat(Describe(request), ": short, ", result, " bytes");
  }
  if (request.kind == IoKind::kSync) {
    // Writes that were acknowledged before this sync was submitted are durable from here on; later
    // ones are not known to be.
    ++sync_epoch_;
    durable_sequence_ = std::max(durable_sequence_, slot->sequence);
  }
  if (checks_.writes() && request.kind == IoKind::kWrite) {
    checks_.EndWrite(
        request.file, request.offset, slot->ticket,
        is_short ? BlockLedger::WriteEnd::kFailed : BlockLedger::WriteEnd::kAcknowledged);
  }
  if (!checks_.reads() || request.kind != IoKind::kRead || is_short) return !is_short;
  return checks_.EndRead(request.file, request.offset, slot->ticket,
                         buffers_->at(request.buffer)) == BlockChecks::Verdict::kGood;
}

void IoThread::Complete(const IoCompletion& completion, int64_t now_ns) {
  Slot& slot = slots_[completion.slot];
  const IoKind kind = slot.request.kind;
  const bool moves = kind == IoKind::kRead || kind == IoKind::kWrite;
  if (completion.result > 0 || (completion.result == 0 && !moves)) {
    Succeed(&slot, completion.result, now_ns);
  } else if (!Fail(&slot, -completion.result, now_ns)) {
    retry_.push_back(completion.slot);
    return;
  }
  // A write counts only when it has completed: fsync(2) covers no write that is still in flight.
  if (setup_.sync.any() && kind != IoKind::kSync && completion.result >= 0) {
    syncs_.Completed(slot.request);
  }
  if (kind == IoKind::kSync) {
    --syncs_in_flight_;
  } else {
    gate_.Completed(now_ns);
  }
  if (slot.pause_ns != 0) gate_.Pause(now_ns + slot.pause_ns);
  slot.submitted_ns.store(0, std::memory_order_release);
  free_.Give(completion.slot);
}

bool IoThread::StepIdle(bool load_goes_on, int64_t* now_ns) {
  const bool waits = (load_goes_on || !copy_writes_.empty()) && waiting_ != Waiting::kNothing;
  if (!waits && setup_.sync.at_end && !final_sync_done_ && outcome_.fatal.empty()) {
    // The final sync waits until nothing is in flight, so that it covers every write of the thread.
    final_sync_done_ = true;
    syncs_.QueueAtEnd();
    if (!syncs_.empty()) return true;
  }
  if (!waits) return false;
  // A block that another thread writes is waited for like any.
  clock_->SleepUntil(
      std::min({wake_ns_, interval_end_ns_, timeline_->load_end_ns(), *now_ns + kPollNs}));
  const int64_t woken = clock_->MonotonicNs();
  Account(MeasuredIn(*now_ns, woken, HasEnded(woken)), QueueState::kNotFull);
  *now_ns = woken;
  return true;
}

int IoThread::WaitFor(int count, bool load_goes_on) const {
  // A batch is full, and the blocks that are left can be written at once.
  if (!copy_writes_.empty() && waiting_ != Waiting::kBlock) return 0;
  // While slots are free there is more to submit: completions are taken, but not waited for.
  const bool full = free_.empty();
  // A wait for more than is in flight would last until the deadline.
  if (full && load_goes_on) return static_cast<int>(std::min(setup_.wait, in_flight_));
  const bool nothing_to_submit = count == 0 || waiting_ != Waiting::kNothing || !load_goes_on ||
                                 left_ == 0 || left_bytes_ == 0;
  return full || nothing_to_submit ? 1 : 0;
}

int64_t IoThread::DeadlineAt(int64_t now_ns) const {
  // The end of the load may move to an earlier instant while this thread waits in the kernel.
  // kPollNs limits how late the thread notices that.
  const int64_t end = std::min(interval_end_ns_, timeline_->load_end_ns());
  const int64_t deadline = std::min(now_ns + kPollNs, std::max(end, now_ns + kMinWaitNs));
  return waiting_ != Waiting::kNothing ? std::min(deadline, wake_ns_) : deadline;
}

void IoThread::StampSubmission(int count, int64_t now_ns) {
  for (int i = 0; i < count; ++i) {
    slots_[batch_[i].slot].submission_ns =
        std::max<int64_t>(0, engine_->submitted_at_ns() - now_ns);
  }
}

bool IoThread::Step(int64_t* now_ns) {
  int64_t now = *now_ns;
  if (HasEnded(now)) CloseThrough(now);
  const bool load_goes_on = LoadGoesOn(now);
  // I/Os that are sent again take the general path. They are rare, and the short one stays free of
  // their branches.
  const bool is_plain = plain_ && load_goes_on && retry_.empty();
  const int count = is_plain ? FillPlain(now) : FillBatch(now, load_goes_on);
  if (count == 0 && in_flight_ == 0) return StepIdle(load_goes_on, now_ns);
  // Content was made after `now` was read. Its time is the generator's, not the storage's.
  if (restamps_ && count != 0) {
    now = clock_->MonotonicNs();
    for (int i = 0; i < count; ++i) {
      slots_[batch_[i].slot].submitted_ns.store(now, std::memory_order_release);
    }
  }
  if (outcome_.first_io_ns == 0) outcome_.first_io_ns = now;
  if (now > timeline_->load_end_ns() + setup_.drain_ns) {
    GiveUpStuck(now);
    return false;
  }
  in_flight_ += count;
  const bool full = free_.empty();
  const int wait_for = is_plain && full ? static_cast<int>(std::min(setup_.wait, in_flight_))
                                        : WaitFor(count, load_goes_on);
  recorder_.EnterCall();
  const auto reaped = engine_->Exchange(absl::MakeConstSpan(batch_.data(), count), wait_for,
                                        DeadlineAt(now), absl::MakeSpan(completions_));
  recorder_.LeaveCall();
  if (!reaped.ok()) {
    // An engine that fails does not say which I/Os the kernel has taken. All that were handed over
    // count as in flight, and their buffers stay.
    outcome_.fatal = std::string(reaped.status().message());
    outcome_.stuck = in_flight_ != 0;
    return false;
  }
  const int64_t done = clock_->MonotonicNs();
  if (setup_.engine.timed_submission) StampSubmission(count, now);
  const bool has_ended = HasEnded(done);
  Account(MeasuredIn(now, done, has_ended),
          full && wait_for != 0 ? QueueState::kFull : QueueState::kNotFull);
  // An I/O belongs to the interval in which it completes. The intervals up to this instant close
  // before it is recorded.
  if (has_ended) CloseThrough(done);
  const bool only_syncs = AwaitsOnlySyncs();
  if (plain_) {
    CompletePlain(*reaped, done);
  } else if (setup_.copy != nullptr) {
    for (int i = 0; i < *reaped; ++i) CompleteCopy(completions_[i], done);
  } else {
    for (int i = 0; i < *reaped; ++i) Complete(completions_[i], done);
  }
  in_flight_ -= *reaped;
  if (*reaped != 0) {
    only_syncs ? outcome_.AddSyncs(done) : outcome_.AddCompletion(done, *timeline_);
  }
  *now_ns = done;
  return true;
}

void IoThread::Run() {
  // Without a ramp the measured time begins at T. A reading after the sleep would delay the first
  // I/O.
  if (timeline_->ramp_end_ns() <= timeline_->go_ns()) outcome_.usage.Begin();
  common::SleepThenSpinUntil(*clock_, timeline_->go_ns(), setup_.spin_ns);
  AwaitBegin();
  // The schedule starts at T, not when the thread woke up: I/Os that were due in between are late,
  // and count as late.
  gate_.Begin(begin_ns_);
  plain_ = gate_.open() && !setup_.sync.any() && !checks_.writes() && !checks_.reads() &&
           content_.is_plain() && !setup_.engine.timed_submission && setup_.quota_bytes == 0 &&
           !access_.trims() && !access_.pauses() && setup_.copy == nullptr &&
           setup_.flow == nullptr;
  if (setup_.flow != nullptr && setup_.begin_ns != 0) setup_.flow->Join();
  int64_t now = clock_->MonotonicNs();
  while (Step(&now)) {
  }
  if (setup_.flow != nullptr) setup_.flow->Leave();
  outcome_.usage.End();
  if (setup_.copy != nullptr) CountUncopied();
  CountBacklog();
  engine_->Finish();
  TakeNotes();
  // A workload that ends on time has run until then, or as long as the I/Os of this last interval:
  // eight reads of which four took until 0.6 s are no rate of eight in 0.5 s.
  recorder_.Finish(ended_on_time_ ? std::clamp(outcome_.last_io_ns, own_end_ns_, counted_until_ns_)
                                  : outcome_.last_io_ns,
                   exhausted_ ? Recorder::End::kAllDone : Recorder::End::kLoadEnd);
}

}  // namespace lockstep::worker
