// A worker's load on real files with real engines, without a controller.

#include "worker/load/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "absl/synchronization/notification.h"
#include "common/histogram.h"
#include "common/timing.h"
#include "gtest/gtest.h"
#include "worker/targets/prepare.h"

namespace lockstep::worker {
namespace {

using timing::kMs;

class LoadTest : public testing::Test {
 protected:
  Load::Environment Environment() {
    Load::Environment environment;
    environment.guard = &guard_;
    environment.clock = &common::SystemClock();
    environment.ledgers = &ledgers_;
    environment.mismatch_directory = folder_ + "/mismatches";
    return environment;
  }

  LoadTest() : folder_(getenv("TEST_TMPDIR")), guard_(*Guard::Make({folder_}, {})) {
    assignment_.mutable_phase()->set_run_id("r");
    assignment_.set_interval_ns(100 * kMs);
    assignment_.set_drain_ns(5000 * kMs);
    v1::TargetAssignment* target = assignment_.add_targets();
    target->mutable_target()->set_name("t");
    target->mutable_target()->mutable_file()->set_path(
        folder_ + "/" + testing::UnitTest::GetInstance()->current_test_info()->name());
    target->mutable_target()->mutable_file()->set_size_bytes(1 << 20);
    target->mutable_target()->mutable_file()->set_count(2);
    target->set_file_count(2);
    v1::RunAssignment* run = assignment_.mutable_run();
    assignment_.set_hard_stop_ns(20000 * kMs);
    v1::WorkloadAssignment* workload = run->add_workloads();
    workload->set_seed(1);
    v1::Workload* w = workload->mutable_workload();
    w->set_name("w");
    w->add_targets("t");
    w->set_threads(2);
    w->set_queue_depth(4);
    w->set_block_size_bytes(4096);
    w->mutable_pattern()->mutable_random();
    w->set_read_ratio(0.5);
    w->set_direct(false);
    w->set_engine(v1::ENGINE_IO_URING);
    Prepare();
  }

  void Prepare() {
    v1::Assignment prepare = assignment_;
    prepare.mutable_prepare();
    const std::atomic<bool> stop{false};
    const auto made = PrepareFiles(guard_, prepare, {"h", 0}, stop, [](uint64_t, uint64_t) {});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->files_made, 2u);
  }

  // Runs the load; `during` is called once it has started.
  v1::PhaseResult Run(const std::function<void(Load*)>& during = [](Load*) {}) {
    auto load = Load::Make(assignment_, {"h", 0}, Environment());
    EXPECT_TRUE(load.ok()) << load.status();
    if (!load.ok()) return {};
    EXPECT_TRUE((*load)->Arm().ok());
    (*load)->Start(common::SystemClock().MonotonicNs() + 20 * kMs);
    std::thread other([&] { during(load->get()); });
    const v1::PhaseResult result = (*load)->Wait([this](v1::IntervalSample sample) {
      if (!measured_.HasBeenNotified()) measured_.Notify();
      samples_.push_back(std::move(sample));
    });
    other.join();
    return result;
  }

  static uint64_t Operations(
      const google::protobuf::RepeatedPtrField<v1::OperationCounters>& list) {
    uint64_t sum = 0;
    for (const auto& c : list) sum += c.operations();
    return sum;
  }

  // Sums of the samples' histograms by class and kind equal the result's, bucket by bucket.
  void ExpectSumsEqual(const v1::PhaseResult& result) {
    std::map<std::pair<int, int>, common::Histogram> sums;
    for (const auto& sample : samples_) {
      for (const auto& c : sample.workloads(0).operations()) {
        ASSERT_TRUE(
            (sums[{sample.interval_class(), c.kind()}].AddEncoded(c.histograms(0).buckets()).ok()));
      }
    }
    const auto check = [&](int interval_class, const auto& list) {
      for (const v1::OperationCounters& c : list) {
        common::Histogram whole;
        ASSERT_TRUE(whole.AddEncoded(c.histograms(0).buckets()).ok());
        EXPECT_EQ(whole.count(), c.operations());
        EXPECT_TRUE((whole == sums[{interval_class, c.kind()}]));
      }
    };
    check(v1::INTERVAL_CLASS_RAMP, result.workloads(0).ramp());
    check(v1::INTERVAL_CLASS_MEASURED, result.workloads(0).measured());
    check(v1::INTERVAL_CLASS_DRAIN, result.workloads(0).drain());
  }

  const std::string folder_;
  const Guard guard_;
  absl::Notification measured_;  // the first interval is over
  LedgerBook ledgers_;
  v1::Assignment assignment_;
  std::vector<v1::IntervalSample> samples_;
};

TEST_F(LoadTest, ByTimeTheGridIsKeptAndTheSumsAgree) {
  assignment_.mutable_run()->set_ramp_ns(200 * kMs);
  assignment_.mutable_run()->set_duration_ns(450 * kMs);
  const v1::PhaseResult result = Run();
  EXPECT_EQ(result.error(), "");
  ASSERT_GE(samples_.size(), 7u);
  for (uint32_t k = 0; k < 7; ++k) {
    EXPECT_EQ(samples_[k].interval(), k);
    EXPECT_EQ(samples_[k].begin_ns(), int64_t{k} * 100 * kMs);
    EXPECT_EQ(samples_[k].end_ns(), std::min<int64_t>((int64_t{k} + 1) * 100 * kMs, 650 * kMs));
    EXPECT_EQ(samples_[k].interval_class(),
              k < 2 ? v1::INTERVAL_CLASS_RAMP : v1::INTERVAL_CLASS_MEASURED);
  }
  EXPECT_GE(result.first_io_ns(), result.go_ns());
  EXPECT_GT(Operations(result.workloads(0).measured()), 0u);
  ExpectSumsEqual(result);
  ASSERT_EQ(result.threads_size(), 2);
  EXPECT_EQ(result.threads(0).operations() + result.threads(1).operations(),
            Operations(result.workloads(0).measured()));
  for (const v1::ThreadResult& thread : result.threads()) {
    EXPECT_GT(thread.wait_time_ns(), 0);
    // Ramp and drain are in none of them.
    EXPECT_LE(thread.wait_time_ns() + thread.fsync_time_ns() + thread.rate_time_ns() +
                  thread.think_time_ns(),
              450 * kMs);
  }
}

// An observe phase.
TEST_F(LoadTest, WithoutAWorkloadItSamplesTheHostUntilItsEnd) {
  assignment_.clear_targets();
  assignment_.mutable_run()->clear_workloads();
  assignment_.mutable_run()->set_duration_ns(300 * kMs);
  assignment_.set_sample_host(true);
  const v1::PhaseResult result = Run();
  EXPECT_EQ(result.error(), "");
  EXPECT_FALSE(result.stopped_early());
  EXPECT_EQ(result.intervals(), 3u);
  EXPECT_EQ(result.first_io_ns(), 0);
  EXPECT_TRUE(result.workloads().empty());
  ASSERT_EQ(samples_.size(), 3u);
  for (const v1::IntervalSample& sample : samples_) {
    EXPECT_EQ(sample.interval_class(), v1::INTERVAL_CLASS_MEASURED);
    EXPECT_TRUE(sample.has_host());
    EXPECT_TRUE(sample.workloads().empty());
  }
  EXPECT_EQ(samples_.back().end_ns(), 300 * kMs);
}

TEST_F(LoadTest, ByOperationsItEndsExactlyThere) {
  assignment_.mutable_run()->mutable_workloads(0)->set_operations(777);
  const v1::PhaseResult result = Run();
  EXPECT_EQ(result.error(), "");
  EXPECT_EQ(Operations(result.workloads(0).measured()), 777u);
  EXPECT_EQ(Operations(result.workloads(0).drain()), 0u);
  ExpectSumsEqual(result);
}

TEST_F(LoadTest, TheSyncEngineCountsTheSame) {
  v1::WorkloadAssignment* workload = assignment_.mutable_run()->mutable_workloads(0);
  workload->set_operations(500);
  workload->mutable_workload()->set_engine(v1::ENGINE_SYNC);
  workload->mutable_workload()->set_queue_depth(1);
  EXPECT_EQ(Operations(Run().workloads(0).measured()), 500u);
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(LoadTest, ACopyReadsOneTargetAndWritesTheOther) {
  v1::TargetAssignment to = assignment_.targets(0);
  const std::string source = to.target().file().path();
  to.set_index(1);
  to.set_written(true);
  to.set_owner_only(true);
  to.mutable_target()->set_name("u");
  to.mutable_target()->mutable_file()->set_path(source + "-copy");
  *assignment_.add_targets() = to;
  Prepare();
  const std::string before = ContentOf(source);
  v1::Workload* w = assignment_.mutable_run()->mutable_workloads(0)->mutable_workload();
  w->mutable_copy()->set_from("t");
  w->mutable_copy()->set_to("u");
  w->add_targets("u");
  w->mutable_pattern()->mutable_sequential();
  w->set_passes(1);
  EXPECT_NE(ContentOf(source + "-copy"), before);
  const v1::PhaseResult result = Run();
  EXPECT_EQ(result.error(), "");
  // The reading before T and the one after the load lie some milliseconds apart.
  EXPECT_GT(result.sampled_ns(), 0);
  EXPECT_EQ(result.workloads(0).uncopied_blocks(), 0u);
  for (const v1::OperationCounters& counters : result.workloads(0).measured()) {
    EXPECT_EQ(counters.operations(), 512u);
    EXPECT_EQ(counters.bytes(), 2u << 20);
  }
  EXPECT_EQ(result.workloads(0).measured_size(), 2);
  for (const char* file : {"", ".1"}) {
    const std::string copy = source + "-copy" + file;
    EXPECT_EQ(ContentOf(copy), ContentOf(source + file));
    struct stat facts;
    ASSERT_EQ(stat(copy.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u);
  }
  EXPECT_EQ(ContentOf(source), before);
}

TEST_F(LoadTest, ACopyToAFileThatOthersCouldOpenIsRefused) {
  v1::TargetAssignment to = assignment_.targets(0);
  const std::string copy = to.target().file().path() + "-copy";
  to.set_index(1);
  to.set_written(true);
  to.mutable_target()->set_name("u");
  to.mutable_target()->mutable_file()->set_path(copy);
  *assignment_.add_targets() = to;
  Prepare();
  ASSERT_EQ(chmod(copy.c_str(), 0604), 0);
  const std::string before = ContentOf(copy);
  v1::Workload* w = assignment_.mutable_run()->mutable_workloads(0)->mutable_workload();
  w->mutable_copy()->set_from("t");
  w->mutable_copy()->set_to("u");
  w->add_targets("u");
  w->mutable_pattern()->mutable_sequential();
  w->set_passes(1);
  const auto load = Load::Make(assignment_, {"h", 0}, Environment());
  ASSERT_FALSE(load.ok());
  EXPECT_NE(std::string(load.status().message()).find("other users may open"), std::string::npos)
      << load.status();
  EXPECT_EQ(ContentOf(copy), before);
}

// The link is made after the controller has compared the targets.
TEST_F(LoadTest, ACopyOntoItsOwnSourceIsRefused) {
  v1::TargetAssignment to = assignment_.targets(0);
  const std::string source = to.target().file().path();
  to.set_index(1);
  to.set_written(true);
  to.set_owner_only(true);
  to.mutable_target()->set_name("u");
  to.mutable_target()->mutable_file()->set_path(source + "-copy");
  *assignment_.add_targets() = to;
  Prepare();
  v1::Workload* w = assignment_.mutable_run()->mutable_workloads(0)->mutable_workload();
  w->mutable_copy()->set_from("t");
  w->mutable_copy()->set_to("u");
  w->add_targets("u");
  w->mutable_pattern()->mutable_sequential();
  w->set_passes(1);
  ASSERT_TRUE(Load::Make(assignment_, {"h", 0}, Environment()).ok());
  // The second file of the source is the first one of the destination.
  const std::string linked = source + ".1";
  ASSERT_EQ(unlink(linked.c_str()), 0);
  ASSERT_EQ(link((source + "-copy").c_str(), linked.c_str()), 0);
  const auto load = Load::Make(assignment_, {"h", 0}, Environment());
  ASSERT_FALSE(load.ok());
  EXPECT_NE(std::string(load.status().message()).find("the same bytes under two names"),
            std::string::npos)
      << load.status();
}

TEST_F(LoadTest, ACopyThatWouldNotBeWholeIsRefusedBeforeItStarts) {
  v1::TargetAssignment to = assignment_.targets(0);
  to.set_index(1);
  to.set_written(true);
  to.set_owner_only(true);
  to.mutable_target()->set_name("u");
  to.mutable_target()->mutable_file()->set_path(to.target().file().path() + "-copy");
  *assignment_.add_targets() = to;
  Prepare();
  assignment_.mutable_targets(1)->mutable_target()->mutable_file()->set_count(1);
  v1::Workload* w = assignment_.mutable_run()->mutable_workloads(0)->mutable_workload();
  w->mutable_copy()->set_from("t");
  w->mutable_copy()->set_to("u");
  w->add_targets("u");
  w->mutable_pattern()->mutable_sequential();
  w->set_passes(1);
  const auto load = Load::Make(assignment_, {"h", 0}, Environment());
  ASSERT_FALSE(load.ok());
  EXPECT_NE(std::string(load.status().message()).find("has 512 blocks"), std::string::npos)
      << load.status();
}

TEST_F(LoadTest, AStopEndsTheLoadAtOnceAndKeepsWhatWasMeasured) {
  assignment_.mutable_run()->set_duration_ns(20000 * kMs);
  const v1::PhaseResult result = Run([this](Load* load) {
    measured_.WaitForNotification();
    load->StopNow();
  });
  EXPECT_TRUE(result.stopped_early());
  EXPECT_GT(Operations(result.workloads(0).measured()), 0u);
  ExpectSumsEqual(result);
}

TEST_F(LoadTest, AnAdaptiveEndIsTheEndOfAnInterval) {
  assignment_.mutable_run()->set_duration_ns(20000 * kMs);
  const v1::PhaseResult result = Run([](Load* load) { load->StopAtEndOf(15); });
  uint32_t last = 0;
  for (const auto& sample : samples_) {
    if (sample.interval_class() == v1::INTERVAL_CLASS_MEASURED) last = sample.interval();
  }
  EXPECT_EQ(last, 15u);
  ExpectSumsEqual(result);
}

TEST_F(LoadTest, AnEndThatComesTooLateIsThatOfTheIntervalInProgress) {
  assignment_.mutable_run()->set_duration_ns(20000 * kMs);
  const v1::PhaseResult result = Run([this](Load* load) {
    measured_.WaitForNotification();
    load->StopAtEndOf(0);  // which is over
  });
  EXPECT_TRUE(result.stopped_early());
  uint32_t last = 0;
  for (const auto& sample : samples_) {
    if (sample.interval_class() != v1::INTERVAL_CLASS_MEASURED) continue;
    last = sample.interval();
    EXPECT_LE(sample.end_ns() - sample.begin_ns(), 100 * kMs) << last;
  }
  EXPECT_GE(last, 1u);
  ExpectSumsEqual(result);
}

TEST_F(LoadTest, AnEndThatIsToldBeforeTheGoIsKept) {
  assignment_.mutable_run()->set_duration_ns(20000 * kMs);
  auto load = Load::Make(assignment_, {"h", 0}, Environment());
  ASSERT_TRUE(load.ok());
  ASSERT_TRUE((*load)->Arm().ok());
  (*load)->StopAtEndOf(15);
  (*load)->Start(common::SystemClock().MonotonicNs() + 20 * kMs);
  uint32_t last = 0;
  const v1::PhaseResult result = (*load)->Wait([&last](const v1::IntervalSample& sample) {
    if (sample.interval_class() == v1::INTERVAL_CLASS_MEASURED) last = sample.interval();
  });
  EXPECT_TRUE(result.stopped_early());
  EXPECT_EQ(last, 15u);
}

TEST_F(LoadTest, CancelledBeforeGoItDoesNoIo) {
  auto load = Load::Make(assignment_, {"h", 0}, Environment());
  ASSERT_TRUE(load.ok());
  ASSERT_TRUE((*load)->Arm().ok());
  (*load)->StopNow();
  const v1::PhaseResult result = (*load)->Wait([](const v1::IntervalSample&) { FAIL(); });
  EXPECT_TRUE(result.stopped_early());
  EXPECT_EQ(result.first_io_ns(), 0);
}

TEST_F(LoadTest, AFileOfSomebodyElseIsNotOpenedForWriting) {
  const std::string path = folder_ + "/precious";
  ASSERT_TRUE(common::WriteFileAtomically(path, std::string(1 << 20, 'x')).ok());
  assignment_.mutable_targets(0)->mutable_target()->mutable_file()->set_path(path);
  assignment_.mutable_targets(0)->mutable_target()->mutable_file()->set_count(1);
  const auto load = Load::Make(assignment_, {"h", 0}, Environment());
  EXPECT_EQ(load.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*common::ReadFile(path), std::string(1 << 20, 'x'));
}

TEST_F(LoadTest, CleanupRemovesWhatPrepareMadeAndOnlyThat) {
  const auto removed = RemoveFiles(guard_, assignment_, {"h", 0}, [] { return false; });
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, 2u);
  EXPECT_EQ(*RemoveFiles(guard_, assignment_, {"h", 0}, [] { return false; }), 0u);
}

}  // namespace
}  // namespace lockstep::worker
