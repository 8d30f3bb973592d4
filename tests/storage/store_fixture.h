#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "common/ids.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {

// All files of a program that include this share one PostgreSQL.
inline Cluster* const cluster =
    static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

// A store, and a connection of its own by which tests see its tables.
class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    auto opened =
        PgStore::Open({cluster->server->conninfo(), cluster->server->reader_conninfo(), "test"});
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    epoch_ = *store_->AcquireEpoch("test");
    connection_ = *PgConnection::Open(cluster->server->conninfo());
  }

  // A run in its first phase, with two workers.
  v1::PhaseId Begin() {
    measure::RunRecord run;
    run.run_id = common::NewUuid();
    run.job.set_name("job 'with' \"quotes\"\t");
    run.job.add_phases()->mutable_run();
    (*run.job.mutable_labels())["a"] = "b\\c";
    run.owner = "me";
    run.seed = ~uint64_t{0};
    EXPECT_TRUE(store_->Enqueue(run).ok());
    std::vector<measure::RunWorker> workers(2);
    for (uint32_t i = 0; i < 2; ++i) {
      workers[i] = {i, common::NewUuid(), common::NewUuid(), "node" + std::to_string(i), "boot",
                    {}};
    }
    (*workers[0].inspection.mutable_facts())["vm.swappiness"] = "60";
    EXPECT_TRUE(store_->StartRun(run.run_id, workers).ok());
    measure::PhaseRecord phase;
    phase.name = "mix";
    phase.kind = "run";
    phase.interval_ns = 1000000000;
    v1::Workload workload;
    workload.set_name("w");
    EXPECT_TRUE(store_->BeginPhase(run.run_id, phase, {workload}, {0, 1}).ok());
    EXPECT_TRUE(store_
                    ->CommitGo(run.run_id, 0, 1, 123, int64_t{1800000000} * 1000000000,
                               {{0, 5, 6}, {1, 7, 8}})
                    .ok());
    v1::PhaseId id;
    id.set_run_id(run.run_id);
    id.set_attempt(1);
    return id;
  }

  static v1::DeliveryItem Interval(uint32_t number, const std::vector<uint64_t>& latencies) {
    v1::DeliveryItem item;
    v1::IntervalSample* sample = item.mutable_interval();
    sample->set_interval(number);
    sample->set_interval_class(v1::INTERVAL_CLASS_MEASURED);
    sample->set_begin_ns(number * 1000000000ll);
    sample->set_end_ns((number + 1) * 1000000000ll);
    *sample->add_workloads()->add_operations() = Counters(latencies);
    return item;
  }
  static v1::OperationCounters Counters(const std::vector<uint64_t>& latencies) {
    v1::OperationCounters c;
    c.set_kind(v1::OPERATION_KIND_READ);
    c.set_operations(latencies.size());
    c.set_bytes(latencies.size() * 4096);
    common::Histogram h;
    for (uint64_t value : latencies) h.Record(value);
    v1::Histogram* encoded = c.add_histograms();
    encoded->set_metric(v1::METRIC_SERVICE_TIME);
    encoded->set_scheme(common::kHistogramScheme);
    encoded->set_buckets(h.Encode());
    return c;
  }
  static IngestBatch Batch(const v1::PhaseId& phase, uint32_t worker, uint64_t first,
                           std::vector<v1::DeliveryItem> items) {
    return {phase, worker, first, std::move(items), int64_t{1800000000} * 1000000000};
  }
  int64_t Count(const std::string& table, const v1::PhaseId& phase) {
    return connection_
        ->Query("SELECT count(*) FROM " + table + " WHERE run_id = $1", {phase.run_id()})
        ->Int(0, "count");
  }

  std::unique_ptr<PgStore> store_;
  std::unique_ptr<PgConnection> connection_;
  uint64_t epoch_ = 0;
};

}  // namespace lockstep::storage
