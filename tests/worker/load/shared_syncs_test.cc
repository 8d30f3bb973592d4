// Syncs that threads share, against the order in which sysbench reads, writes and syncs.

#include "worker/load/shared_syncs.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/simulated_time.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

// R, W, and S for a sync; in the order in which the kernel gets them.
class WritingDownEngine final : public IoEngine {
 public:
  WritingDownEngine(std::string* order, const SimulatedTime* time) : order_(order), time_(time) {}
  absl::Status Open(const EngineSetup&) override { return absl::OkStatus(); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      time_->Pass(1000);
      const IoRequest& request = requests[i];
      *order_ += request.kind == IoKind::kRead ? 'R' : request.kind == IoKind::kWrite ? 'W' : 'S';
      completions[i] = {request.slot, static_cast<int32_t>(request.length)};
    }
    return static_cast<int>(requests.size());
  }
  std::string Describe() const override { return "writes down"; }

 private:
  std::string* order_;
  const SimulatedTime* time_;
};

struct Load {
  double read_ratio = 0.6;
  uint32_t every_ios = 10;
  uint64_t operations = 40;
  bool at_end = true;
};

// The operations of each of several threads on three files. They run one after the other.
std::vector<std::string> OrdersOf(const Load& load, int threads) {
  std::vector<std::string> orders;
  std::atomic<uint64_t> mix{0};
  SharedSyncs syncs(std::max<uint32_t>(1, load.every_ios), 3);
  for (int i = 0; i < threads; ++i) {
    SimulatedTime time;
    std::string order;
    IoThreadSetup setup;
    setup.make_engine = [&] { return std::make_unique<WritingDownEngine>(&order, &time); };
    setup.engine.files = {{NoStorage{}, 1 << 20}, {NoStorage{}, 1 << 20}, {NoStorage{}, 1 << 20}};
    setup.engine.queue_depth = 1;
    setup.paths = {"a", "b", "c"};
    setup.drain_ns = kSecond;
    setup.quota = load.operations;
    setup.sync.every_ios = load.every_ios;
    setup.sync.all_files = true;
    setup.sync.at_end = load.at_end;
    setup.sync.shared = load.every_ios != 0;
    if (setup.sync.shared) setup.shared_syncs = &syncs;
    AccessOptions options;
    options.lines = {{}};
    options.lines[0].read_ratio = load.read_ratio;
    options.shared_mix = &mix;
    Timeline timeline(10 * kSecond, 0);
    const int64_t go = time.MonotonicNs() + kMs;
    timeline.Begin(go, 10 * kSecond);
    time.Drive();
    IoThread thread(std::move(setup),
                    *Access::Make({{0, 0, 1 << 20}, {1, 0, 1 << 20}, {2, 0, 1 << 20}}, options),
                    &timeline, &time);
    EXPECT_TRUE(thread.Arm().ok());
    thread.Run();
    EXPECT_EQ(thread.outcome().fatal, "");
    orders.push_back(order);
  }
  return orders;
}
std::string OrderOf(const Load& load) { return OrdersOf(load, 1)[0]; }

// Each as strace shows it of sysbench 1.0.20 with --file-num=3 --events=40.
TEST(SharedSyncsTest, OneThreadHasTheOrderOfSysbench) {
  EXPECT_EQ(OrderOf({}), "RWRWRRWRWRSSSRWRWRRWRWRSSSRWRWRRWRWRSSSRSSS");
  EXPECT_EQ(OrderOf({.read_ratio = 0}), "WWWWWWWWWWSSSWWWWWWWWWWSSSWWWWWWWWWWSSSWSSS");
  // The seventh to ninth I/O are reads: nothing is synced after them. The end cuts a row short.
  EXPECT_EQ(OrderOf({.read_ratio = 0.75, .every_ios = 3}),
            "RRWSSSRRRWRRSSSRWRSSSRRWSSSRRRWRRSSSRWRSSSS");
  EXPECT_EQ(OrderOf({.read_ratio = 0, .every_ios = 0, .operations = 5}), "WWWWWSSS");
  EXPECT_EQ(OrderOf({.read_ratio = 0, .every_ios = 2, .operations = 7, .at_end = false}),
            "WWSSSWW");
}

// Each one, also those that the other threads have synced.
TEST(SharedSyncsTest, EachThreadSyncsAllFilesAtTheEnd) {
  using Orders = std::vector<std::string>;
  EXPECT_EQ(OrdersOf({.read_ratio = 0, .every_ios = 0, .operations = 2}, 3),
            (Orders{"WWSSS", "WWSSS", "WWSSS"}));
  // The tenth I/O of all threads makes a row due, which comes before the eleventh one. Syncs of a
  // row are among the thread's operations.
  EXPECT_EQ(OrdersOf({.read_ratio = 0, .operations = 5}, 3),
            (Orders{"WWWWWSSS", "WWWWWSSS", "SSSWWSSS"}));
}

TEST(SharedSyncsTest, ThreadsShareARow) {
  SharedSyncs syncs(2, 3);
  constexpr auto kRead = SharedSyncs::Io::kRead;
  constexpr auto kWrite = SharedSyncs::Io::kWrite;
  EXPECT_FALSE(syncs.Start(kWrite));
  EXPECT_FALSE(syncs.Start(kRead));
  // Each caller, for any kind of I/O, gets the next file of the row.
  EXPECT_EQ(syncs.Start(kRead), 0);
  EXPECT_EQ(syncs.Start(kWrite), 1);
  EXPECT_EQ(syncs.Start(kRead), 2);
  EXPECT_FALSE(syncs.Start(kRead));
  EXPECT_FALSE(syncs.Start(kRead));
  EXPECT_FALSE(syncs.Start(kWrite)) << "two reads made nothing that is to be synced";
  EXPECT_FALSE(syncs.Start(kRead));
  EXPECT_EQ(syncs.Start(kRead), 0);
}

TEST(SharedSyncsTest, NoSyncIsLostBetweenThreads) {
  constexpr int kThreads = 4, kIos = 20000;
  SharedSyncs syncs(100, 7);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int ios = 0; ios < kIos;) {
        if (syncs.Start(SharedSyncs::Io::kWrite)) {
          ++done;
        } else {
          ++ios;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The row after the last hundred is due with the next I/O.
  EXPECT_EQ(done, (kThreads * kIos / 100 - 1) * 7);
}

}  // namespace
}  // namespace lockstep::worker
