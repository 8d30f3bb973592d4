#include "worker/load/io_thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace lockstep::worker {
namespace {

// While draining, or with nothing else to wake it, a thread looks around this often.
constexpr int64_t kLookNs = 100000000;
// An I/O that the kernel asks to repeat is repeated so often, then it has failed.
constexpr uint32_t kRetryLimit = 100;
// How long a thread with nothing in flight waits for a block that another thread is writing.
constexpr int64_t kBlockNs = 20000;

int64_t ThreadCpuNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

rusage ThreadUsage() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

Recorder::Options RecorderOptions(const IoThreadSetup& setup, const Access& access) {
  Recorder::Options options;
  options.kinds = {access.reads(), access.writes(), access.trims(), setup.sync.any()};
  options.response = setup.open_loop.has_value();
  options.submission = setup.engine.timed_submission;
  return options;
}

const char* Verb(IoKind kind) {
  switch (kind) {
    case IoKind::kRead:
      return "read";
    case IoKind::kWrite:
      return "write";
    case IoKind::kTrim:
      return "trim";
    case IoKind::kSync:
      return "sync";
  }
  return "I/O";
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
      content_random_(common::DeriveSeed(setup_.seed, 1)),
      slots_(setup_.engine.queue_depth),
      free_(setup_.engine.queue_depth),
      batch_(setup_.engine.queue_depth),
      completions_(setup_.engine.queue_depth),
      left_(setup_.idle         ? 0
            : setup_.quota != 0 ? setup_.quota
                                : ~uint64_t{0}),
      left_bytes_(setup_.quota_bytes != 0 ? setup_.quota_bytes : ~uint64_t{0}),
      pacer_(setup_.max_iops, setup_.max_bytes_per_second),
      syncs_(setup_.paths.size() + 1),
      dirty_(setup_.paths.size()),
      queued_(setup_.paths.size()) {
  if (setup_.open_loop) schedule_.emplace(*setup_.open_loop);
  gated_ = schedule_ || pacer_.active() || setup_.think_ns != 0;
  retry_.reserve(slots_.size());
}

IoThread::~IoThread() {
  if (!outcome_.stuck) return;
  // The kernel may still write into the buffers.
  (void)engine_.release();
  (void)buffers_.release();
}

// Reads and writes of a mix have buffers of their own, so that what is written stays what it was
// made.
absl::Status IoThread::MakeBuffers() {
  const ContentOptions& content = setup_.content;
  const uint32_t depth = setup_.engine.queue_depth;
  const bool both = access_.reads() && access_.writes();
  const bool duplicates =
      access_.writes() && !content.zeros && !checks_.writes() && content.duplicate_ratio > 0;
  write_buffers_ = both ? depth : 0;
  duplicate_buffers_ = write_buffers_ + depth;
  auto buffers = IoBuffers::Make(duplicate_buffers_ + (duplicates ? kDuplicateBlocks : 0),
                                 access_.largest_bytes(), setup_.placement.huge_pages);
  if (!buffers.ok()) return buffers.status();
  buffers_ = *std::move(buffers);
  restamps_ = checks_.writes();
  if (!access_.writes() || content.zeros || checks_.writes()) return absl::OkStatus();
  for (uint32_t i = 0; i < depth; ++i) {
    FillContent(buffers_->at(write_buffers_ + i), buffers_->bytes_each(), content.compressed_ratio,
                common::DeriveSeed(setup_.seed, 1000 + i));
  }
  stamps_ = !content.fresh;
  restamps_ = content.fresh;
  if (!duplicates) return absl::OkStatus();
  duplicate_below_ = content.duplicate_ratio >= 1
                         ? ~uint64_t{0}
                         : static_cast<uint64_t>(content.duplicate_ratio * 18446744073709551616.0);
  // The same for all threads and workers: a copy is one wherever it is written.
  for (uint32_t i = 0; i < kDuplicateBlocks; ++i) {
    FillContent(buffers_->at(duplicate_buffers_ + i), buffers_->bytes_each(),
                content.compressed_ratio, i);
  }
  return absl::OkStatus();
}

absl::Status IoThread::Arm() {
  if (absl::Status status = PlaceThisThread(setup_.placement); !status.ok()) return status;
  if (absl::Status status = MakeBuffers(); !status.ok()) return status;
  for (uint32_t slot = setup_.engine.queue_depth; slot-- > 0;) free_.Give(slot);
  engine_ = setup_.make_engine();
  EngineSetup engine = setup_.engine;
  engine.buffers = buffers_.get();
  const absl::Status opened = engine_->Open(engine);
  outcome_.notes = engine_->notes();
  if (opened.ok()) outcome_.engine = engine_->Describe();
  return opened;
}

void IoThread::CloseThrough(int64_t now_ns) {
  // Beyond the end of the load there is one interval, the drain.
  while (now_ns >= timeline_->EndOf(recorder_.interval()) &&
         timeline_->BeginOf(recorder_.interval()) < timeline_->load_end_ns()) {
    recorder_.CloseInterval();
  }
  interval_end_ns_ = timeline_->BeginOf(recorder_.interval() + 1);
}

// Whether the next I/O may start now; if not, when it may and what it waits for.
bool IoThread::MayStart(int64_t now_ns, int64_t* intended_ns) {
  waiting_ = Waiting::kThink;
  wake_ns_ = pause_until_ns_;
  if (wake_ns_ > now_ns) return false;
  waiting_ = Waiting::kRate;
  if (schedule_) {
    const int64_t due = schedule_->next_ns();
    wake_ns_ = due == Schedule::kNever ? due : timeline_->go_ns() + due;
    if (wake_ns_ > now_ns) return false;
    *intended_ns = wake_ns_;
    outcome_.longest_backlog_ns = std::max(outcome_.longest_backlog_ns, now_ns - wake_ns_);
  } else if (pacer_.active()) {
    wake_ns_ = pacer_.next_ns();
    if (wake_ns_ > now_ns) return false;
  }
  waiting_ = Waiting::kNothing;
  return true;
}

int IoThread::FillBatch(int64_t now_ns, bool load_goes_on) {
  if (plain_ && load_goes_on && retry_.empty()) return FillPlain(now_ns);
  const int limit = static_cast<int>(setup_.max_batch);
  int count = 0;
  waiting_ = Waiting::kNothing;
  while (count < limit && !retry_.empty()) {
    batch_[count++] = slots_[retry_.back()].request;
    retry_.pop_back();
  }
  while (count < limit && !free_.empty()) {
    if (syncs_begin_ != syncs_end_) {
      StartSync(now_ns, count++);
      continue;
    }
    if (!load_goes_on || left_ == 0 || left_bytes_ == 0) {
      exhausted_ = exhausted_ || load_goes_on;
      break;
    }
    int64_t intended_ns = now_ns;
    if (gated_ && !MayStart(now_ns, &intended_ns)) break;
    if (!StartIo(now_ns, intended_ns, count)) break;
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
    request.buffer = next.kind == IoKind::kWrite ? write_buffers_ + number : number;
    if (stamps_ && next.kind == IoKind::kWrite) {
      StampContent(buffers_->at(request.buffer), next.length, next.offset, ++write_sequence_);
    }
    slot.submitted_ns.store(now_ns, std::memory_order_release);
    batch_[i] = request;
  }
  left_ -= static_cast<uint64_t>(count);
  exhausted_ = left_ == 0;
  outcome_.submitted += static_cast<uint64_t>(count);
  outcome_.exchanges += count != 0;
  return count;
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
  const Access::Next next = held_ ? *held_ : access_.Take();
  held_.reset();
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
  request.buffer = next.kind == IoKind::kWrite ? write_buffers_ + number : number;
  if (next.kind == IoKind::kWrite) FillContentOf(&slot, now_ns);
  if (checks_.reads() && next.kind == IoKind::kRead) {
    checks_.BeginRead(request.file, request.offset, &slot.ticket);
  }
  slot.submitted_ns.store(now_ns, std::memory_order_release);
  batch_[index] = request;
  ++outcome_.submitted;
  ++started_;
  --left_;
  left_bytes_ -= std::min<uint64_t>(left_bytes_, request.length);
  if (!gated_) return true;
  if (schedule_) schedule_->Advance();
  if (pacer_.active()) pacer_.Started(now_ns, request.length);
  return true;
}

void IoThread::FillContentOf(Slot* slot, int64_t now_ns) {
  IoRequest& request = slot->request;
  slot->sequence = ++write_sequence_;
  char* block = buffers_->at(request.buffer);
  if (checks_.writes()) {
    checks_.Make(request.file, request.offset, slot->ticket,
                 {write_sequence_, durable_sequence_, sync_epoch_, now_ns}, block);
  } else if (duplicate_below_ != 0 && content_random_.Next() < duplicate_below_) {
    request.buffer =
        duplicate_buffers_ + static_cast<uint32_t>(content_random_.Below(kDuplicateBlocks));
  } else if (stamps_) {
    StampContent(block, request.length, request.offset, write_sequence_);
  } else if (setup_.content.fresh) {
    FillContent(block, request.length, setup_.content.compressed_ratio,
                common::DeriveSeed(setup_.seed, write_sequence_ + (uint64_t{1} << 32)));
  }
}

// What this completed I/O means for the syncs that are due after it.
void IoThread::NoteSyncs(const IoRequest& request) {
  const SyncRule& rule = setup_.sync;
  ++ios_since_sync_;
  if (request.kind != IoKind::kRead) {
    dirty_[request.file] = 1;
    any_dirty_ = true;
    ++writes_since_sync_;
  }
  const bool by_writes = rule.every_writes != 0 && writes_since_sync_ >= rule.every_writes;
  const bool by_ios = rule.every_ios != 0 && any_dirty_ && ios_since_sync_ >= rule.every_ios;
  if (!by_writes && !by_ios) return;
  writes_since_sync_ = ios_since_sync_ = 0;
  if (rule.all_files) return QueueAllSyncs(false);
  QueueSync(
      request.kind != IoKind::kRead
          ? request.file
          : static_cast<uint16_t>(std::find(dirty_.begin(), dirty_.end(), 1) - dirty_.begin()));
  any_dirty_ = std::find(dirty_.begin(), dirty_.end(), 1) != dirty_.end();
}

// One that is queued and not yet submitted covers this write as well.
void IoThread::QueueSync(uint16_t file) {
  dirty_[file] = 0;
  if (queued_[file] != 0) return;
  queued_[file] = 1;
  syncs_[syncs_end_] = file;
  syncs_end_ = (syncs_end_ + 1) % syncs_.size();
}

void IoThread::QueueAllSyncs(bool only_dirty) {
  for (size_t file = 0; file < dirty_.size(); ++file) {
    if (!only_dirty || dirty_[file] != 0) QueueSync(static_cast<uint16_t>(file));
  }
  any_dirty_ = false;
}

// All of the thread's writes up to this one have completed.
uint64_t IoThread::CompletedWrites() const {
  uint64_t completed = write_sequence_;
  for (const Slot& slot : slots_) {
    if (slot.submitted_ns.load(std::memory_order_relaxed) != 0 &&
        slot.request.kind == IoKind::kWrite) {
      completed = std::min(completed, slot.sequence - 1);
    }
  }
  return completed;
}

void IoThread::StartSync(int64_t now_ns, int index) {
  const uint32_t number = TakeSlot(now_ns, now_ns);
  Slot& slot = slots_[number];
  slot.pause_ns = 0;
  slot.request.kind = IoKind::kSync;
  slot.request.file = syncs_[syncs_begin_];
  slot.request.length = 0;
  slot.request.offset = 0;
  slot.request.buffer = 0;
  queued_[slot.request.file] = 0;
  syncs_begin_ = (syncs_begin_ + 1) % syncs_.size();
  // Of several files, one sync alone makes nothing durable of the others.
  slot.sequence = setup_.paths.size() == 1 && setup_.sync.mode != SyncMode::kSyncFileRange
                      ? CompletedWrites()
                      : 0;
  slot.submitted_ns.store(now_ns, std::memory_order_release);
  batch_[index] = slot.request;
  ++syncs_in_flight_;
  ++outcome_.submitted;
}

std::string IoThread::Describe(const IoRequest& request) const {
  if (request.kind == IoKind::kSync) return absl::StrCat("sync of ", setup_.paths[request.file]);
  return absl::StrCat(Verb(request.kind), " of ", request.length, " bytes at offset ",
                      request.offset, " of ", setup_.paths[request.file]);
}

// Where completion is inline, all I/Os of a batch took equally long, and are recorded together.
void IoThread::CompletePlain(int count, int64_t now_ns) {
  IoKind kind = IoKind::kRead;
  int64_t service = -1;
  uint64_t equal = 0;
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const IoCompletion& completion = completions_[i];
    Slot& slot = slots_[completion.slot];
    const uint32_t length = slot.request.length;
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

void IoThread::Succeed(Slot* slot, int32_t result, int64_t now_ns) {
  const IoRequest& request = slot->request;
  const int64_t service = now_ns - slot->submitted_ns.load(std::memory_order_relaxed);
  const int64_t latency = schedule_ ? now_ns - slot->intended_ns : service;
  const bool moves = request.kind == IoKind::kRead || request.kind == IoKind::kWrite;
  const bool is_short = moves && static_cast<uint32_t>(result) < request.length;
  recorder_.RecordDone(request.kind, service, latency, moves ? result : request.length, is_short);
  if (setup_.engine.timed_submission) recorder_.RecordSubmission(request.kind, slot->submission_ns);
  if (is_short && outcome_.first_error.empty()) {
    outcome_.first_error = absl::StrCat(Describe(request), ": short, ", result, " bytes");
  }
  if (request.kind == IoKind::kSync) {
    ++sync_epoch_;
    durable_sequence_ = std::max(durable_sequence_, slot->sequence);
  }
  if (checks_.reads() && request.kind == IoKind::kRead && !is_short) {
    checks_.EndRead(request.file, request.offset, slot->ticket, buffers_->at(request.buffer));
  }
  if (checks_.writes() && request.kind == IoKind::kWrite) {
    checks_.EndWrite(request.file, request.offset, slot->ticket, !is_short);
  }
}

// False when the I/O is to be repeated.
bool IoThread::Fail(Slot* slot, int error, int64_t now_ns) {
  const IoRequest& request = slot->request;
  ErrorConsequence consequence = error == 0 ? ErrorConsequence::kCount : ConsequenceOf(error);
  if (consequence == ErrorConsequence::kRetry) {
    ++outcome_.retries;
    if (++slot->retries <= kRetryLimit && now_ns <= timeline_->load_end_ns() + setup_.drain_ns) {
      return false;
    }
    consequence = ErrorConsequence::kCount;
  }
  recorder_.RecordError(request.kind);
  ++errors_;
  const bool first = outcome_.first_error.empty();
  const bool over_limit = setup_.error_limit != 0 && errors_ >= setup_.error_limit;
  const bool stop =
      (consequence == ErrorConsequence::kStop || over_limit) && outcome_.fatal.empty();
  if (first || stop) {
    const std::string words =
        absl::StrCat(Describe(request), ": ",
                     error == 0 ? "0 bytes: the target ends before this offset" : strerror(error));
    if (first) outcome_.first_error = words;
    if (stop) failed_.store(true, std::memory_order_release);
    if (stop) {
      outcome_.fatal =
          consequence == ErrorConsequence::kStop
              ? words
              : absl::StrCat(errors_,
                             " failed I/Os, the workload's error_limit; the last: ", words);
    }
  }
  if (checks_.writes() && request.kind == IoKind::kWrite) {
    checks_.EndWrite(request.file, request.offset, slot->ticket, false);
  }
  return true;
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
  if (setup_.sync.any() && kind != IoKind::kSync && completion.result >= 0) NoteSyncs(slot.request);
  if (kind == IoKind::kSync) {
    --syncs_in_flight_;
  } else if (setup_.think_ns != 0 && ++since_pause_ >= setup_.think_every) {
    since_pause_ = 0;
    pause_until_ns_ = now_ns + setup_.think_ns;
  }
  if (slot.pause_ns != 0) {
    gated_ = true;
    pause_until_ns_ = std::max(pause_until_ns_, now_ns + slot.pause_ns);
  }
  slot.submitted_ns.store(0, std::memory_order_release);
  free_.Give(completion.slot);
}

std::optional<IoThread::InFlight> IoThread::OldestInFlight(int64_t now_ns, int64_t limit_ns) const {
  const Slot* oldest = nullptr;
  int64_t since = now_ns - limit_ns;
  for (const Slot& slot : slots_) {
    const int64_t submitted = slot.submitted_ns.load(std::memory_order_acquire);
    if (submitted == 0 || submitted > since) continue;
    since = submitted;
    oldest = &slot;
  }
  if (oldest == nullptr) return std::nullopt;
  const InFlight found = {Describe(oldest->request), setup_.paths[oldest->request.file],
                          now_ns - since};
  // It may have completed meanwhile, and the slot be another I/O's.
  if (oldest->submitted_ns.load(std::memory_order_acquire) != since) return std::nullopt;
  return found;
}

void IoThread::GiveUpStuck(int64_t now_ns) {
  outcome_.stuck = true;
  const auto oldest = OldestInFlight(now_ns, 0);
  outcome_.fatal = absl::StrCat(in_flight_, " I/Os did not complete within the drain deadline",
                                oldest ? absl::StrCat("; the oldest: ", oldest->what) : "");
}

// What was due and never started: the backlog that the storage, or the queue depth, did not serve.
void IoThread::CountBacklog() {
  if (!schedule_) return;
  const int64_t end = timeline_->load_end_ns() - timeline_->go_ns();
  outcome_.due = started_;
  if (schedule_->next_ns() >= end || exhausted_) return;
  // Drawing each of them one by one could take long; their expected number is as good.
  outcome_.unstarted = static_cast<uint64_t>(
      std::max(1.0, schedule_->Expected(end) - schedule_->Expected(schedule_->next_ns())));
  outcome_.due = started_ + outcome_.unstarted;
  outcome_.longest_backlog_ns = std::max(outcome_.longest_backlog_ns, end - schedule_->next_ns());
}

void IoThread::Account(int64_t from_ns, int64_t to_ns, bool waited_full) {
  const int64_t time = to_ns - from_ns;
  if (syncs_in_flight_ != 0 && syncs_in_flight_ == in_flight_) {
    outcome_.sync_ns += time;
  } else if (waiting_ == Waiting::kThink) {
    outcome_.think_ns += time;
  } else if (waiting_ == Waiting::kRate) {
    outcome_.rate_ns += time;
  } else {
    outcome_.io_ns += time;
    if (waited_full) outcome_.queue_full_ns += time;
  }
}

void IoThread::Run() {
  const int64_t cpu_before = ThreadCpuNs();
  const rusage usage_before = ThreadUsage();
  common::SleepThenSpinUntil(*clock_, timeline_->go_ns(), setup_.spin_ns);
  pacer_.Begin(timeline_->go_ns());
  int64_t now = clock_->MonotonicNs();
  plain_ = !gated_ && !setup_.sync.any() && !checks_.writes() && !checks_.reads() && !restamps_ &&
           duplicate_below_ == 0 && !setup_.engine.timed_submission && setup_.quota_bytes == 0 &&
           !access_.trims() && !access_.pauses();
  while (true) {
    CloseIntervals(now);
    const bool load_goes_on = LoadGoesOn(now);
    int count = FillBatch(now, load_goes_on);
    if (count == 0 && in_flight_ == 0) {
      const bool waits = load_goes_on && waiting_ != Waiting::kNothing;
      if (!waits && setup_.sync.at_end && !final_sync_done_ && outcome_.fatal.empty()) {
        final_sync_done_ = true;
        QueueAllSyncs(true);
        if (syncs_begin_ != syncs_end_) continue;
      }
      if (!waits) break;
      // A block that another thread writes is waited for like any.
      clock_->SleepUntil(
          std::min({wake_ns_, interval_end_ns_, timeline_->load_end_ns(), now + kLookNs}));
      const int64_t woken = clock_->MonotonicNs();
      Account(now, woken, false);
      now = woken;
      continue;
    }
    if (restamps_ && count != 0) {
      now = clock_->MonotonicNs();
      for (int i = 0; i < count; ++i) {
        slots_[batch_[i].slot].submitted_ns.store(now, std::memory_order_release);
      }
    }
    if (outcome_.first_io_ns == 0) outcome_.first_io_ns = now;
    if (now > timeline_->load_end_ns() + setup_.drain_ns) {
      GiveUpStuck(now);
      break;
    }
    int64_t deadline =
        std::min(now + kLookNs,
                 std::max(std::min(interval_end_ns_, timeline_->load_end_ns()), now + 1000000));
    if (waiting_ != Waiting::kNothing) deadline = std::min(deadline, wake_ns_);
    in_flight_ += count;
    // While slots are free there is more to submit: completions are taken, but not waited for.
    const bool full = free_.empty();
    const bool nothing_to_submit = count == 0 || waiting_ != Waiting::kNothing || !load_goes_on ||
                                   left_ == 0 || left_bytes_ == 0;
    const int wait_for = full && load_goes_on ? static_cast<int>(std::min(setup_.wait, in_flight_))
                         : full || nothing_to_submit ? 1
                                                     : 0;
    const auto reaped = engine_->Exchange(absl::MakeConstSpan(batch_.data(), count), wait_for,
                                          deadline, absl::MakeSpan(completions_));
    if (!reaped.ok()) {
      outcome_.fatal = std::string(reaped.status().message());
      outcome_.stuck = in_flight_ != 0;
      break;
    }
    const int64_t done = clock_->MonotonicNs();
    if (setup_.engine.timed_submission) {
      for (int i = 0; i < count; ++i) {
        slots_[batch_[i].slot].submission_ns =
            std::max<int64_t>(0, engine_->submitted_at_ns() - now);
      }
    }
    Account(now, done, full && wait_for != 0);
    CloseIntervals(done);
    if (plain_) {
      CompletePlain(*reaped, done);
    } else {
      for (int i = 0; i < *reaped; ++i) Complete(completions_[i], done);
    }
    in_flight_ -= *reaped;
    if (*reaped != 0) outcome_.last_io_ns = done;
    now = done;
  }
  CountBacklog();
  outcome_.cpu_ns = ThreadCpuNs() - cpu_before;
  const rusage usage = ThreadUsage();
  outcome_.voluntary_switches = usage.ru_nvcsw - usage_before.ru_nvcsw;
  outcome_.involuntary_switches = usage.ru_nivcsw - usage_before.ru_nivcsw;
  recorder_.Finish(outcome_.last_io_ns);
}

}  // namespace lockstep::worker
