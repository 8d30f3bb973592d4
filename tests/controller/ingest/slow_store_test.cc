// A store that is slower than the samples come: what waits for it in memory has a limit.

#include <string>
#include <utility>
#include <vector>

#include "controller/ingest/ingest_pipeline.h"
#include "gtest/gtest.h"
#include "tests/fakes/memory_spool.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSecondNs = 1000000000;
constexpr size_t kQueueBytes = 1000;

class StoppedClock final : public common::Clock {
 public:
  int64_t MonotonicNs() const override { return now_ns; }
  int64_t WallNs() const override { return now_ns; }
  void SleepUntil(int64_t) const override {}
  int64_t now_ns = kSecondNs;
};

class SlowStoreTest : public testing::Test {
 protected:
  SlowStoreTest() {
    EXPECT_TRUE(store_.AcquireEpoch("test").ok());
    measure::RunRecord run;
    run.run_id = Phase().run_id();
    EXPECT_TRUE(store_.Enqueue(run).ok());
    EXPECT_TRUE(store_.BeginPhase(run.run_id, measure::PhaseRecord(), {}, {0}).ok());
    Open(&pipeline_);
  }

  static void Open(IngestPipeline* pipeline) {
    v1::RunPhase load;
    load.add_workloads();
    pipeline->Open(
        Phase(), {{"worker", {0, "node1"}}}, load, kSecondNs,
        {[](const v1::FleetInterval&) {}, [](const std::string&) {}, [](const std::string&) {},
         [](uint32_t, const v1::PhaseResult&, const std::string&) {}},
        {});
  }

  static v1::PhaseId Phase() {
    v1::PhaseId phase;
    phase.set_run_id("11111111-1111-4111-8111-111111111111");
    phase.set_attempt(1);
    return phase;
  }

  IngestPipeline::Options Options() {
    IngestPipeline::Options options;
    options.store = &store_;
    options.spool = &spool_;
    options.clock = &clock_;
    options.queue_bytes = kQueueBytes;
    options.store_state = [this](const absl::Status& state) {
      states_.push_back(std::string(state.message()));
    };
    options.spool_full = [this](const std::string&) { is_spool_full_ = true; };
    return options;
  }

  // Delivers one interval after the other from `next` on, until twice as much waits as may. Returns
  // the number after the last one.
  uint64_t DeliverTooMuch(IngestPipeline* pipeline, uint64_t next) {
    for (size_t bytes = 0; bytes <= 2 * kQueueBytes; ++next) {
      v1::DeliveryBatch batch;
      *batch.mutable_phase() = Phase();
      batch.set_first_sequence(next);
      v1::DeliveryItem* item = batch.add_items();
      item->mutable_interval()->set_interval(static_cast<uint32_t>(next));
      bytes += item->ByteSizeLong();
      pipeline->Deliver("worker", batch, [this](const v1::DeliveryAck& ack) {
        spooled_ = ack.spooled();
        committed_ = ack.committed();
      });
    }
    return next;
  }
  void DeliverTooMuch() { delivered_ = DeliverTooMuch(&pipeline_, delivered_); }
  uint64_t Stored() { return store_.Cursor(Phase(), 0).value_or(0); }

  StoppedClock clock_;
  storage::MemoryDatabase database_;
  storage::MemoryStore store_{&database_};
  storage::MemorySpool spool_{1 << 20};
  std::vector<std::string> states_;  // of the store, as they are reported; empty: available
  bool is_spool_full_ = false;
  uint64_t delivered_ = 0, spooled_ = 0, committed_ = 0;
  IngestPipeline pipeline_{Options()};
};

TEST_F(SlowStoreTest, WhatWaitsTooLongGoesToTheSpool) {
  DeliverTooMuch();
  const int64_t again = pipeline_.Pump();
  EXPECT_GT(spool_.bytes(), kQueueBytes);
  EXPECT_EQ(spooled_, delivered_);
  EXPECT_EQ(Stored(), 0U);
  ASSERT_EQ(states_.size(), 1U);
  EXPECT_EQ(states_[0], "it stores samples more slowly than they come: 1000 B of them wait");
  EXPECT_TRUE(pipeline_.state().slow());

  clock_.now_ns = again;
  pipeline_.Pump();
  EXPECT_EQ(Stored(), delivered_);
  EXPECT_EQ(committed_, delivered_);
  EXPECT_TRUE(spool_.empty());
  EXPECT_EQ(states_.back(), "");
  EXPECT_FALSE(pipeline_.state().slow());
}

TEST_F(SlowStoreTest, WhatComesDuringACommitIsSpooledToo) {
  DeliverTooMuch();
  clock_.now_ns = pipeline_.Pump();
  int commits = 0;
  uint64_t spooled_at_second = 0;
  store_.set_fate([&](bool changing) {
    if (changing && ++commits <= 2) {
      spooled_at_second = commits == 2 ? spool_.bytes() : 0;
      if (commits == 1) DeliverTooMuch();
    }
    return storage::MemoryStore::Fate::kDone;
  });
  pipeline_.Pump();
  EXPECT_GT(spooled_at_second, kQueueBytes);
  EXPECT_EQ(Stored(), delivered_);
  EXPECT_EQ(states_.size(), 2U);
  EXPECT_EQ(states_.back(), "");
}

TEST_F(SlowStoreTest, AStoreThatKeepsUpNeedsNoSpool) {
  DeliverTooMuch();
  clock_.now_ns = pipeline_.Pump();
  pipeline_.Pump();
  for (int i = 0; i < 100; ++i) {
    v1::DeliveryBatch batch;
    *batch.mutable_phase() = Phase();
    batch.set_first_sequence(delivered_++);
    batch.add_items()->mutable_interval()->set_interval(static_cast<uint32_t>(delivered_));
    pipeline_.Deliver("worker", batch, [](const v1::DeliveryAck&) {});
    pipeline_.Pump();
  }
  EXPECT_EQ(Stored(), delivered_);
  EXPECT_EQ(states_.size(), 2U);
}

// The store works again, and the spool is nearly full: what comes during the commit stays in
// memory.
TEST_F(SlowStoreTest, ARunGoesOnWhereTheSpoolIsNearlyFull) {
  storage::MemorySpool small(4 * kQueueBytes);
  IngestPipeline::Options options = Options();
  options.spool = &small;
  IngestPipeline pipeline(options);
  Open(&pipeline);
  uint64_t delivered = DeliverTooMuch(&pipeline, 0);
  clock_.now_ns = pipeline.Pump();
  EXPECT_GT(small.bytes(), kQueueBytes);
  bool more = true;
  store_.set_fate([&](bool changing) {
    if (changing && std::exchange(more, false)) delivered = DeliverTooMuch(&pipeline, delivered);
    return storage::MemoryStore::Fate::kDone;
  });
  for (int i = 0; i < 3 && Stored() < delivered; ++i) pipeline.Pump();
  EXPECT_EQ(Stored(), delivered);
  EXPECT_FALSE(is_spool_full_);
}

TEST_F(SlowStoreTest, AFullSpoolIsSaidAndNothingIsLost) {
  storage::MemorySpool small(1);
  IngestPipeline::Options options = Options();
  options.spool = &small;
  IngestPipeline pipeline(options);
  Open(&pipeline);
  const uint64_t delivered = DeliverTooMuch(&pipeline, 0);
  clock_.now_ns = pipeline.Pump();
  EXPECT_TRUE(is_spool_full_);
  for (int i = 0; i < 3 && Stored() < delivered; ++i) pipeline.Pump();
  EXPECT_EQ(Stored(), delivered);
}

}  // namespace
}  // namespace lockstep::controller
