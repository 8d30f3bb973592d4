// The resources that a thread acquires before T: its processor, its buffers, and its engine.

#include "absl/strings/str_cat.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {

// Reads and writes of a mix have buffers of their own, so that what is written stays what it was
// made.
absl::Status IoThread::MakeBuffers() {
  const uint32_t depth = setup_.engine.queue_depth;
  const bool both = access_.reads() && access_.writes();
  const bool makes_content = access_.writes() && !checks_.writes();
  // A workload of one kind has one set only: io_uring pins registered buffers
  // (io_uring_register(2)), and a second set would be pinned for nothing.
  write_buffers_ = both ? depth : 0;
  auto buffers = IoBuffers::Make(
      write_buffers_ + depth + (makes_content ? content_.extra_buffers() : 0),
      access_.largest_bytes(),
      setup_.placement.huge_pages ? IoBuffers::Pages::kHuge : IoBuffers::Pages::kNormal);
  if (!buffers.ok()) return buffers.status();
  buffers_ = *std::move(buffers);
  if (makes_content) content_.Prepare(*buffers_, write_buffers_, depth);
  restamps_ = checks_.writes() || content_.is_slow();
  return absl::OkStatus();
}

absl::Status IoThread::Arm() {
  // The binding comes first: it decides on which node the pages lie that this thread touches from
  // here on.
  if (absl::Status status = BindThisThread(setup_.placement); !status.ok()) return status;
  if (absl::Status status = MakeBuffers(); !status.ok()) return status;
  // Backwards, so that slot 0 is on top: a thread that keeps few I/Os in flight touches few slots,
  // and their buffers stay in the processor's cache.
  for (uint32_t slot = setup_.engine.queue_depth; slot-- > 0;) free_.Give(slot);
  const absl::Status opened = OpenEngine();
  TakeNotes();
  if (!opened.ok()) return opened;
  outcome_.engine = engine_->Describe();
  // Before T, so that the others wait for a thread that wakes up late. One that begins later by
  // itself joins then.
  if (setup_.flow != nullptr && setup_.begin_ns == 0) setup_.flow->Join();
  return opened;
}

// In this thread and not where the load is made: a ring with a single issuer belongs to the thread
// that created it.
absl::Status IoThread::OpenEngine() {
  EngineSetup engine = setup_.engine;
  engine.buffers = buffers_.get();
  engine_ = setup_.make_engine();
  const absl::Status wanted = engine_->Open(engine);
  if (!absl::IsUnimplemented(wanted)) return wanted;
  for (const IoThreadSetup::MakeEngine& make : setup_.fallbacks) {
    engine_ = make();
    if (!engine_->Open(engine).ok()) continue;
    fallback_notes_.push_back(
        absl::StrCat(engine_->Describe(), " instead of the default engine: ", wanted.message()));
    return absl::OkStatus();
  }
  return wanted;
}

void IoThread::TakeNotes() {
  outcome_.notes = fallback_notes_;
  const std::vector<std::string>& more = engine_->notes();
  outcome_.notes.insert(outcome_.notes.end(), more.begin(), more.end());
}

}  // namespace lockstep::worker
