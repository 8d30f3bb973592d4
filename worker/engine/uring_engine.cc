#include "worker/engine/uring_engine.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/timing.h"
#include "worker/engine/blocking_ops.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {
namespace {

// include/uapi/linux/blkdev.h of kernel 6.12: BLOCK_URING_CMD_DISCARD.
constexpr uint32_t kRingDiscard = _IO(0x12, 0);

// Up to this depth, buffered writes do better with plain task work.
constexpr uint32_t kShallow = 2;

bool KernelIsAtLeast(int major, int minor) {
  utsname name;
  if (uname(&name) != 0) return false;
  char* rest = nullptr;
  const long found_major = std::strtol(name.release, &rest, 10);
  const long found_minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return found_major > major || (found_major == major && found_minor >= minor);
}

class UringEngine final : public IoEngine {
 public:
  ~UringEngine() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  absl::Status Open(const EngineSetup& setup) override {
    setup_ = setup;
    nothing_ = std::all_of(setup.files.begin(), setup.files.end(),
                           [](const EngineFile& f) { return !f.has_storage(); });
    // A probe of the ring tells its operations, not the commands that IORING_OP_URING_CMD takes.
    // The version must decide.
    ring_discards_ = KernelIsAtLeast(6, 12);
    done_.reserve(setup.queue_depth);
    const int error = CreateRing();
    if (error != 0) {
      const std::string text = absl::StrCat("io_uring_setup(", setup.queue_depth,
                                            " entries): ", common::ErrnoText(error));
      if (error != EPERM && error != ENOSYS) return absl::UnavailableError(text);
      // The caller may have another engine for this case.
      return absl::UnimplementedError(
          absl::StrCat(text,
                       "; this host has no io_uring (a kernel before 5.1, the container's seccomp "
                       "profile or /proc/sys/kernel/io_uring_disabled), use engine: libaio"));
    }
    open_ = true;
    // The registration of the ring's descriptor spares a look-up per call where the kernel has it
    // (5.18).
    (void)io_uring_register_ring_fd(&ring_);
    if (!setup.unregistered && !nothing_) {
      RegisterFiles();
      RegisterBuffers();
    }
    return setup.completion_polling ? ProbePolling() : absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    for (const IoRequest& request : requests) Fill(request);
    if (setup_.timed_submission) {
      const int result = io_uring_submit(&ring_);
      if (result < 0 && !Passes(-result)) return RingError(-result);
      // Between two system calls, since one that submits and waits would count the wait as
      // submission.
      submitted_at_ns_ = MonotonicNowNs();
    }
    while (true) {
      const int error = Enter(done_.empty() ? min_complete : 0, deadline_ns);
      if (!Passes(error)) return RingError(error);
      // EINTR, EAGAIN and EBUSY come before anything was submitted or after a part of it. Entries
      // that are left in the queue are submitted by the next call (io_uring_enter(2)).
      const bool all_taken = setup_.submission_polling || io_uring_sq_ready(&ring_) == 0;
      const int reaped = Reap(completions);
      if (all_taken || reaped > 0) return reaped;
    }
  }

  std::string Describe() const override {
    return absl::StrCat("io_uring (", absl::StrJoin(features_, ", "), ")");
  }

 private:
  static bool Passes(int error) {
    // ETIME is the end of a wait whose deadline has come.
    return error == 0 || error == EINTR || error == ETIME || error == EAGAIN || error == EBUSY;
  }
  static absl::Status RingError(int error) {
    return absl::InternalError(absl::StrCat("io_uring_enter: ", common::ErrnoText(error)));
  }

  // 0 or the errno of the last try. Deferred task work costs a wake-up per completion that another
  // thread posts, as the kernel's own do for buffered writes; with several in flight it gathers
  // them, and is twice as fast.
  int CreateRing() {
    struct Try {
      TaskWork kind;
      unsigned flags;
      const char* name;
    };
    // An engine belongs to one thread, as SINGLE_ISSUER demands. Deferred task work needs Linux
    // 6.1, cooperative task work 5.19.
    const Try tries[] = {
        {TaskWork::kDeferred, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
         "single issuer, deferred task work"},
        {TaskWork::kCooperative, IORING_SETUP_COOP_TASKRUN, "cooperative task work"},
        {TaskWork::kPlain, 0, "plain task work"},
    };
    TaskWork wanted = setup_.task_work;
    if (wanted == TaskWork::kByRule) {
      wanted =
          (setup_.buffered_writes && setup_.queue_depth <= kShallow) || setup_.submission_polling
              ? TaskWork::kPlain
              : TaskWork::kDeferred;
    }
    unsigned common = 0;
    if (setup_.submission_polling) common |= IORING_SETUP_SQPOLL;
    if (setup_.completion_polling) common |= IORING_SETUP_IOPOLL;
    int error = 0;
    for (const Try& attempt : tries) {
      if (attempt.kind < wanted) continue;
      // The kernel refuses these flags together with SQPOLL.
      if (setup_.submission_polling && attempt.flags != 0) continue;
      io_uring_params parameters = {};
      parameters.flags = attempt.flags | common;
      // Milliseconds until the polling thread sleeps. Waking it costs a system call, which is what
      // the job wanted to avoid.
      parameters.sq_thread_idle = 1000;
      // The kernel's thread gives an entry back only after its completion may have been seen.
      const unsigned entries =
          setup_.submission_polling ? 2 * setup_.queue_depth : setup_.queue_depth;
      error = -io_uring_queue_init_params(entries, &ring_, &parameters);
      if (error == 0) {
        features_.push_back(attempt.name);
        if (setup_.submission_polling) features_.push_back("submission polling");
        if (setup_.completion_polling) features_.push_back("completion polling");
        return 0;
      }
      // EINVAL is an older kernel that does not know the flags. Everything else (EPERM of seccomp
      // or of kernel.io_uring_disabled, ENOMEM) would fail again.
      if (error != EINVAL) return error;
      notes_.push_back(absl::StrCat("io_uring: the kernel has no ", attempt.name));
    }
    return error;
  }

  void RegisterFiles() {
    std::vector<int> descriptors;
    for (const EngineFile& file : setup_.files) descriptors.push_back(file.descriptor());
    // For a registered file the kernel need not take and drop a reference with each I/O.
    const int error = -io_uring_register_files(&ring_, descriptors.data(), descriptors.size());
    registered_files_ = error == 0;
    if (registered_files_) {
      features_.push_back("registered files");
    } else {
      notes_.push_back(
          absl::StrCat("io_uring: files are not registered: ", common::ErrnoText(error)));
    }
  }

  void RegisterBuffers() {
    std::vector<iovec> vectors(setup_.buffers->count());
    for (uint32_t i = 0; i < vectors.size(); ++i) {
      vectors[i] = {setup_.buffers->at(i), setup_.buffers->bytes_each()};
    }
    // Registered buffers are mapped and pinned once. Otherwise, the kernel pins the pages of each
    // direct I/O anew.
    const int error = -io_uring_register_buffers(&ring_, vectors.data(), vectors.size());
    registered_buffers_ = error == 0;
    if (registered_buffers_) {
      features_.push_back("registered buffers");
    } else {
      notes_.push_back(absl::StrCat(
          "io_uring: ", vectors.size(), " buffers of ", setup_.buffers->bytes_each(),
          " bytes are not registered: ", common::ErrnoText(error),
          error == ENOMEM
              ? " (the limit of locked memory, ulimit -l, is too low); I/O goes on without"
              : ""));
    }
  }

  // A ring with IOPOLL is made on any device; without polled queues its I/Os fail (EOPNOTSUPP).
  // One read, which the device answers or refuses: whether it polls shows in no other way.
  absl::Status ProbePolling() {
    const IoRequest read = {
        IoKind::kRead,
        0,
        0,
        0,
        static_cast<uint32_t>(std::min<size_t>(setup_.buffers->bytes_each(), 4096)),
        0};
    std::vector<IoCompletion> done(1);
    const auto count = Exchange(absl::MakeConstSpan(&read, 1), 1, MonotonicNowNs() + 5000000000,
                                absl::MakeSpan(done));
    if (!count.ok()) return count.status();
    if (*count == 1 && done[0].result >= 0) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        "completion_polling: ",
        *count == 0 ? "a polled read did not complete" : common::ErrnoText(-done[0].result),
        "; the device has no polled queues (nvme.poll_queues=N gives NVMe some), or the I/O is "
        "not direct"));
  }

  void Fill(const IoRequest& request) {
    const EngineFile& target = setup_.files[request.file];
    if (request.kind == IoKind::kTrim && target.is_block_device() && !ring_discards_) {
      // This kernel has no ring command for it.
      done_.push_back({request.slot, TrimNow(target, request.offset, request.length)});
      return;
    }
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    // With IOSQE_FIXED_FILE the number is an index into the registered files. The flag must be set
    // after the preparation, which clears the entry's flags.
    const int file = registered_files_ ? request.file : target.descriptor();
    if (!target.has_storage()) {
      io_uring_prep_nop(sqe);
    } else if (request.kind == IoKind::kRead) {
      char* buffer = setup_.buffers->at(request.buffer);
      if (registered_buffers_) {
        io_uring_prep_read_fixed(sqe, file, buffer, request.length, request.offset,
                                 static_cast<int>(request.buffer));
      } else {
        io_uring_prep_read(sqe, file, buffer, request.length, request.offset);
      }
      if (registered_files_) sqe->flags |= IOSQE_FIXED_FILE;
    } else if (request.kind == IoKind::kWrite) {
      char* buffer = setup_.buffers->at(request.buffer);
      if (registered_buffers_) {
        io_uring_prep_write_fixed(sqe, file, buffer, request.length, request.offset,
                                  static_cast<int>(request.buffer));
      } else {
        io_uring_prep_write(sqe, file, buffer, request.length, request.offset);
      }
      if (registered_files_) sqe->flags |= IOSQE_FIXED_FILE;
    } else if (request.kind == IoKind::kSync) {
      FillSync(sqe, file);
    } else {
      FillTrim(sqe, file, target, request);
    }
    // The kernel refuses a priority of other requests (EINVAL).
    if (request.kind == IoKind::kRead || request.kind == IoKind::kWrite) {
      if (target.has_storage()) sqe->ioprio = request.priority;
    }
    // A no-op moves nothing, so that its length must come back with it.
    io_uring_sqe_set_data64(sqe, request.slot | (nothing_ ? uint64_t{request.length} << 32 : 0));
  }

  void FillSync(io_uring_sqe* sqe, int file) const {
    if (setup_.sync_mode == SyncMode::kSyncFileRange) {
      io_uring_prep_sync_file_range(
          sqe, file, 0, 0,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    } else {
      io_uring_prep_fsync(sqe, file,
                          setup_.sync_mode == SyncMode::kFdatasync ? IORING_FSYNC_DATASYNC : 0);
    }
    if (registered_files_) sqe->flags |= IOSQE_FIXED_FILE;
  }

  void FillTrim(io_uring_sqe* sqe, int file, const EngineFile& target,
                const IoRequest& request) const {
    if (target.is_block_device()) {
      io_uring_prep_rw(IORING_OP_URING_CMD, sqe, file,
                       reinterpret_cast<const void*>(request.offset), 0, 0);
      // cmd_op lies in the bytes of `off`, which io_uring_prep_rw() clears: it must come after
      // that.
      sqe->cmd_op = kRingDiscard;
      sqe->addr3 = request.length;
    } else {
      io_uring_prep_fallocate(sqe, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(request.offset), request.length);
    }
    if (registered_files_) sqe->flags |= IOSQE_FIXED_FILE;
  }

  int Enter(int min_complete, int64_t deadline_ns) {
    if (min_complete == 0) {
      // With deferred task work, completions appear only when the thread enters the kernel for
      // them, also where it waits for none.
      const int result = io_uring_submit_and_get_events(&ring_);
      return result < 0 ? -result : 0;
    }
    // Completions that the ring has already need no system call.
    if (io_uring_sq_ready(&ring_) == 0 &&
        io_uring_cq_ready(&ring_) >= static_cast<unsigned>(min_complete)) {
      return 0;
    }
    const int64_t rest = deadline_ns - MonotonicNowNs();
    if (rest <= 0) {
      const int result = io_uring_submit_and_get_events(&ring_);
      return result < 0 ? -result : 0;
    }
    __kernel_timespec timeout = {rest / timing::kSecond, rest % timing::kSecond};
    io_uring_cqe* first = nullptr;
    const int result =
        io_uring_submit_and_wait_timeout(&ring_, &first, min_complete, &timeout, nullptr);
    return result < 0 ? -result : 0;
  }

  int Reap(absl::Span<IoCompletion> completions) {
    int count = 0;
    for (const IoCompletion& completion : done_) completions[count++] = completion;
    done_.clear();
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      // A completion that finds no space stays in the ring for the next call.
      if (count == static_cast<int>(completions.size())) break;
      ++seen;
      const uint64_t data = io_uring_cqe_get_data64(cqe);
      completions[count++] = {static_cast<uint32_t>(data), nothing_ && cqe->res == 0
                                                               ? static_cast<int32_t>(data >> 32)
                                                               : cqe->res};
    }
    // One store for all: each advance is a release barrier that the kernel's side reads.
    io_uring_cq_advance(&ring_, seen);
    return count;
  }

  EngineSetup setup_;
  io_uring ring_ = {};
  bool open_ = false;
  bool nothing_ = false;  // no file has storage
  bool ring_discards_ = false;
  bool registered_files_ = false;
  bool registered_buffers_ = false;
  std::vector<IoCompletion> done_;  // completed without the ring
  std::vector<std::string> features_;
};

}  // namespace

std::unique_ptr<IoEngine> NewUringEngine() { return std::make_unique<UringEngine>(); }

namespace {

const RegisterEngine kUring(
    {.name = "io_uring",
     .reaches = [](const EngineFile& f) { return !f.has_storage() || f.descriptor() >= 0; },
     .make = [](const EngineContext&) { return NewUringEngine(); }});

}  // namespace

}  // namespace lockstep::worker
