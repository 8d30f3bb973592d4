#include "worker/engine/libaio_engine.h"

#include <libaio.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/timing.h"
#include "worker/engine/blocking_ops.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {
namespace {

// IOCB_FLAG_IOPRIO of linux/aio_abi.h, whose iocb is not that of libaio.h.
constexpr unsigned kHasPriority = 1 << 1;

// The head of the ring at the address that io_setup returns: fs/aio.c, struct aio_ring.
struct SharedRing {
  static constexpr unsigned kMagic = 0xa10a10a1;
  unsigned id;
  unsigned size;
  unsigned head;
  unsigned tail;
  unsigned magic;
  unsigned compatible_features;
  unsigned incompatible_features;
  unsigned header_length;
  io_event events[];
};

class LibaioEngine final : public IoEngine {
 public:
  ~LibaioEngine() override {
    // io_destroy(2) returns only when nothing is in flight any more. The caller may then free the
    // buffers.
    if (context_ != nullptr) io_destroy(context_);
  }

  absl::Status Open(const EngineSetup& setup) override {
    if (setup.completion_polling || setup.submission_polling) {
      return absl::UnimplementedError("polling is io_uring's; choose engine: io_uring");
    }
    setup_ = setup;
    const int error = -io_setup(static_cast<int>(setup.queue_depth), &context_);
    if (error != 0) {
      return absl::UnavailableError(
          absl::StrCat("io_setup(", setup.queue_depth, "): ", common::ErrnoText(error),
                       error == EAGAIN ? "; raise /proc/sys/fs/aio-max-nr" : ""));
    }
    blocks_.resize(setup.queue_depth);
    pending_.resize(setup.queue_depth);
    done_.reserve(setup.queue_depth);
    events_.resize(setup.queue_depth);
    ring_ = reinterpret_cast<SharedRing*>(context_);
    // The layout is no promise of the kernel's interface: the magic number and the features say
    // whether it is the one that is known here.
    shared_ = ring_->magic == SharedRing::kMagic && ring_->incompatible_features == 0;
    if (!shared_) {
      notes_.push_back(
          "libaio: the kernel's completion ring has an unknown layout; every reap is a system "
          "call");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    for (const IoRequest& request : requests) Add(request);
    if (absl::Status status = Submit(); !status.ok()) return status;
    if (setup_.timed_submission) submitted_at_ns_ = MonotonicNowNs();
    int count = 0;
    for (const IoCompletion& completion : done_) completions[count++] = completion;
    done_.clear();
    count = Reap(completions, count);
    if (count >= min_complete) return count;
    const int64_t rest = deadline_ns - MonotonicNowNs();
    timespec timeout = {rest / timing::kSecond, rest % timing::kSecond};
    // The kernel refuses a negative timeout.
    if (rest <= 0) timeout = {0, 0};
    // io_getevents() refuses a minimum above the maximum (EINVAL).
    const int room = static_cast<int>(completions.size()) - count;
    const int found = io_getevents(context_, std::min(min_complete - count, room), room,
                                   events_.data(), &timeout);
    if (found < 0 && found != -EINTR) {
      return absl::InternalError(absl::StrCat("io_getevents: ", common::ErrnoText(-found)));
    }
    for (int i = 0; i < found; ++i) completions[count++] = Completion(events_[i]);
    return count;
  }

  std::string Describe() const override {
    return shared_ ? "libaio (completions read from the shared ring)" : "libaio";
  }

 private:
  static IoCompletion Completion(const io_event& event) {
    return {static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event.data)),
            static_cast<int32_t>(event.res)};
  }

  void Add(const IoRequest& request) {
    const EngineFile& file = setup_.files[request.file];
    iocb* block = &blocks_[request.slot];
    switch (request.kind) {
      case IoKind::kRead:
        io_prep_pread(block, file.descriptor(), setup_.buffers->at(request.buffer), request.length,
                      static_cast<long long>(request.offset));
        break;
      case IoKind::kWrite:
        io_prep_pwrite(block, file.descriptor(), setup_.buffers->at(request.buffer), request.length,
                       static_cast<long long>(request.offset));
        break;
      case IoKind::kTrim:
        // Native AIO has commands for neither trims nor sync_file_range(2). This thread does them
        // at once.
        done_.push_back({request.slot, TrimNow(file, request.offset, request.length)});
        return;
      case IoKind::kSync:
        if (setup_.sync_mode == SyncMode::kSyncFileRange) {
          done_.push_back({request.slot, SyncNow(file, setup_.sync_mode)});
          return;
        }
        if (setup_.sync_mode == SyncMode::kFsync) {
          io_prep_fsync(block, file.descriptor());
        } else {
          io_prep_fdsync(block, file.descriptor());
        }
        break;
    }
    if (request.priority != 0 && request.kind != IoKind::kSync) {
      block->aio_reqprio = static_cast<short>(request.priority);
      block->u.c.flags |= kHasPriority;
    }
    block->data = reinterpret_cast<void*>(static_cast<uintptr_t>(request.slot));
    pending_[waiting_++] = block;
  }

  absl::Status Submit() {
    unsigned first = 0;
    while (first < waiting_) {
      const int taken =
          io_submit(context_, static_cast<long>(waiting_ - first), pending_.data() + first);
      if (taken > 0) {
        first += static_cast<unsigned>(taken);
      } else if (taken == -EINTR || taken == -EAGAIN) {
        // Full: the kernel takes the rest when something has completed, which it does without this
        // thread.
        const timespec pause = {0, 20000};
        nanosleep(&pause, nullptr);
      } else {
        // io_submit refuses the first one; it is the I/O that failed, not the engine.
        done_.push_back(
            {static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pending_[first]->data)), taken});
        ++first;
      }
    }
    waiting_ = 0;
    return absl::OkStatus();
  }

  int Reap(absl::Span<IoCompletion> completions, int count) {
    if (!shared_) return count;
    // This thread alone takes events, so that the head needs no lock.
    unsigned head = ring_->head;
    // The acquire pairs with the barrier that the kernel has before it moves the tail: events up to
    // the tail are complete.
    const unsigned tail = __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE);
    while (head != tail && count < static_cast<int>(completions.size())) {
      completions[count++] = Completion(ring_->events[head]);
      head = head + 1 == ring_->size ? 0 : head + 1;
    }
    // The release keeps the reads above before the new head: the kernel may overwrite these events
    // from then on.
    __atomic_store_n(&ring_->head, head, __ATOMIC_RELEASE);
    return count;
  }

  EngineSetup setup_;
  io_context_t context_ = nullptr;
  SharedRing* ring_ = nullptr;
  bool shared_ = false;
  std::vector<iocb> blocks_;  // by slot
  std::vector<iocb*> pending_;
  unsigned waiting_ = 0;
  std::vector<IoCompletion> done_;
  std::vector<io_event> events_;
};

}  // namespace

std::unique_ptr<IoEngine> NewLibaioEngine() { return std::make_unique<LibaioEngine>(); }

namespace {

const RegisterEngine kLibaio({.name = "libaio",
                              .make = [](const EngineContext&) { return NewLibaioEngine(); }});

}  // namespace

}  // namespace lockstep::worker
