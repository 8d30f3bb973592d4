// What storage/store.h promises to a controller and to the one that replaces it: on a real
// PostgreSQL, and on the store in memory that the simulation runs with.

#include <algorithm>
#include <functional>
#include <memory>

#include "common/histogram.h"
#include "common/ids.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/fakes/memory_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

std::unique_ptr<Store> OpenPostgres() {
  auto opened =
      PgStore::Open({cluster->server->conninfo(), cluster->server->reader_conninfo(), "test"});
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}
std::unique_ptr<Store> OpenMemory() {
  static MemoryDatabase* const database = new MemoryDatabase;
  return std::make_unique<MemoryStore>(database);
}

struct Kind {
  const char* name;
  std::unique_ptr<Store> (*open)();  // another controller's connection to the same database
};

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    store_ = GetParam().open();
    auto epoch = store_->AcquireEpoch("first");
    ASSERT_TRUE(epoch.ok()) << epoch.status();
    epoch_ = *epoch;
  }
  // Ends what it began: Active() lists the runs of all tests.
  void TearDown() override {
    store_->AcquireEpoch("last").IgnoreError();
    for (const std::string& id : begun_) {
      EXPECT_TRUE(store_->EndRun(id, {.state = measure::RunState::kDone}).ok());
      for (uint32_t i = 0; i < 3; ++i)
        EXPECT_TRUE(store_->ReleaseQuarantine(workers_[i].worker_id).ok());
    }
  }

  std::string Enqueue() {
    measure::RunRecord run;
    run.run_id = common::NewUuid();
    run.job.set_name("contract");
    run.job.add_phases()->mutable_run();
    run.owner = "me";
    run.seed = 7;
    EXPECT_TRUE(store_->Enqueue(run).ok());
    begun_.push_back(run.run_id);
    return run.run_id;
  }
  // A run with three workers.
  std::string Start() {
    const std::string id = Enqueue();
    workers_.clear();
    for (uint32_t i = 0; i < 3; ++i) {
      measure::RunWorker worker;
      worker.worker_index = i;
      worker.worker_id = common::NewUuid();
      worker.host_id = common::NewUuid();
      worker.host = "node" + std::to_string(i);
      worker.boot_id = "boot";
      worker.hello.set_worker_id(worker.worker_id);
      worker.inspection.add_targets()->add_paths("/dev/sd" + std::to_string(i));
      workers_.push_back(worker);
    }
    EXPECT_TRUE(store_->StartRun(id, workers_).ok());
    return id;
  }
  static measure::PhaseRecord Record(uint32_t phase, uint32_t attempt) {
    measure::PhaseRecord record;
    record.phase = phase;
    record.attempt = attempt;
    record.name = "mix" + std::to_string(phase);
    record.kind = "run";
    record.interval_ns = 1000000000;
    record.ramp_ns = 2000000000;
    record.spec.set_name(record.name);
    record.spec.mutable_run()->set_duration_ns(77);
    record.job_phase = phase + 3;
    record.step = phase + 1;
    return record;
  }
  absl::Status Begin(const std::string& run, uint32_t phase, uint32_t attempt,
                     const std::vector<uint32_t>& workers = {0, 1, 2}) {
    v1::Workload workload;
    workload.set_name("w");
    return store_->BeginPhase(run, Record(phase, attempt), {workload}, workers);
  }
  absl::Status Go(const std::string& run, uint32_t phase, uint32_t attempt) {
    return store_->CommitGo(run, phase, attempt, 123, kWall, {{0, 5, 6}, {1, 7, 8}, {2, 9, 10}});
  }
  static v1::PhaseFigures Figures(double iops) {
    v1::PhaseFigures figures;
    figures.set_iops(iops);
    return figures;
  }
  static v1::PhaseId Id(const std::string& run, uint32_t phase, uint32_t attempt) {
    v1::PhaseId id;
    id.set_run_id(run);
    id.set_phase(phase);
    id.set_attempt(attempt);
    return id;
  }
  static v1::DeliveryItem Interval(uint32_t number, const std::vector<uint64_t>& latencies) {
    v1::DeliveryItem item;
    v1::IntervalSample* sample = item.mutable_interval();
    sample->set_interval(number);
    sample->set_interval_class(v1::INTERVAL_CLASS_MEASURED);
    sample->set_begin_ns(number * 1000000000ll);
    sample->set_end_ns((number + 1) * 1000000000ll);
    v1::OperationCounters* c = sample->add_workloads()->add_operations();
    c->set_kind(v1::OPERATION_KIND_READ);
    c->set_operations(latencies.size());
    c->set_bytes(latencies.size() * 4096);
    common::Histogram h;
    for (uint64_t value : latencies) h.Record(value);
    v1::Histogram* encoded = c->add_histograms();
    encoded->set_metric(v1::METRIC_SERVICE_TIME);
    encoded->set_scheme(common::kHistogramScheme);
    encoded->set_buckets(h.Encode());
    return item;
  }
  static v1::DeliveryItem Result(uint32_t intervals, const std::string& error) {
    v1::DeliveryItem item;
    item.mutable_result()->set_intervals(intervals);
    item.mutable_result()->set_error(error);
    return item;
  }
  static IngestBatch Batch(const v1::PhaseId& phase, uint32_t worker, uint64_t first,
                           std::vector<v1::DeliveryItem> items) {
    return {phase, worker, first, std::move(items), kWall};
  }
  // What Active() says of a run; NOT_FOUND when it is not among them.
  absl::StatusOr<ActiveRun> Active(const std::string& run) {
    auto list = store_->Active();
    if (!list.ok()) return list.status();
    for (ActiveRun& active : *list) {
      if (active.run.run_id == run) return active;
    }
    return absl::NotFoundError("not active");
  }
  std::vector<Quarantine> Quarantines(const std::string& run) {
    std::vector<Quarantine> of_run;
    auto list = store_->Quarantines();
    EXPECT_TRUE(list.ok()) << list.status();
    for (Quarantine& held : *list) {
      if (held.run_id == run) of_run.push_back(held);
    }
    return of_run;
  }

  static constexpr int64_t kWall = int64_t{1800000000} * 1000000000;
  std::unique_ptr<Store> store_;
  uint64_t epoch_ = 0;
  std::vector<std::string> begun_;
  std::vector<measure::RunWorker> workers_;
};

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
  // What has ended, as it was planned and with what it measured: the next phase may depend on it.
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

TEST_P(StoreContract, BatchesContinueAtTheCursorOrNothingOfThemIsStored) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).ok());
  const auto refused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(
      store_
          ->Ingest({Batch(phase, 0, 1, {Interval(1, {1})}), Batch(phase, 1, 4, {Interval(4, {1})})})
          .code(),
      refused);
  EXPECT_EQ(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).code(), refused);
  // no such worker
  EXPECT_EQ(store_->Ingest({Batch(phase, 7, 0, {Interval(0, {1})})}).code(), refused);
  // no such phase
  EXPECT_EQ(store_->Ingest({Batch(Id(run, 3, 1), 0, 0, {Interval(0, {1})})}).code(), refused);
  EXPECT_EQ(*store_->Cursor(phase, 0), 1u);
  EXPECT_EQ(*store_->Cursor(phase, 1), 0u);
  EXPECT_EQ(store_->Cursor(phase, 7).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Cursor(Id(common::NewUuid(), 0, 1), 0).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(StoreContract, SamplesComeBackAsTheyWere) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  const v1::DeliveryItem first = Interval(0, {100, 200}), second = Interval(1, {300, 1u << 30});
  ASSERT_TRUE(store_->Ingest({Batch(phase, 1, 0, {first})}).ok());
  ASSERT_TRUE(store_->Ingest({Batch(phase, 1, 1, {second, Result(2, "")})}).ok());
  std::vector<std::pair<uint32_t, v1::IntervalSample>> samples;
  const auto take = [&](uint32_t worker, const v1::IntervalSample& sample) {
    samples.emplace_back(worker, sample);
    return absl::OkStatus();
  };
  ASSERT_TRUE(store_->ReadIntervals(phase, IntervalDetail::kLatencies, take).ok());
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].first, 1u);
  EXPECT_EQ(samples[0].second.SerializeAsString(), first.interval().SerializeAsString());
  EXPECT_EQ(samples[1].second.SerializeAsString(), second.interval().SerializeAsString());
}

TEST_P(StoreContract, IntervalsComeInTheirOrderAndOneErrorEndsThem) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  for (uint32_t worker : {1, 0}) {
    v1::DeliveryItem first = Interval(0, {100});
    first.mutable_interval()->mutable_host()->set_context_switches(7);
    first.mutable_interval()->add_devices()->set_name("sda");
    ASSERT_TRUE(store_->Ingest({Batch(phase, worker, 0, {first, Interval(1, {1})})}).ok());
  }
  std::vector<std::pair<uint32_t, uint32_t>> places;
  ASSERT_TRUE(store_
                  ->ReadIntervals(phase, IntervalDetail::kHosts,
                                  [&](uint32_t worker, const v1::IntervalSample& sample) {
                                    places.emplace_back(sample.interval(), worker);
                                    EXPECT_EQ(sample.devices_size(), sample.interval() == 0);
                                    EXPECT_EQ(sample.has_host(), sample.interval() == 0);
                                    const auto& c = sample.workloads(0).operations(0);
                                    EXPECT_EQ(c.operations(), 1u);
                                    EXPECT_TRUE(c.histograms().empty());
                                    return absl::OkStatus();
                                  })
                  .ok());
  EXPECT_EQ(places, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  int taken = 0;
  const absl::Status stopped = store_->ReadIntervals(phase, IntervalDetail::kLatencies,
                                                     [&](uint32_t, const v1::IntervalSample&) {
                                                       ++taken;
                                                       return absl::CancelledError("enough");
                                                     });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(taken, 1);
  // The store is as usable as before.
  EXPECT_EQ(*store_->Cursor(phase, 0), 2u);
}

TEST_P(StoreContract, WhatTheFleetKnowsOfBlocksComesByAttemptWithWhoWasLostInIt) {
  const std::string run = Start();
  const auto writes = [](uint64_t place, uint32_t block, const std::string& runs) {
    v1::DeliveryItem item;
    item.mutable_block_writes()->set_target_key(place);
    item.mutable_block_writes()->set_block_size_bytes(block);
    item.mutable_block_writes()->set_runs(runs);
    item.mutable_block_writes()->set_from_wall_ns(1'700'000'000'123'456'000);
    item.mutable_block_writes()->set_until_wall_ns(1'700'000'001'123'456'000);
    return item;
  };
  constexpr uint64_t kHere = 0xfedcba9876543210;
  const std::string binary("\x00\x01\xff\n\t\\", 6);
  for (const uint32_t attempt : {1u, 2u}) {
    const v1::PhaseId phase = Id(run, 0, attempt);
    ASSERT_TRUE(Begin(run, 0, attempt).ok());
    ASSERT_TRUE(Go(run, 0, attempt).ok());
    ASSERT_TRUE(
        store_
            ->Ingest(
                {Batch(phase, 0, 0,
                       {Interval(0, {1}), writes(kHere, 4096, binary + std::to_string(attempt)),
                        writes(kHere, 512, "other size"), writes(kHere, 0, ""), Result(1, "")}),
                 Batch(phase, 1, 0, {writes(kHere + 1, 4096, "elsewhere"), Result(0, "")})})
            .ok());
    if (attempt == 1) {
      ASSERT_TRUE(store_->EndPhase(run, 0, attempt, measure::PhaseState::kVoid, "", {}, {}).ok());
    }
  }
  std::vector<std::string> seen;
  v1::WriteLogPart last;
  const auto put = [&](const v1::WriteLogPart& part) {
    last = part;
    seen.push_back(part.has_unfinished() ? "lost " + std::to_string(part.unfinished())
                                         : part.writes().runs());
    if (part.has_writes()) {
      EXPECT_EQ(part.writes().target_key(), kHere);
      EXPECT_EQ(part.writes().block_size_bytes(), part.writes().runs().empty() ? 0u : 4096u);
    }
    return absl::OkStatus();
  };
  v1::WriteLogRequest what;
  what.set_run_id(run);
  what.add_target_keys(kHere);
  what.set_block_size_bytes(4096);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(Active(run)->block_items, (std::map<uint32_t, uint64_t>{{0, 3}, {1, 1}}));
  // Worker 2 has no result in the attempt that has ended; of the one in progress nothing is said.
  EXPECT_EQ(seen, (std::vector<std::string>{"", binary + "1", "lost 3", "", binary + "2"}));
  // Who, in which phase, and when.
  EXPECT_EQ(last.worker_index(), 0u);
  EXPECT_EQ(last.phase(), 0u);
  EXPECT_EQ(last.sequence(), 1u);
  EXPECT_EQ(last.writes().from_wall_ns(), 1'700'000'000'123'456'000);
  EXPECT_EQ(last.writes().until_wall_ns(), 1'700'000'001'123'456'000);
  // Of one attempt only what was not told before, and nothing of who was lost or what is void.
  seen.clear();
  *what.mutable_phase() = Id(run, 0, 2);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{binary + "2"}));
  seen.clear();
  v1::ReportedBy* told = what.add_told();
  told->set_items(2);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_TRUE(seen.empty());
  told->set_items(1);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen.size(), 1u);
  what.clear_phase();
  what.clear_told();
  what.set_target_keys(0, kHere + 7);
  seen.clear();
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"lost 3"}));
  what.set_target_keys(0, kHere);
  EXPECT_EQ(
      store_->ReadBlockWrites(what, [](const auto&) { return absl::CancelledError("enough"); })
          .code(),
      absl::StatusCode::kCancelled);
  EXPECT_TRUE(store_->EndRun(run, {.state = measure::RunState::kAborted, .degraded = true}).ok());
}

TEST_P(StoreContract, WhatALostWorkerMayStillWriteToIsHeldUntilItIsReleased) {
  const std::string run = Start();
  ASSERT_TRUE(store_->SetLost(run, 0, "silent", 0).ok());  // it had nothing
  ASSERT_TRUE(store_->SetLost(run, 1, "silent", 77).ok());
  ASSERT_EQ(Quarantines(run).size(), 1u);
  EXPECT_EQ(Quarantines(run)[0].worker_id, workers_[1].worker_id);
  EXPECT_EQ(Quarantines(run)[0].quarantine_ns, 77);
  EXPECT_EQ(Quarantines(run)[0].job.name(), "contract");
  EXPECT_EQ(Quarantines(run)[0].inspection.targets(0).paths(0), "/dev/sd1");
  // The end of the run changes nothing about it: the worker may be writing all the same.
  ASSERT_TRUE(store_->EndRun(run, {.state = measure::RunState::kAborted}).ok());
  EXPECT_EQ(Quarantines(run).size(), 1u);
  EXPECT_EQ(Active(run).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->ReleaseQuarantine(workers_[1].worker_id).ok());
  EXPECT_TRUE(Quarantines(run).empty());
}

TEST_P(StoreContract, AWorkerThatIsBackHoldsNothing) {
  const std::string run = Start();
  ASSERT_TRUE(store_->SetLost(run, 1, "silent", 77).ok());
  EXPECT_TRUE(Active(run)->workers[1].lost);
  ASSERT_TRUE(store_->SetBack(run, 1).ok());
  EXPECT_FALSE(Active(run)->workers[1].lost);
  EXPECT_TRUE(Quarantines(run).empty());
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

TEST_P(StoreContract, AHostsNameAndIdsBelongToItsCertificate) {
  const auto hello = [](const std::string& host, const std::string& certificate) {
    v1::Hello hello;
    hello.set_worker_id(common::NewUuid());
    hello.mutable_host()->set_host_id(common::NewUuid());
    hello.mutable_host()->set_name(host);
    hello.mutable_host()->set_boot_id("boot");
    hello.set_certificate(certificate);
    return hello;
  };
  const auto owner = [&](const std::string& host) {
    const auto owners = store_->WorkerOwners();
    EXPECT_TRUE(owners.ok()) << owners.status();
    const auto found = std::find_if(owners->begin(), owners->end(),
                                    [&](const WorkerOwner& o) { return o.host == host; });
    return found == owners->end() ? WorkerOwner() : *found;
  };
  const std::string name = "h" + common::NewUuid().substr(0, 8);
  const v1::Hello mine = hello(name, "w2");
  ASSERT_TRUE(store_->RegisterWorker(mine).ok());
  ASSERT_TRUE(store_->RegisterWorker(mine).ok()) << "again, as after a lost answer";
  EXPECT_EQ(owner(name).certificate, "w2");
  EXPECT_EQ(owner(name).host_id, mine.host().host_id());
  // Another certificate, under the name or with an id.
  EXPECT_EQ(store_->RegisterWorker(hello(name, "w1")).code(),
            absl::StatusCode::kFailedPrecondition);
  v1::Hello thief = hello(name + "x", "w1");
  thief.mutable_host()->set_host_id(mine.host().host_id());
  EXPECT_EQ(store_->RegisterWorker(thief).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(owner(name).worker_id, mine.worker_id()) << "and nothing was renamed";
  EXPECT_EQ(owner(name + "x").host, "");
  // New ids of the same certificate and name succeed the old ones, which are nobody's then.
  const v1::Hello fresh = hello(name, "w2");
  ASSERT_TRUE(store_->RegisterWorker(fresh).ok());
  EXPECT_EQ(owner(name).host_id, fresh.host().host_id());
  ASSERT_TRUE(store_->ForgetHost(name).ok());
  EXPECT_EQ(owner(name).host, "");
  EXPECT_TRUE(store_->RegisterWorker(hello(name, "w9")).ok());
  EXPECT_EQ(owner(name).certificate, "w9");
}

TEST_P(StoreContract, TheSecretIsMadeOnce) {
  const std::string fresh(32, 'a');
  const auto first = store_->Secret(fresh);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->size(), 32u);
  const auto other = GetParam().open();
  ASSERT_TRUE(other->AcquireEpoch("other").ok());
  const auto second = other->Secret(std::string(32, 'b'));
  EXPECT_EQ(second.ok() ? *second : std::string(second.status().message()), *first);
}

TEST_P(StoreContract, AStampCountsUntilItIsReleasedOrSucceeded) {
  constexpr int64_t kNow = int64_t{1800000000} * 1000000000;
  const std::string identity = "naa." + common::NewUuid();
  const auto stamp = [&](const std::string& host, int64_t at) {
    return measure::StampRecord{
        common::NewUuid(), identity, identity, host, "/dev/sda", "anna", at, "", 0};
  };
  const auto stamps = [&] {
    std::vector<measure::StampRecord> own;
    const auto all = store_->Stamps();
    EXPECT_TRUE(all.ok()) << all.status();
    std::copy_if(all->begin(), all->end(), std::back_inserter(own),
                 [&](const auto& s) { return s.identity == identity; });
    return own;
  };
  measure::StampRecord first = stamp("node1", kNow);
  measure::StampRecord other = stamp("node1", kNow + 1000);
  other.device_key += "-part1";
  ASSERT_TRUE(store_->AddStamps({first, other}).ok());
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other}));
  // Whatever host enrolled it anew.
  measure::StampRecord second = stamp("node2", kNow + 2000);
  second.enrolled_by = "bert \"b\"";
  ASSERT_TRUE(store_->AddStamps({second}).ok());
  ASSERT_TRUE(store_->AddStamps({second}).ok()) << "again, as after a lost answer";
  first.ended_by = second.enrolled_by;
  first.ended_ns = second.enrolled_ns;
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other, second}));
  ASSERT_TRUE(store_->EndStamps({second.number, first.number}, "carl", kNow + 3000).ok());
  ASSERT_TRUE(store_->EndStamps({second.number}, "dora", kNow + 4000).ok());
  ASSERT_TRUE(store_->EndStamps({}, "dora", kNow + 4000).ok());
  second.ended_by = "carl";
  second.ended_ns = kNow + 3000;
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other, second}));
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
                         testing::Values(Kind{"PostgreSQL", OpenPostgres},
                                         Kind{"Memory", OpenMemory}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::storage
