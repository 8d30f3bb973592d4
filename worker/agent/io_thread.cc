#include "worker/agent/io_thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace lockstep::worker {
namespace {

// While draining, or with nothing else to wake it, a thread looks around this often.
constexpr int64_t kLookNs = 100000000;

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

}  // namespace

IoThread::IoThread(IoThreadSetup setup, const Timeline* timeline, const common::Clock* clock)
    : setup_(std::move(setup)),
      timeline_(timeline),
      clock_(clock),
      access_(setup_.space, setup_.access),
      slots_(setup_.queue_depth),
      batch_(setup_.queue_depth),
      completions_(setup_.queue_depth) {}

IoThread::~IoThread() {
  if (!outcome_.stuck) return;
  // The kernel may still write into the buffers.
  (void)engine_.release();
  (void)buffers_.release();
}

absl::Status IoThread::Arm() {
  // Reads and writes of a mix have buffers of their own, so that what is written stays random.
  const uint32_t count = setup_.queue_depth * (setup_.reads && setup_.writes ? 2 : 1);
  auto buffers = IoBuffers::Make(count, setup_.space->block_size_bytes());
  if (!buffers.ok()) return buffers.status();
  buffers_ = *std::move(buffers);
  if (setup_.writes && !setup_.zeros) buffers_->FillRandom(common::DeriveSeed(setup_.access.seed, setup_.access.thread));
  for (uint32_t slot = setup_.queue_depth; slot-- > 0;) free_.push_back(slot);
  engine_ = setup_.make_engine();
  const absl::Status opened = engine_->Open({setup_.files, buffers_.get(), setup_.queue_depth, setup_.buffered && setup_.writes});
  outcome_.notes = engine_->notes();
  if (opened.ok()) outcome_.engine = engine_->Describe();
  return opened;
}

void IoThread::CloseIntervals(int64_t now_ns) {
  // Beyond the end of the load there is one interval, the drain.
  while (now_ns >= timeline_->EndOf(recorder_.interval()) &&
         timeline_->BeginOf(recorder_.interval()) < timeline_->load_end_ns()) {
    recorder_.CloseInterval();
  }
}

int IoThread::FillBatch(int64_t now_ns) {
  uint64_t count = std::min<uint64_t>(free_.size(), setup_.max_batch);
  if (setup_.quota != 0) count = std::min(count, setup_.quota - outcome_.submitted);
  const uint32_t length = static_cast<uint32_t>(setup_.space->block_size_bytes());
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    const Access::Next next = access_.Take();
    IoRequest& request = slots_[slot].request;
    request.kind = next.read ? IoKind::kRead : IoKind::kWrite;
    request.file = next.place.file;
    request.slot = slot;
    request.buffer = setup_.reads && setup_.writes && !next.read ? slot + setup_.queue_depth : slot;
    request.length = length;
    request.offset = next.place.offset;
    slots_[slot].submitted_ns.store(now_ns, std::memory_order_relaxed);
    if (!next.read && !setup_.zeros) {
      // Each block written differs from every other, by its place and its number.
      const uint64_t stamp[2] = {request.offset, outcome_.submitted + i};
      char* bytes = buffers_->at(request.buffer);
      for (uint32_t at = 0; at + sizeof stamp <= length; at += 4096) memcpy(bytes + at, stamp, sizeof stamp);
    }
    batch_[i] = request;
  }
  if (count != 0) ++outcome_.exchanges;
  outcome_.submitted += count;
  return static_cast<int>(count);
}

std::string IoThread::Describe(const IoRequest& request) const {
  return absl::StrCat(request.kind == IoKind::kRead ? "read" : "write", " of ", request.length, " bytes at offset ",
                      request.offset, " of ", setup_.paths[request.file]);
}

void IoThread::Complete(const IoCompletion& completion, int64_t now_ns) {
  Slot& slot = slots_[completion.slot];
  const IoRequest& request = slot.request;
  if (completion.result >= 0) {
    const int64_t latency = now_ns - slot.submitted_ns.load(std::memory_order_relaxed);
    const bool is_short = static_cast<uint32_t>(completion.result) < request.length;
    recorder_.RecordDone(request.kind, latency, completion.result, is_short);
    if (is_short && outcome_.first_error.empty()) {
      outcome_.first_error = absl::StrCat(Describe(request), ": short, ", completion.result, " bytes");
    }
  } else {
    recorder_.RecordError(request.kind);
    const int error = -completion.result;
    if (outcome_.first_error.empty()) outcome_.first_error = absl::StrCat(Describe(request), ": ", strerror(error));
    if (ConsequenceOf(error) == ErrorConsequence::kStop && outcome_.fatal.empty()) {
      outcome_.fatal = absl::StrCat(Describe(request), ": ", strerror(error));
    }
  }
  slot.submitted_ns.store(0, std::memory_order_relaxed);
  free_.push_back(completion.slot);
}

std::string IoThread::OldestInFlight(int64_t now_ns, int64_t limit_ns) const {
  const Slot* oldest = nullptr;
  int64_t since = now_ns - limit_ns;
  for (const Slot& slot : slots_) {
    const int64_t submitted = slot.submitted_ns.load(std::memory_order_relaxed);
    if (submitted == 0 || submitted > since) continue;
    since = submitted;
    oldest = &slot;
  }
  if (oldest == nullptr) return "";
  return absl::StrCat(Describe(oldest->request), " is in flight since ",
                      common::FormatDuration(static_cast<double>(now_ns - since)));
}

void IoThread::GiveUpStuck(int64_t now_ns) {
  outcome_.stuck = true;
  outcome_.fatal = absl::StrCat(in_flight_, " I/Os did not complete within the drain deadline; ",
                                OldestInFlight(now_ns, 0));
}

void IoThread::Run() {
  const int64_t cpu_before = ThreadCpuNs();
  const rusage usage_before = ThreadUsage();
  common::SleepThenSpinUntil(*clock_, timeline_->go_ns(), setup_.spin_ns);
  while (true) {
    const int64_t now = clock_->MonotonicNs();
    CloseIntervals(now);
    const int64_t load_end = timeline_->load_end_ns();
    const int count = now < load_end && outcome_.fatal.empty() ? FillBatch(now) : 0;
    if (count == 0 && in_flight_ == 0) break;
    if (outcome_.first_io_ns == 0) outcome_.first_io_ns = now;
    if (now > load_end + setup_.drain_ns) {
      GiveUpStuck(now);
      break;
    }
    const int64_t deadline = std::min(now + kLookNs, std::max(timeline_->EndOf(recorder_.interval()), now + 1000000));
    in_flight_ += count;
    // While slots are free there is more to submit: completions are taken, but not waited for.
    const int wait_for = count == 0 || free_.empty() || (setup_.quota != 0 && outcome_.submitted == setup_.quota) ? 1 : 0;
    const auto reaped = engine_->Exchange(absl::MakeConstSpan(batch_.data(), count), wait_for, deadline,
                                          absl::MakeSpan(completions_));
    if (!reaped.ok()) {
      outcome_.fatal = std::string(reaped.status().message());
      outcome_.stuck = in_flight_ != 0;
      break;
    }
    const int64_t done = clock_->MonotonicNs();
    CloseIntervals(done);
    for (int i = 0; i < *reaped; ++i) Complete(completions_[i], done);
    in_flight_ -= *reaped;
    if (*reaped != 0) outcome_.last_io_ns = done;
  }
  outcome_.cpu_ns = ThreadCpuNs() - cpu_before;
  const rusage usage = ThreadUsage();
  outcome_.voluntary_switches = usage.ru_nvcsw - usage_before.ru_nvcsw;
  outcome_.involuntary_switches = usage.ru_nivcsw - usage_before.ru_nivcsw;
  recorder_.Finish(outcome_.last_io_ns);
}

}  // namespace lockstep::worker
