#include "worker/engine/mmap_engine.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/engine/blocking_ops.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {
namespace {

// The jump that this thread's copy takes when a page cannot be had; null outside a copy.
thread_local sigjmp_buf* volatile copying = nullptr;
struct sigaction earlier;

void OnBusError(int number, siginfo_t* info, void* context) {
  if (copying != nullptr) siglongjmp(*copying, 1);
  if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != nullptr) {
    return earlier.sa_sigaction(number, info, context);
  }
  signal(number, SIG_DFL);  // returns to the same instruction, which ends the process as it should
}

void CatchBusErrors() {
  // The kernel sends SIGBUS for a page that it cannot supply: after a medium error, on a full file
  // system, behind the end of a file that was cut short. Without a handler, that ends the worker
  // with all its loads.
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    // The jump out of the handler does not restore the signal mask. Without SA_NODEFER, SIGBUS
    // would stay blocked, and the next one would end the process.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGBUS, &action, &earlier);
  });
}

// 0, or -EIO when a page could not be had. No object with a destructor lives here: a jump passes
// over it.
int32_t Copy(char* to, const char* from, uint32_t length) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) {
    copying = nullptr;
    return -EIO;
  }
  copying = &back;
  // The fences keep the compiler from moving the copy out of the part in which a fault is expected.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  memcpy(to, from, length);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying = nullptr;
  return static_cast<int32_t>(length);
}

class MmapEngine final : public IoEngine {
 public:
  ~MmapEngine() override {
    for (const Mapping& mapping : mappings_) munmap(mapping.base, mapping.length);
  }

  absl::Status Open(const EngineSetup& setup) override {
    if (setup.completion_polling || setup.submission_polling) {
      return absl::UnimplementedError("polling is io_uring's; choose engine: io_uring");
    }
    CatchBusErrors();
    setup_ = setup;
    for (size_t i = 0; i < setup.files.size(); ++i) {
      const size_t length = setup.files[i].size_bytes;
      void* base =
          mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, setup.files[i].descriptor(), 0);
      // A descriptor that is open only for reading cannot be mapped for writing (mmap(2)).
      if (base == MAP_FAILED && errno == EACCES) {
        base = mmap(nullptr, length, PROT_READ, MAP_SHARED, setup.files[i].descriptor(), 0);
      }
      if (base == MAP_FAILED) {
        return absl::UnavailableError(absl::StrCat("file ", i, " of the workload: mmap of ", length,
                                                   " bytes: ", common::ErrnoText(errno)));
      }
      mappings_.push_back({static_cast<char*>(base), length});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      completions[i] = {requests[i].slot, Do(requests[i])};
    }
    return static_cast<int>(requests.size());
  }

  std::string Describe() const override { return "mmap (copies, msync)"; }

 private:
  struct Mapping {
    char* base;
    size_t length;
  };

  int32_t Do(const IoRequest& request) {
    const EngineFile& file = setup_.files[request.file];
    const Mapping& mapping = mappings_[request.file];
    switch (request.kind) {
      case IoKind::kRead:
        return Copy(setup_.buffers->at(request.buffer), mapping.base + request.offset,
                    request.length);
      case IoKind::kWrite:
        return Copy(mapping.base + request.offset, setup_.buffers->at(request.buffer),
                    request.length);
      case IoKind::kTrim:
        return TrimNow(file, request.offset, request.length);
      case IoKind::kSync:
        break;
    }
    if (setup_.sync_mode == SyncMode::kSyncFileRange) return SyncNow(file, setup_.sync_mode);
    // The sync covers all of the mapping, as fsync(2) of the other engines covers all of the file.
    return msync(mapping.base, mapping.length, MS_SYNC) == 0 ? 0 : -errno;
  }

  EngineSetup setup_;
  std::vector<Mapping> mappings_;
};

}  // namespace

std::unique_ptr<IoEngine> NewMmapEngine() { return std::make_unique<MmapEngine>(); }

namespace {

const RegisterEngine kMmap({.name = "mmap",
                            .one_at_a_time = true,
                            .make = [](const EngineContext&) { return NewMmapEngine(); }});

}  // namespace

}  // namespace lockstep::worker
