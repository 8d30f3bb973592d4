#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "common/ids.h"
#include "gtest/gtest.h"
#include "storage/store.h"

namespace lockstep::storage {

struct StoreKind {
  const char* name;
  std::unique_ptr<Store> (*open)();  // another controller's connection to the same database
};

// The promises of storage/store.h to a controller and to the one that replaces it: on a real
// PostgreSQL, and on the store in memory that the simulation runs with.
// The tests are in store_contract_*test.cc.
class StoreContract : public testing::TestWithParam<StoreKind> {
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
  // The entry of a run in Active(); NOT_FOUND when it is not among them.
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

}  // namespace lockstep::storage
