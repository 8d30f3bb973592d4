// The contract of the store: runs and their phases.

#include "tests/storage/store_contract.h"

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/ids.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/fakes/memory_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const contract_cluster =
    static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

std::unique_ptr<Store> OpenPostgres() {
  auto opened = PgStore::Open(
      {contract_cluster->server->conninfo(), contract_cluster->server->reader_conninfo(), "test"});
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}
std::unique_ptr<Store> OpenMemory() {
  static MemoryDatabase* const database = new MemoryDatabase;
  return std::make_unique<MemoryStore>(database);
}

TEST_P(StoreContract, EpochsOnlyGrowAndAnOlderOneChangesNothing) {
  const std::string run = Start();
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  auto newer = GetParam().open();
  const uint64_t epoch = *newer->AcquireEpoch("second");
  EXPECT_GT(epoch, epoch_);
  const auto aborted = absl::StatusCode::kAborted;
  EXPECT_EQ(store_->Enqueue(measure::RunRecord{.run_id = common::NewUuid()}).code(), aborted);
  EXPECT_EQ(store_->RegisterWorker(v1::Hello()).code(), aborted);
  EXPECT_EQ(store_->StartRun(run, workers_).code(), aborted);
  EXPECT_EQ(Begin(run, 0, 2).code(), aborted);
  EXPECT_EQ(Go(run, 0, 1).code(), aborted);
  EXPECT_EQ(store_->EndPhase(run, 0, 1, measure::PhaseState::kDone, "", {}, {}).code(), aborted);
  EXPECT_EQ(store_->SetLost(run, 0, "gone", 1).code(), aborted);
  EXPECT_EQ(store_->SetBack(run, 0).code(), aborted);
  EXPECT_EQ(store_->ReleaseQuarantine(workers_[0].worker_id).code(), aborted);
  EXPECT_EQ(store_->SetEnding(run, measure::RunState::kAborted, "", measure::Cleanup::kRun).code(),
            aborted);
  EXPECT_EQ(store_->EndRun(run, {.state = measure::RunState::kFailed}).code(), aborted);
  EXPECT_EQ(store_->AddEvent(run, measure::Severity::kInfo, "", "x", 0).code(), aborted);
  EXPECT_EQ(store_->Ingest({Batch(Id(run, 0, 1), 0, 0, {Interval(0, {1})})}).code(), aborted);
  // Nothing of it was done, and the newer one goes on.
  EXPECT_EQ(*newer->Cursor(Id(run, 0, 1), 0), 0u);
  EXPECT_EQ(newer->GetRun(run)->state, measure::RunState::kRunning);
  EXPECT_TRUE(newer->Ingest({Batch(Id(run, 0, 1), 0, 0, {Interval(0, {1})})}).ok());
}

TEST_P(StoreContract, ASuccessorFindsARunAsItWasLeft) {
  const std::string run = Start();
  {
    auto active = Active(run);
    ASSERT_TRUE(active.ok()) << active.status();
    EXPECT_EQ(active->phase.state, measure::PhaseState::kNone);
    EXPECT_EQ(active->run.job.name(), "contract");
    EXPECT_EQ(active->run.seed, 7u);
  }
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  EXPECT_EQ(Active(run)->phase.state, measure::PhaseState::kArming);
  EXPECT_EQ(Active(run)->cursors, (std::map<uint32_t, uint64_t>{{0, 0}, {1, 0}, {2, 0}}));
  ASSERT_TRUE(Go(run, 0, 1).ok());
  v1::DeliveryItem result = Result(2, "a disk is full");
  result.mutable_result()->mutable_order()->set_kind(v1::StopOrder::KIND_CANCEL);
  result.mutable_result()->mutable_order()->set_reason("stopped by anna");
  v1::LeftContent* left_content = result.mutable_result()->add_left_contents();
  left_content->set_target(5);
  left_content->set_fingerprint(std::string("\0\xff", 2));
  ASSERT_TRUE(
      store_
          ->Ingest({Batch(Id(run, 0, 1), 0, 0, {Interval(0, {1}), Interval(1, {2}), result}),
                    Batch(Id(run, 0, 1), 1, 0, {Interval(0, {3})})})
          .ok());
  ASSERT_TRUE(store_->SetLost(run, 2, "silent", 0).ok());
  auto successor = GetParam().open();
  ASSERT_TRUE(successor->AcquireEpoch("second").ok());
  store_ = std::move(successor);
  auto active = Active(run);
  ASSERT_TRUE(active.ok()) << active.status();
  EXPECT_EQ(active->phase.phase, 0u);
  EXPECT_EQ(active->phase.attempt, 1u);
  EXPECT_EQ(active->phase.name, "mix0");
  EXPECT_EQ(active->phase.kind, "run");
  EXPECT_EQ(active->phase.state, measure::PhaseState::kRunning);
  EXPECT_EQ(active->phase.interval_ns, 1000000000);
  EXPECT_EQ(active->phase.ramp_ns, 2000000000);
  EXPECT_EQ(active->phase.go_ns, 123);
  EXPECT_EQ(active->go_wall_ns, kWall);
  EXPECT_EQ(active->cursors, (std::map<uint32_t, uint64_t>{{0, 3}, {1, 1}, {2, 0}}));
  EXPECT_EQ(active->results, (std::map<uint32_t, std::string>{{0, "a disk is full"}}));
  ASSERT_EQ(active->orders.size(), 1u);
  EXPECT_EQ(active->orders[0].kind(), v1::StopOrder::KIND_CANCEL);
  EXPECT_EQ(active->orders[0].reason(), "stopped by anna");
  EXPECT_EQ(active->started, (std::set<std::pair<uint32_t, uint32_t>>{{0, 1}}));
  ASSERT_EQ(active->left_contents.size(), 1u);
  const auto& left = active->left_contents.at({0, 1});
  ASSERT_EQ(left.size(), 1u);
  ASSERT_EQ(left.at(0).left_contents_size(), 1);
  EXPECT_EQ(left.at(0).left_contents(0).target(), 5u);
  EXPECT_EQ(left.at(0).left_contents(0).fingerprint(), std::string("\0\xff", 2));
  std::map<uint32_t, std::pair<int64_t, int64_t>> clocks;
  for (const measure::WorkerClock& clock : active->clocks) {
    clocks[clock.worker_index] = {clock.offset_ns, clock.bound_ns};
  }
  EXPECT_EQ(clocks, (std::map<uint32_t, std::pair<int64_t, int64_t>>{
                        {0, {5, 6}}, {1, {7, 8}}, {2, {9, 10}}}));
  ASSERT_EQ(active->workers.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(active->workers[i].worker_index, i);
    EXPECT_EQ(active->workers[i].worker_id, workers_[i].worker_id);
    EXPECT_EQ(active->workers[i].host_id, workers_[i].host_id);
    EXPECT_EQ(active->workers[i].host, workers_[i].host);
    EXPECT_EQ(active->workers[i].hello.worker_id(), workers_[i].worker_id);
    EXPECT_EQ(active->workers[i].inspection.targets(0).paths(0), "/dev/sd" + std::to_string(i));
    EXPECT_EQ(active->workers[i].lost, i == 2);
  }
  EXPECT_EQ(active->ending_state, std::nullopt);
}

TEST_P(StoreContract, TheLastAttemptOfTheLastPhaseIsTheOneToGoOnWith) {
  const std::string run = Start();
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  ASSERT_TRUE(
      store_->EndPhase(run, 0, 1, measure::PhaseState::kDone, "", {}, Figures(1234.5)).ok());
  ASSERT_TRUE(Begin(run, 1, 1).ok());
  ASSERT_TRUE(Go(run, 1, 1).ok());
  ASSERT_TRUE(
      store_->EndPhase(run, 1, 1, measure::PhaseState::kVoid, "node2 was lost", {}, Figures(99))
          .ok());
  EXPECT_EQ(Active(run)->phase.state, measure::PhaseState::kVoid);
  EXPECT_EQ(Active(run)->phase.reason, "node2 was lost");
  ASSERT_TRUE(Begin(run, 1, 2, {0, 1}).ok());
  const auto active = Active(run);
  EXPECT_EQ(active->phase.phase, 1u);
  EXPECT_EQ(active->phase.attempt, 2u);
  EXPECT_EQ(active->cursors, (std::map<uint32_t, uint64_t>{{0, 0}, {1, 0}}));
  // The phases that have ended, as planned and with their results: the next one may depend on them.
  ASSERT_EQ(active->ended.size(), 1u);
  EXPECT_EQ(active->ended[0].name, "mix0");
  EXPECT_EQ(active->ended[0].state, measure::PhaseState::kDone);
  EXPECT_DOUBLE_EQ(active->ended[0].figures.iops(), 1234.5);
  EXPECT_EQ(active->ended[0].job_phase, 3u);
  EXPECT_EQ(active->phase.spec.name(), "mix1");
  EXPECT_EQ(active->phase.step, 2u);
  EXPECT_EQ(active->phase.spec.run().duration_ns(), 77);
}

TEST_P(StoreContract, TheLastEndOfLoadStands) {
  const std::string run = Start();
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  EXPECT_FALSE(Active(run)->phase.end_of_load.has_value());
  ASSERT_TRUE(store_->CommitEndOfLoad(run, 0, 1, 12).ok());
  ASSERT_TRUE(store_->CommitEndOfLoad(run, 0, 1, 14).ok());
  EXPECT_EQ(Active(run)->phase.end_of_load, 14u);
}

// A second submission of the job is told from one of another job by it.
TEST_P(StoreContract, AJobIsReadAsItWasStored) {
  measure::RunRecord run;
  run.run_id = common::NewUuid();
  run.source = "name: \"odd\"\n# \xc3\xa4\t'\n";
  run.job.set_name("odd");
  (*run.job.mutable_labels())["kernel"] = "6.1 \"lts\"";
  (*run.job.mutable_labels())["empty"] = "";
  v1::RunPhase* phase = run.job.add_phases()->mutable_run();
  phase->set_duration_ns(std::numeric_limits<int64_t>::max());
  for (const double rate : {0.1, 1e-7, 1e15 + 1, 4503599627370497.5}) {
    phase->add_workloads()->mutable_open_loop()->set_rate_per_second(rate);
  }
  ASSERT_TRUE(store_->Enqueue(run).ok());
  const auto stored = store_->GetRun(run.run_id);
  EXPECT_TRUE(store_->EndRun(run.run_id, {.state = measure::RunState::kCancelled}).ok());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->source, run.source);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(stored->job, run.job))
      << stored->job.DebugString();
}

TEST_P(StoreContract, DoneTwiceIsAsDoneOnce) {
  const std::string run = Enqueue();
  measure::RunRecord again;
  again.run_id = run;
  again.job.set_name("contract");
  EXPECT_TRUE(store_->Enqueue(again).ok());
  size_t queued = 0;
  const auto queue = store_->Queue();
  ASSERT_TRUE(queue.ok()) << queue.status();
  for (const measure::RunRecord& record : *queue) queued += record.run_id == run ? 1u : 0u;
  EXPECT_EQ(queued, 1u);
  EXPECT_EQ(store_->GetRun(run)->seed, 7u);  // of the first
  begun_.clear();
  const std::string started = Start();
  EXPECT_TRUE(store_->StartRun(started, workers_).ok());
  EXPECT_EQ(Active(started)->workers.size(), 3u);
  ASSERT_TRUE(Begin(started, 0, 1).ok());
  ASSERT_TRUE(Go(started, 0, 1).ok());
  ASSERT_TRUE(store_->Ingest({Batch(Id(started, 0, 1), 0, 0, {Interval(0, {1})})}).ok());
  // The first answer was lost: the phase goes on where it is.
  EXPECT_TRUE(Begin(started, 0, 1).ok());
  EXPECT_EQ(*store_->Cursor(Id(started, 0, 1), 0), 1u);
  EXPECT_EQ(Active(started)->phase.state, measure::PhaseState::kRunning);
  EXPECT_TRUE(Go(started, 0, 1).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(store_->EndPhase(started, 0, 1, measure::PhaseState::kDone, "", {}, {}).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(store_->SetLost(started, 0, "silent", 5).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(store_->SetBack(started, 0).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(
        store_->SetEnding(started, measure::RunState::kAborted, "why", measure::Cleanup::kSkip)
            .ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(
        store_
            ->EndRun(started,
                     {.state = measure::RunState::kAborted, .outcome = "why", .degraded = true})
            .ok());
  EXPECT_EQ(store_->GetRun(started)->state, measure::RunState::kAborted);
  EXPECT_TRUE(store_->EndRun(run, {.state = measure::RunState::kCancelled}).ok());
}

TEST_P(StoreContract, HowARunWillEndIsKnownToASuccessor) {
  const std::string run = Start();
  ASSERT_TRUE(store_
                  ->SetEnding(run, measure::RunState::kCancelled, "stopped by anna",
                              measure::Cleanup::kSkip)
                  .ok());
  EXPECT_EQ(Active(run)->ending_state, measure::RunState::kCancelled);
  EXPECT_EQ(Active(run)->ending_reason, "stopped by anna");
  EXPECT_TRUE(Active(run)->skip_cleanup);
}

TEST_P(StoreContract, WhatIsNotThereIsSaidToBeNotThere) {
  EXPECT_EQ(store_->GetRun(common::NewUuid()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ResolveRun(common::NewUuid()).status().code(), absl::StatusCode::kNotFound);
  const std::string run = Start();
  EXPECT_EQ(*store_->ResolveRun(run), run);
  ASSERT_TRUE(store_->EndRun(run, {.state = measure::RunState::kDone, .degraded = true}).ok());
  EXPECT_FALSE(store_->StartRun(run, workers_).ok());  // it has ended
  EXPECT_TRUE(store_->GetRun(run)->degraded);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         testing::Values(StoreKind{"PostgreSQL", OpenPostgres},
                                         StoreKind{"Memory", OpenMemory}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::storage
