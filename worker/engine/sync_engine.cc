#include "worker/engine/sync_engine.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "worker/engine/blocking_ops.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {
namespace {

// The system call is chosen when compiling, so that no I/O pays for the choice.
template <bool kVectored>
class SyncEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup& setup) override {
    if (setup.completion_polling || setup.submission_polling) {
      return absl::UnimplementedError("polling is io_uring's; choose engine: io_uring");
    }
    setup_ = setup;
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      completions[i] = {requests[i].slot, Do(requests[i])};
    }
    return static_cast<int>(requests.size());
  }

  std::string Describe() const override {
    return kVectored ? "sync (preadv2, pwritev2)" : "sync (pread, pwrite)";
  }

 private:
  int32_t Do(const IoRequest& request) {
    const EngineFile& file = setup_.files[request.file];
    if (request.kind == IoKind::kSync) return SyncNow(file, setup_.sync_mode);
    if (request.kind == IoKind::kTrim) return TrimNow(file, request.offset, request.length);
    const off_t offset = static_cast<off_t>(request.offset);
    char* buffer = setup_.buffers->at(request.buffer);
    ssize_t result;
    if constexpr (kVectored) {
      const iovec vector = {buffer, request.length};
      // The system call takes the offset as two longs. On 64-bit machines the first one has all of
      // it.
      result = syscall(request.kind == IoKind::kRead ? SYS_preadv2 : SYS_pwritev2,
                       file.descriptor(), &vector, 1ul, offset, 0ul, 0ul);
    } else {
      // In a program of several threads, pread(3) of the C library prepares for cancellation, which
      // costs 30 ns a call.
      result = syscall(request.kind == IoKind::kRead ? SYS_pread64 : SYS_pwrite64,
                       file.descriptor(), buffer, size_t{request.length}, offset);
    }
    return result < 0 ? -errno : static_cast<int32_t>(result);
  }

  EngineSetup setup_;
};

}  // namespace

std::unique_ptr<IoEngine> NewSyncEngine() { return std::make_unique<SyncEngine<false>>(); }
std::unique_ptr<IoEngine> NewPreadv2Engine() { return std::make_unique<SyncEngine<true>>(); }

namespace {

const RegisterEngine kSync({.name = "sync",
                            .one_at_a_time = true,
                            .make = [](const EngineContext&) { return NewSyncEngine(); }});
const RegisterEngine kPreadv2({.name = "preadv2",
                               .one_at_a_time = true,
                               .make = [](const EngineContext&) { return NewPreadv2Engine(); }});

}  // namespace

}  // namespace lockstep::worker
