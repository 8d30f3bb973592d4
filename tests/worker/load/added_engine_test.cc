// An engine is added as docs/contributing.md says: in a file of its own, which registers it.

#include <cstring>

#include "gtest/gtest.h"
#include "worker/engine/registry.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {
namespace {

// Keeps what is written in memory.
class MemoryEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup& setup) override {
    buffers_ = setup.buffers;
    bytes_.resize(setup.files[0].size_bytes);
    return absl::OkStatus();
  }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      const IoRequest& request = requests[i];
      char* place = &bytes_[request.offset];
      if (request.kind == IoKind::kWrite) {
        memcpy(place, buffers_->at(request.buffer), request.length);
      } else if (request.kind == IoKind::kRead) {
        memcpy(buffers_->at(request.buffer), place, request.length);
      }
      completions[i] = {request.slot, static_cast<int32_t>(request.length)};
    }
    return static_cast<int>(requests.size());
  }
  std::string Describe() const override { return "memory"; }

 private:
  const IoBuffers* buffers_ = nullptr;
  std::vector<char> bytes_;
};

const RegisterEngine kMemory({.name = "memory",
                              .one_at_a_time = true,
                              .make = [](const EngineContext&) {
                                return std::unique_ptr<IoEngine>(new MemoryEngine);
                              }});

TEST(AddedEngineTest, AThreadRunsOnItByItsName) {
  const EngineEntry* entry = FindEngine("memory");
  ASSERT_NE(entry, nullptr);
  IoThreadSetup setup;
  setup.make_engine = [entry] { return entry->make({&common::SystemClock(), {}}); };
  setup.engine.files = {{NoStorage{}, 1 << 20}};
  setup.engine.queue_depth = 4;
  setup.paths = {"memory"};
  setup.max_batch = 4;
  setup.quota = 1000;
  AccessOptions access;
  access.lines = {{}};
  access.lines[0].block_size_bytes = 4096;
  access.lines[0].read_ratio = 0.5;
  auto made = Access::Make({{0, 0, 1 << 20}}, std::move(access));
  ASSERT_TRUE(made.ok()) << made.status();
  Timeline timeline(1000000000, 0);
  timeline.Begin(common::SystemClock().MonotonicNs(), int64_t{3600} * 1000000000);
  IoThread thread(std::move(setup), *std::move(made), &timeline, &common::SystemClock());
  ASSERT_TRUE(thread.Arm().ok());
  thread.Run();
  EXPECT_EQ(thread.outcome().engine, "memory");
  EXPECT_EQ(thread.outcome().submitted, 1000u);
  EXPECT_EQ(thread.outcome().fatal, "");
}

}  // namespace
}  // namespace lockstep::worker
