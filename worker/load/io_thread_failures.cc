// I/Os that fail, that do not come back, or that never started.

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {
namespace {

// An I/O that the kernel asks to repeat is repeated this often; then it has failed. Without a limit
// a target that always answers EAGAIN would keep the slot until the drain ends.
constexpr uint32_t kRetryLimit = 100;

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

std::string IoThread::Describe(const IoRequest& request) const {
  if (request.kind == IoKind::kSync) return absl::StrCat("sync of ", setup_.paths[request.file]);
  return absl::StrCat(Verb(request.kind), " of ", request.length, " bytes at offset ",
                      request.offset, " of ", setup_.paths[request.file]);
}

// False when the I/O is to be repeated.
bool IoThread::Fail(Slot* slot, int error, int64_t now_ns) {
  const IoRequest& request = slot->request;
  ErrorConsequence consequence = error == 0 ? ErrorConsequence::kCount : ConsequenceOf(error);
  if (consequence == ErrorConsequence::kRetry) {
    ++outcome_.retries;
    // After the drain deadline a repetition would be reported as a stuck I/O, although the kernel
    // has answered.
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
    const std::string words = absl::StrCat(
        Describe(request), ": ",
        error == 0 ? "0 bytes: the target ends before this offset" : common::ErrnoText(error));
    if (first) outcome_.first_error = words;
    // The reason may follow the flag: others read the outcome only after Run() has ended.
    if (stop) failed_.store(true, std::memory_order_release);
    if (stop) {
      outcome_.fatal =
          consequence == ErrorConsequence::kStop
              ? words
              : absl::StrCat(errors_,
                             " failed I/Os, the workload's error_limit; the last: ", words);
    }
  }
  // A write that failed may have reached the medium in part. The ledger takes the block's content
  // for unknown until the next write.
  if (checks_.writes() && request.kind == IoKind::kWrite) {
    checks_.EndWrite(request.file, request.offset, slot->ticket, BlockLedger::WriteEnd::kFailed);
  }
  return true;
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
  // The text was read without a lock. If the I/O has completed in between, the slot may be another
  // one's: only an unchanged time shows that the text belongs to it.
  if (oldest->submitted_ns.load(std::memory_order_acquire) != since) return std::nullopt;
  return found;
}

void IoThread::GiveUpStuck(int64_t now_ns) {
  // failed_ stays false: it ends the load for all threads, and the load is over by now.
  outcome_.stuck = true;
  const auto oldest = OldestInFlight(now_ns, 0);
  outcome_.fatal = absl::StrCat(in_flight_, " I/Os did not complete within the drain deadline",
                                oldest ? absl::StrCat("; the oldest: ", oldest->what) : "");
}

// The I/Os that were due and never started: the storage, or the queue depth, was too slow.
void IoThread::CountBacklog() {
  if (!gate_.has_schedule()) return;
  const int64_t end = ended_on_time_ ? own_end_ns_ : timeline_->load_end_ns();
  const StartGate::Backlog backlog = gate_.BacklogAt(end, exhausted_ && !ended_on_time_);
  outcome_.unstarted = backlog.unstarted;
  outcome_.due = started_ + backlog.unstarted;
  outcome_.longest_backlog_ns = backlog.longest_ns;
}

}  // namespace lockstep::worker
