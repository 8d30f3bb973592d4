// The memory that an I/O thread takes, and that it takes none once it runs.

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <thread>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/load/io_thread_run.h"
#include "worker/engine/uring_engine.h"
#include "worker/sampler/collector.h"

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
}  // namespace

// The compiler sees free() behind some of the deletes, and not that new is malloc().
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t size) {
  allocations += counting;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

uint64_t ResidentKib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    uint64_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

TEST(IoThreadTest, TwelveHoursNeedNoMoreMemoryThanAMinute) {
  SimulatedTime time;
  constexpr uint32_t kIntervals = 43200;
  Timeline timeline(kSecond, 0);
  const int64_t go = time.MonotonicNs() + kMs;
  timeline.Begin(go, kIntervals * kSecond);
  IoThreadSetup setup = SetupOf({50 * kMs, 0, 0}, &time, 1);
  setup.start.open_loop = FixedRate(15);
  setup.start.open_loop->poisson = true;
  IoThread thread(std::move(setup), RandomReads(0.5), &timeline, &time);
  uint64_t after_a_minute = 0;
  uint64_t operations = 0;
  uint32_t seen = 0;
  Collector collector(&timeline, &time, {{&thread.recorder(), 0}}, {},
                      [&](const v1::IntervalSample& sample) {
                        EXPECT_EQ(sample.interval(), seen);
                        ++seen;
                        for (const auto& workload : sample.workloads()) {
                          for (const auto& c : workload.operations()) operations += c.operations();
                        }
                        if (sample.interval() == 60) after_a_minute = ResidentKib();
                      });
  std::thread runner([&] {
    time.Drive();
    EXPECT_TRUE(thread.Arm().ok());
    thread.Run();
    time.End();
  });
  collector.Begin();
  EXPECT_TRUE(collector.Run([] { return int64_t{1} << 62; }));
  runner.join();
  const uint64_t after_all = ResidentKib();
  EXPECT_GE(seen, kIntervals);
  EXPECT_NEAR(static_cast<double>(operations), 15.0 * kIntervals, 6 * std::sqrt(15.0 * kIntervals));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep what is freed
  EXPECT_LT(after_all, after_a_minute + 512) << "KiB";
#else
  (void)after_all;
#endif
}

// Counts allocations from the second batch on.
class WatchedEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup& setup) override {
    real_ = NewUringEngine();
    return real_->Open(setup);
  }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    counting = true;
    return real_->Exchange(requests, min_complete, deadline_ns, completions);
  }
  std::string Describe() const override { return real_->Describe(); }

 private:
  std::unique_ptr<IoEngine> real_;
};

TEST(IoThreadTest, TheSteadyHotPathDoesNotAllocate) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/hot";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_EQ(ftruncate(file, 1 << 20), 0);
  // Every part that a hot path may have: a mix of sizes, zipf, an open loop, syncs, slat,
  // verification, a copy from the file's first half to the second one.
  for (int variant = 0; variant < 4; ++variant) {
    AccessOptions options;
    options.lines = {{}};
    options.lines[0].read_ratio = 0.5;
    if (variant == 1) {
      options.lines.push_back({.block_size_bytes = 8192, .read_ratio = 0.5});
      options.offsets = ZipfOffsets{};
    }
    IoThreadSetup setup;
    setup.make_engine = [] { return std::make_unique<WatchedEngine>(); };
    setup.engine.files = {{OpenFile{file}, 1 << 20}};
    setup.engine.queue_depth = 16;
    setup.engine.buffered_writes = true;
    setup.engine.timed_submission = variant == 1;
    setup.paths = {path};
    setup.max_batch = 8;
    setup.drain_ns = kSecond;
    if (variant == 1) setup.start.open_loop = FixedRate(20000);
    if (variant == 1) setup.sync.every_writes = 100;
    if (variant == 2) {
      setup.checks.reads = setup.checks.writes = true;
      setup.checks.block_size_bytes = 4096;
      setup.checks.keys = {TargetKey(path)};
      setup.checks.ledgers = {*BlockLedger::Make(256)};
      setup.checks.written_since = {false};
    }
    uint64_t end = 1 << 20;
    if (variant == 3) {
      end /= 2;
      options.lines[0].read_ratio = 1;
      options.order = Order::kSequential;
      setup.copy =
          std::make_shared<const CopyMap>(*CopyMap::Make({{0, 0, end}}, {{0, end, 2 * end}}, 4096));
      setup.quota = uint64_t{1} << 40;
      setup.sync.every_writes = 100;
    }
    Timeline timeline(50 * kMs, 0);
    IoThread thread(std::move(setup), *Access::Make({{0, 0, end}}, options), &timeline,
                    &common::SystemClock());
    ASSERT_TRUE(thread.Arm().ok());
    timeline.Begin(common::SystemClock().MonotonicNs() + kMs, 300 * kMs);
    allocations = 0;
    thread.Run();
    counting = false;
    EXPECT_EQ(allocations, 0) << "variant " << variant;
    EXPECT_GT(thread.outcome().submitted, 1000u);
    EXPECT_EQ(thread.outcome().fatal, "");
    EXPECT_EQ(thread.outcome().first_error, "");
  }
  close(file);
}

}  // namespace
}  // namespace lockstep::worker
