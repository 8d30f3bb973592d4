#include "worker/engine/uring_engine.h"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::worker {
namespace {

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

class UringEngine final : public IoEngine {
 public:
  ~UringEngine() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  absl::Status Open(const EngineSetup& setup) override {
    setup_ = setup;
    const int error = CreateRing();
    if (error != 0) {
      return absl::UnavailableError(absl::StrCat(
          "io_uring_setup(", setup.queue_depth, " entries): ", strerror(error),
          error == EPERM || error == ENOSYS
              ? "; io_uring is disabled here (see /proc/sys/kernel/io_uring_disabled and the container's seccomp "
                "profile), use engine: sync"
              : ""));
    }
    open_ = true;
    RegisterFiles();
    RegisterBuffers();
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete, int64_t deadline_ns,
                               absl::Span<IoCompletion> completions) override {
    for (const IoRequest& request : requests) Fill(io_uring_get_sqe(&ring_), request);
    int left = static_cast<int>(requests.size());
    while (true) {
      const int error = Enter(min_complete, deadline_ns);
      // EINTR and ETIME after the submission: what was not taken is still in the queue.
      if (error != 0 && error != EINTR && error != ETIME && error != EAGAIN && error != EBUSY) {
        return absl::InternalError(absl::StrCat("io_uring_enter: ", strerror(error)));
      }
      left = static_cast<int>(io_uring_sq_ready(&ring_));
      const int reaped = Reap(completions);
      if (left == 0 || reaped > 0) return reaped;
    }
  }

  std::string Describe() const override { return absl::StrCat("io_uring (", absl::StrJoin(features_, ", "), ")"); }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  // 0 or the errno of the last try. Deferred task work costs a wake-up per completion that another thread posts, as the
  // kernel's own do for buffered writes.
  int CreateRing() {
    struct Try {
      unsigned flags;
      const char* name;
    };
    const Try tries[] = {
        {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "single issuer, deferred task work"},
        {IORING_SETUP_COOP_TASKRUN, "cooperative task work"},
        {0, "plain"},
    };
    int error = 0;
    for (const Try& attempt : tries) {
      if (setup_.buffered_writes && attempt.flags != 0) continue;
      error = -io_uring_queue_init(setup_.queue_depth, &ring_, attempt.flags);
      if (error == 0) {
        features_.push_back(attempt.name);
        return 0;
      }
      if (error != EINVAL) return error;
      notes_.push_back(absl::StrCat("io_uring: the kernel has no ", attempt.name));
    }
    return error;
  }

  void RegisterFiles() {
    const int error = -io_uring_register_files(&ring_, setup_.files.data(), setup_.files.size());
    registered_files_ = error == 0;
    if (registered_files_) {
      features_.push_back("registered files");
    } else {
      notes_.push_back(absl::StrCat("io_uring: files are not registered: ", strerror(error)));
    }
  }

  void RegisterBuffers() {
    std::vector<iovec> vectors(setup_.buffers->count());
    for (uint32_t i = 0; i < vectors.size(); ++i) vectors[i] = {setup_.buffers->at(i), setup_.buffers->bytes_each()};
    const int error = -io_uring_register_buffers(&ring_, vectors.data(), vectors.size());
    registered_buffers_ = error == 0;
    if (registered_buffers_) {
      features_.push_back("registered buffers");
    } else {
      notes_.push_back(absl::StrCat("io_uring: buffers are not registered: ", strerror(error),
                                    error == ENOMEM ? " (raise the limit of locked memory, ulimit -l)" : ""));
    }
  }

  void Fill(io_uring_sqe* sqe, const IoRequest& request) {
    const int file = registered_files_ ? request.file : setup_.files[request.file];
    char* buffer = setup_.buffers->at(request.buffer);
    if (request.kind == IoKind::kRead) {
      if (registered_buffers_) {
        io_uring_prep_read_fixed(sqe, file, buffer, request.length, request.offset, static_cast<int>(request.buffer));
      } else {
        io_uring_prep_read(sqe, file, buffer, request.length, request.offset);
      }
    } else {
      if (registered_buffers_) {
        io_uring_prep_write_fixed(sqe, file, buffer, request.length, request.offset, static_cast<int>(request.buffer));
      } else {
        io_uring_prep_write(sqe, file, buffer, request.length, request.offset);
      }
    }
    if (registered_files_) sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, request.slot);
  }

  int Enter(int min_complete, int64_t deadline_ns) {
    if (min_complete == 0) {
      const int result = io_uring_submit_and_get_events(&ring_);
      return result < 0 ? -result : 0;
    }
    if (io_uring_sq_ready(&ring_) == 0 && io_uring_cq_ready(&ring_) >= static_cast<unsigned>(min_complete)) return 0;
    const int64_t rest = deadline_ns - NowNs();
    if (rest <= 0) {
      const int result = io_uring_submit_and_get_events(&ring_);
      return result < 0 ? -result : 0;
    }
    __kernel_timespec timeout = {rest / 1000000000, rest % 1000000000};
    io_uring_cqe* first = nullptr;
    const int result = io_uring_submit_and_wait_timeout(&ring_, &first, min_complete, &timeout, nullptr);
    return result < 0 ? -result : 0;
  }

  int Reap(absl::Span<IoCompletion> completions) {
    unsigned head = 0;
    int count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      if (count == static_cast<int>(completions.size())) break;
      completions[count++] = {static_cast<uint32_t>(io_uring_cqe_get_data64(cqe)), cqe->res};
    }
    io_uring_cq_advance(&ring_, count);
    return count;
  }

  EngineSetup setup_;
  io_uring ring_ = {};
  bool open_ = false;
  bool registered_files_ = false;
  bool registered_buffers_ = false;
  std::vector<std::string> features_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<IoEngine> NewUringEngine() { return std::make_unique<UringEngine>(); }

}  // namespace lockstep::worker
