#include "worker/engine/sync_engine.h"

#include <unistd.h>

#include <cerrno>

namespace lockstep::worker {
namespace {

class SyncEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup& setup) override {
    setup_ = setup;
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) completions[i] = {requests[i].slot, Do(requests[i])};
    return static_cast<int>(requests.size());
  }

  std::string Describe() const override { return "sync (pread, pwrite)"; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  int32_t Do(const IoRequest& request) {
    const int file = setup_.files[request.file];
    char* buffer = setup_.buffers->at(request.buffer);
    ssize_t result;
    do {
      result = request.kind == IoKind::kRead ? pread(file, buffer, request.length, request.offset)
                                             : pwrite(file, buffer, request.length, request.offset);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : static_cast<int32_t>(result);
  }

  EngineSetup setup_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<IoEngine> NewSyncEngine() { return std::make_unique<SyncEngine>(); }

}  // namespace lockstep::worker
