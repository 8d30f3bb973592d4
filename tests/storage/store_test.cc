// The store on a real, private PostgreSQL.

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/histogram.h"
#include "common/ids.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "storage/conninfo.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

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

TEST_F(StoreTest, WhatGoesInComesOut) {
  const v1::PhaseId phase = Begin();
  v1::DeliveryItem result;
  result.mutable_result()->set_go_ns(77);
  result.mutable_result()->add_threads()->set_operations(5);
  v1::WorkloadResult* workload = result.mutable_result()->add_workloads();
  workload->set_engine("io_uring");
  *workload->add_measured() = Counters({100, 200, 300, 1u << 30});
  v1::DeliveryItem first = Interval(0, {100, 200});
  v1::DeviceSample* device = first.mutable_interval()->add_devices();
  device->set_name("sda");
  device->set_reads(9);
  device->set_nested(true);
  first.mutable_interval()->mutable_host()->set_context_switches(11);
  v1::InterfaceSample* interface = first.mutable_interval()->add_interfaces();
  interface->set_name("eth0");
  interface->set_sent_bytes(12);
  interface->set_send_speed_bits_per_second(16000000);
  v1::NfsSample* nfs = first.mutable_interval()->add_nfs();
  nfs->set_mount("/mnt/my nas");
  nfs->set_operation("READ");
  nfs->set_round_trip_ms(13);
  ASSERT_TRUE(
      store_->Ingest({Batch(phase, 0, 0, {first, Interval(1, {300, 1u << 30}), result})}).ok());
  EXPECT_EQ(*store_->Cursor(phase, 0), 3u);
  const auto data = store_->LoadRun(phase.run_id());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->run.job.name(), "job 'with' \"quotes\"\t");
  EXPECT_EQ(data->run.seed, ~uint64_t{0});
  EXPECT_EQ(data->environment.at("node0 vm.swappiness"), "60");
  const measure::WorkerPhaseData& worker = data->phases.at(0).workers.at(0);
  EXPECT_TRUE(worker.has_result);
  EXPECT_EQ(worker.clock.offset_ns, 5);
  EXPECT_EQ(worker.result.go_ns(), 77);
  EXPECT_EQ(worker.result.threads(0).operations(), 5u);
  EXPECT_EQ(worker.result.workloads(0).engine(), "io_uring");
  EXPECT_EQ(worker.result.workloads(0).measured(0).histograms(0).buckets(),
            workload->measured(0).histograms(0).buckets());
  std::vector<v1::IntervalSample> intervals;
  ASSERT_TRUE(store_
                  ->ReadIntervals(phase, IntervalDetail::kHosts,
                                  [&](uint32_t, const v1::IntervalSample& sample) {
                                    intervals.push_back(sample);
                                    return absl::OkStatus();
                                  })
                  .ok());
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0].devices(0).reads(), 9u);
  EXPECT_TRUE(intervals[0].devices(0).nested());
  EXPECT_EQ(intervals[0].host().context_switches(), 11u);
  ASSERT_EQ(intervals[0].interfaces_size(), 1);
  EXPECT_EQ(intervals[0].interfaces(0).DebugString(), interface->DebugString());
  ASSERT_EQ(intervals[0].nfs_size(), 1);
  EXPECT_EQ(intervals[0].nfs(0).DebugString(), nfs->DebugString());
  EXPECT_FALSE(data->phases.at(0).workers.at(1).has_result);
}

// The partitions that were made at the start end; a run may go on.
TEST_F(StoreTest, ARunThatOutlivesTheMonthsAheadIsStored) {
  const v1::PhaseId phase = Begin();
  IngestBatch late = Batch(phase, 0, 0, {Interval(0, {100, 200})});
  late.go_wall_ns += int64_t{200} * 86400 * 1000000000;
  ASSERT_TRUE(store_->Ingest({late}).ok());
  EXPECT_EQ(Count("interval_operations", phase), 1);
}

TEST_F(StoreTest, ACursorElsewhereRollsEverythingBack) {
  const v1::PhaseId phase = Begin();
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).ok());
  const int64_t before = Count("interval_operations", phase);
  // One worker's batch is right, the other's leaves a gap: neither is stored.
  const absl::Status gap = store_->Ingest(
      {Batch(phase, 0, 1, {Interval(1, {1})}), Batch(phase, 1, 4, {Interval(4, {1})})});
  EXPECT_EQ(gap.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).ok());  // again
  EXPECT_EQ(Count("interval_operations", phase), before);
  EXPECT_EQ(*store_->Cursor(phase, 0), 1u);
}

TEST_F(StoreTest, AReplacedControllerStoresNothingMore) {
  const v1::PhaseId phase = Begin();
  auto old =
      *PgStore::Open({cluster->server->conninfo(), cluster->server->reader_conninfo(), "old"});
  const uint64_t before = *old->AcquireEpoch("old");
  const uint64_t newer = *store_->AcquireEpoch("another");
  EXPECT_GT(newer, before);
  EXPECT_EQ(old->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(Count("interval_operations", phase), 0);
  // Nor does it change anything else.
  EXPECT_EQ(old->EndRun(phase.run_id(), {.state = measure::RunState::kFailed}).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(old->AddEvent(phase.run_id(), measure::Severity::kInfo, "", "", 0).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(store_->GetRun(phase.run_id())->state,
            measure::RunState::kRunning);  // the newer one goes on with it
}

TEST_F(StoreTest, ATimelineComesBackAsItWasMerged) {
  const v1::PhaseId id = Begin();
  EXPECT_EQ(store_->FleetTimeline(id).status().code(), absl::StatusCode::kNotFound);
  measure::Timeline timeline;
  for (uint32_t k = 0; k < 3; ++k) {
    measure::MergedInterval merged;
    merged.interval = k;
    merged.interval_class = v1::INTERVAL_CLASS_MEASURED;
    merged.end_seconds = k + 1;
    for (uint32_t worker = 0; worker < (k == 1 ? 1 : 2); ++worker) {
      merged.workers[worker] = {double(k), 1, uint64_t{100} * (worker + 1), 0, 0, 0, 5e6};
    }
    measure::OperationCounts counts;
    counts.operations = 100;
    counts.bytes = 409600;
    counts.errors = k;
    counts.latency_sum_ns = 100000;
    counts.latency_max_ns = 2000000;
    merged.kinds = {{v1::OPERATION_KIND_READ, counts}, {v1::OPERATION_KIND_FSYNC, counts}};
    merged.latencies = {{common::BucketOf(1000), 99}, {common::BucketOf(2000000), 1}};
    merged.kind_latencies = {{{0, v1::OPERATION_KIND_READ}, {{k, 100}}}};
    merged.devices = {10, 40960, 5, 20, 500, 1};
    timeline.Add(merged);
  }
  ASSERT_TRUE(store_->SaveTimeline(id, timeline).ok());
  ASSERT_TRUE(store_->SaveTimeline(id, timeline).ok()) << "it replaces what was there";
  const auto points = store_->FleetTimeline(id);
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 3u);
  const measure::FleetPoint& point = (*points)[2];
  EXPECT_EQ(point.begin_ns, 2000000000);
  EXPECT_EQ(point.end_ns, 3000000000);
  EXPECT_EQ(point.hosts, 2u);
  EXPECT_EQ(point.latencies, timeline.points()[2].latencies);
  EXPECT_EQ(point.kinds.at(v1::OPERATION_KIND_READ).errors, 2u);
  EXPECT_EQ(point.kinds.at(v1::OPERATION_KIND_FSYNC).operations, 100u);
  EXPECT_DOUBLE_EQ(point.host_iops[4], 200);
  EXPECT_DOUBLE_EQ(point.devices.busy_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(point.devices.await_ns(), 500000);
  const auto hosts = store_->HostTimeline(id);
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->spans.size(), 3u);
  EXPECT_FLOAT_EQ(hosts->lines.at(1).iops[2], 200);
  EXPECT_TRUE(std::isnan(hosts->lines.at(1).iops[1]));
  EXPECT_FLOAT_EQ(hosts->lines.at(0).p99_ns[0], 5e6);
  const auto run = store_->LoadRun(id.run_id());
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->phases.at(0).blocks.size(), 3u);
  const auto latencies = common::DecodeBuckets(run->phases[0].blocks[2].begin()->second);
  ASSERT_TRUE(latencies.ok());
  EXPECT_EQ(*latencies, timeline.blocks()[2].latencies.begin()->second);
  // SQL says the same.
  const auto rows = connection_->Query(
      "SELECT iops, round(p99_ms::numeric, 4) AS p99_ms, max_ms, min_host_iops, busy_ratio, "
      "request_bytes, "
      "abs(hist_percentile(latencies, 99) - p99_ms * 1e6) < 1 AS near FROM fleet_timeline WHERE "
      "run_id = "
      "$1 AND interval = 2",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  std::string row;
  for (const char* column :
       {"iops", "p99_ms", "max_ms", "min_host_iops", "busy_ratio", "request_bytes", "near"}) {
    row += rows->Text(0, column) + "|";
  }
  EXPECT_EQ(row, "100|0.0010|2|100|0.5|4096|t|");
}

// 30 seconds of a worker, the first two of them ramp, and what devices and kernels did in each.
std::vector<v1::DeliveryItem> ThirtySeconds() {
  std::vector<v1::DeliveryItem> items;
  for (uint32_t k = 0; k < 30; ++k) {
    v1::IntervalSample* sample = items.emplace_back().mutable_interval();
    sample->set_interval(k);
    sample->set_interval_class(k < 2 ? v1::INTERVAL_CLASS_RAMP : v1::INTERVAL_CLASS_MEASURED);
    sample->set_begin_ns(k * 1000000000ll);
    sample->set_end_ns((k + 1) * 1000000000ll);
    sample->add_workloads();
    v1::DeviceSample* device = sample->add_devices();
    device->set_name("sda");
    device->set_reads(100 + k);
    device->set_read_bytes((100 + k) * uint64_t{4096});
    device->set_read_time_ms(50);
    device->set_discards(1);
    device->set_discard_bytes(1 << 20);
    device->set_flush_time_ms(9);
    device->set_flushes(2);
    device->set_busy_time_ms(1500);
    v1::HostSample* host = sample->mutable_host();
    host->set_interrupts(3000);
    host->set_user_ratio(k < 20 ? 0.25 : 0);
    host->set_idle_ratio(k < 20 ? 0.75 : 0);
    host->set_dirty_bytes(uint64_t{k} << 20);
    if (k < 20) host->set_writeback_bytes(1 << 20);
    host->set_swap_in_pages(1);
    host->set_page_bytes(65536);
    v1::InterfaceSample* interface = sample->add_interfaces();
    interface->set_name("eth0");
    interface->set_sent_bytes(1000000);
    interface->set_sent_drops(k);
    interface->set_send_speed_bits_per_second(16000000);
    if (k < 20) interface->set_receive_speed_bits_per_second(16000000);
    if (k % 2 == 1) continue;
    v1::NfsSample* nfs = sample->add_nfs();
    nfs->set_mount("/mnt");
    nfs->set_operation("READ");
    nfs->set_operations(10);
    nfs->set_transmissions(11);
    nfs->set_round_trip_ms(50);
    nfs->set_execution_ms(60);
  }
  return items;
}

TEST_F(StoreTest, MemoryThatWasNotSampledStaysUnknown) {
  const v1::PhaseId phase = Begin();
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, ThirtySeconds())}).ok());
  std::vector<v1::HostSample> hosts;
  ASSERT_TRUE(store_
                  ->ReadIntervals(phase, IntervalDetail::kHosts,
                                  [&](uint32_t, const v1::IntervalSample& sample) {
                                    hosts.push_back(sample.host());
                                    return absl::OkStatus();
                                  })
                  .ok());
  ASSERT_EQ(hosts.size(), 30u);
  EXPECT_EQ(hosts[0].writeback_bytes(), 1u << 20);
  EXPECT_EQ(hosts[3].dirty_bytes(), 3u << 20);
  EXPECT_TRUE(hosts[0].has_dirty_bytes()) << "0 is a figure";
  EXPECT_FALSE(hosts[0].has_free_bytes());
  EXPECT_FALSE(hosts[0].has_cached_bytes());
  EXPECT_EQ(hosts[0].page_bytes(), 65536u);
  EXPECT_FALSE(hosts[20].has_writeback_bytes());
  EXPECT_FALSE(hosts[0].has_swap_used_bytes());
  EXPECT_FALSE(hosts[0].has_block_in_bytes());
}

TEST_F(StoreTest, PrunedSamplesLeaveRowsOfTenSeconds) {
  const v1::PhaseId phase = Begin();
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, ThirtySeconds())}).ok());
  ASSERT_TRUE(store_->EndPhase(phase.run_id(), 0, 1, measure::PhaseState::kDone, "", {}, {}).ok());
  ASSERT_TRUE(store_->EndRun(phase.run_id(), {.state = measure::RunState::kDone}).ok());
  ASSERT_TRUE(store_->SaveReport(phase.run_id(), v1::Report()).ok());
  v1::LabelsRequest label;
  (*label.mutable_set())["to"] = "prune";
  ASSERT_TRUE(store_->SetLabels(phase.run_id(), label).ok());
  const auto read = [&](const std::string& sql) {
    auto rows = connection_->Query("SELECT (" + sql + ")::text AS text", {phase.run_id()});
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? rows->Text(0, "text") : "";
  };
  const auto devices = [&](const std::string& what) {
    return read("SELECT " + what + " FROM device_timeline WHERE run_id = $1");
  };
  const auto kernels = [&](const std::string& what) {
    return read("SELECT " + what + " FROM kernel_timeline WHERE run_id = $1");
  };
  const auto network = [&](const std::string& what, const std::string& view) {
    return read("SELECT string_agg(concat_ws('|', interval, intervals, " + what +
                "), ' ' ORDER BY interval) FROM " + view + " WHERE run_id = $1 AND interval < 40");
  };
  EXPECT_TRUE(
      absl::StartsWith(network("txutil, round(txmib_s::numeric, 3), txdrop_s", "network_timeline"),
                       "0|1|50|0.954|0 1|1|50|0.954|1 "));
  EXPECT_TRUE(absl::StartsWith(network("ops_s, rtt, exe, retrans", "nfs_timeline"),
                               "0|1|10|5|6|1 2|1|10|5|6|1 "));
  const std::string sums =
      "concat_ws('|', sum(reads), sum(read_bytes), sum(discard_bytes), sum(flush_time_ms), "
      "sum(seconds), sum(intervals), sum(intervals) FILTER (WHERE class = 'ramp'))";
  const std::string before = devices(sums);
  const std::string statistics = read("SELECT s::text FROM device_statistics s WHERE run_id = $1");
  EXPECT_EQ(before, "3435|14069760|31457280|270|30|30|2");
  EXPECT_EQ(devices("count(*)"), "30");
  EXPECT_EQ(kernels("count(writeback)"), "20");

  v1::PruneRequest request;
  request.set_samples_only(true);
  (*request.mutable_filter()->mutable_labels())["to"] = "prune";
  const auto pruned =
      store_->Prune(request, [](const std::string& run_id) -> absl::StatusOr<v1::Report> {
        v1::Report report;
        report.mutable_run()->set_run_id(run_id);
        return report;
      });
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->runs(), 1);
  EXPECT_EQ(Count("device_samples", phase) + Count("host_samples", phase) +
                Count("interface_samples", phase) + Count("nfs_samples", phase),
            0);
  EXPECT_EQ(network("txutil, sent_drops, receive_speed_bits_per_second", "network_timeline"),
            "0|2|50|1|16000000 2|8|50|44|16000000 10|10|50|145|16000000 20|10|50|245");
  EXPECT_EQ(network("operations, rtt, exe, retrans", "nfs_timeline"),
            "0|1|10|5|6|1 2|4|40|5|6|4 10|5|50|5|6|5 20|5|50|5|6|5");
  // The ramp, the rest of its ten seconds, and two times ten.
  EXPECT_EQ(devices("string_agg(concat_ws('+', interval, intervals), ' ' ORDER BY interval)"),
            "0+2 2+8 10+10 20+10");
  EXPECT_EQ(devices(sums), before);
  EXPECT_EQ(read("SELECT s::text FROM device_statistics s WHERE run_id = $1"), statistics);
  EXPECT_EQ(devices("concat_ws('|', max(r_s), max(util), max(dmib_s), max(f_await))"),
            "124.5|100|1|4.5");
  EXPECT_EQ(kernels("string_agg(concat_ws('|', \"in\", us, dirty, dirty_max, si, writeback), ' ' "
                    "ORDER BY interval)"),
            "3000|25|512|1024|64|1024 3000|25|5632|9216|64|1024 3000|25|14848|19456|64|1024 "
            "3000|25088|29696|64");
}

// What PostgreSQL would do to answer this, where it reads no table whole that has an index.
std::string PlanOf(PgConnection* connection, const std::string& query) {
  EXPECT_TRUE(connection->Execute("SET enable_seqscan = off; SET enable_bitmapscan = off").ok());
  const auto rows = connection->Query("EXPLAIN (COSTS OFF) " + query);
  EXPECT_TRUE(rows.ok()) << query << ": " << rows.status();
  std::string plan;
  for (int i = 0; rows.ok() && i < rows->rows(); ++i) {
    plan += rows->Text(i, "QUERY PLAN") + "\n";
  }
  return plan;
}

TEST_F(StoreTest, ViewsFindAPhaseByTheIndexOfItsSamples) {
  const v1::PhaseId phase = Begin();
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, ThirtySeconds())}).ok());
  for (const char* view :
       {"device_timeline", "kernel_timeline", "network_timeline", "nfs_timeline", "device_paths",
        "host_timeline", "interval_latency", "measured_seconds"}) {
    const std::string plan =
        PlanOf(connection_.get(), absl::StrCat("SELECT * FROM ", view, " WHERE run_id = '",
                                               phase.run_id(), "' AND phase = 0"));
    // A converted column has no index.
    EXPECT_FALSE(absl::StrContains(plan, "(phase)::integer")) << view << ":\n" << plan;
    EXPECT_TRUE(absl::StrContains(plan, "_run_id_phase_attempt_idx")) << view << ":\n" << plan;
  }
}

TEST_F(StoreTest, PercentilesOfFleetsHaveAnIndexWithoutThoseOfHosts) {
  const std::string plan =
      PlanOf(connection_.get(),
             "SELECT * FROM percentile_figures WHERE worker_index IS NULL AND run_id = '" +
                 common::NewUuid() + "' AND phase = 0");
  EXPECT_TRUE(absl::StrContains(plan, "percentile_figures_of_fleets")) << plan;
}

TEST_F(StoreTest, WhatAReportConcludesIsInRows) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_p99_spread_median(1.5);
  phase->set_p99_spread_worst(3);
  v1::Straggler* straggler = phase->add_stragglers();
  straggler->set_host("node1");
  straggler->set_share(0.5);
  straggler->set_begin_seconds(2);
  straggler->set_end_seconds(8);
  straggler->set_slow_seconds(5);
  straggler->set_cause("device");
  straggler->set_reason("its requests\ttook \"longer\"");
  v1::Starvation* starvation = phase->add_starvations();
  starvation->set_host("node0");
  starvation->set_end_seconds(3);
  starvation->set_iops(4);
  starvation->set_others_iops(400);
  v1::DeviceReport* device = phase->add_devices();
  device->add_hosts("node0");
  device->add_hosts("node1");
  device->set_name("sda");
  device->mutable_cross_check()->set_verdict(v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  v1::Finding* finding = device->add_findings();
  finding->set_kind("split");
  finding->set_sentence("in halves");
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  // Again: they replace what was there.
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  auto rows = connection_->Query(
      "SELECT string_agg(concat_ws('|', kind, array_to_string(hosts, '+'), device, begin_seconds, "
      "end_seconds, seconds, share, cause, sentence), E'\n' ORDER BY finding) AS list FROM "
      "findings "
      "WHERE run_id = $1",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "list"),
            "straggler|node1||2|8|5|0.5|device|its requests\ttook \"longer\"\n"
            "starvation|node0||0|3|3|0.01||4 IOPS where the others' median was 400\n"
            // Engines that moved nothing have no factor.
            "not attributable|node0+node1|sda||\n"
            "split|node0+node1|sda||in halves");
  rows = connection_->Query(
      "SELECT p99_spread_median, p99_spread_worst FROM phase_verdicts WHERE run_id = $1",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "p99_spread_median") + "|" + rows->Text(0, "p99_spread_worst"), "1.5|3");
}

TEST_F(StoreTest, PercentilesOfHostsAndMetricsAreRows) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  v1::WorkloadReport* workload = phase->add_workloads();
  workload->set_name("w");
  const auto add = [](double percent, double ms, const char* metric, v1::OperationReport* o) {
    o->set_kind("read");
    o->set_metric(metric);
    v1::Percentile* p = o->add_percentiles();
    p->set_percent(percent);
    p->set_above(7);
    p->set_latency_ns(ms * 1e6);
    p->set_low_ns(ms * 1e6 - 5e5);
    if (percent < 99) p->set_high_ns(ms * 1e6 + 5e5);
  };
  add(50, 10, "response_time", workload->add_operations());
  add(50, 8, "service_time", workload->add_service_times());
  add(50, 1, "submission_latency", workload->add_submission_latencies());
  v1::HostReport* host = phase->add_hosts();
  host->set_worker_index(1);
  host->set_host("node1");
  v1::HostWorkloadReport* part = host->add_workloads();
  part->set_name("w");
  add(99, 12, "response_time", part->add_operations());
  v1::HostReport* lost = phase->add_hosts();
  lost->set_host("node0");
  lost->set_lost(true);
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok()) << "it replaces what was there";
  const auto list = [&](const std::string& columns, const std::string& view) {
    auto rows = connection_->Query(
        "SELECT string_agg(concat_ws('|', " + columns +
            ", workload, kind, percent, above, latency_ms, low_ms, high_ms), E'\n' ORDER BY "
            "latency_ms) AS list FROM " +
            view + " WHERE run_id = $1",
        {id.run_id()});
    return rows.ok() ? rows->Text(0, "list") : rows.status().ToString();
  };
  EXPECT_EQ(list("phase_name", "phase_percentiles"), "mix|w|read|50|7|10|9.5|10.5");
  EXPECT_EQ(list("metric, is_reported", "phase_percentiles_all"),
            "submission latency|f|w|read|50|7|1|0.5|1.5\n"
            "service time|f|w|read|50|7|8|7.5|8.5\n"
            "response time|t|w|read|50|7|10|9.5|10.5");
  EXPECT_EQ(list("host, worker_index, metric", "host_percentiles"),
            "node1|1|response time|w|read|99|7|12|11.5");
  // A row of an older schema says nothing of the metric: it is of the reported one.
  ASSERT_TRUE(connection_
                  ->Query("UPDATE percentile_figures SET metric = NULL, is_reported = NULL WHERE "
                          "run_id = $1 AND is_reported AND worker_index IS NULL",
                          {id.run_id()})
                  .ok());
  EXPECT_EQ(list("phase_name", "phase_percentiles"), "mix|w|read|50|7|10|9.5|10.5");
}

TEST_F(StoreTest, WhatASweepAnswersIsInRows) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  report.add_sweeps()->set_phase("made by an older version");
  v1::SweepReport* sweep = report.add_sweeps();
  sweep->set_phase("load");
  v1::SweepAxisReport* axis = sweep->add_axes();
  axis->set_field("queue_depth");
  axis->add_values("1");
  axis->add_values("8");
  v1::SweepConclusion* conclusion = sweep->mutable_conclusion();
  conclusion->set_sentence("8 is \"best\"");
  conclusion->set_figure("IOPS");
  conclusion->set_higher_is_better(true);
  conclusion->set_rounds(4);
  v1::SweepPointReport* worse = sweep->add_points();
  worse->add_indices(0);
  worse->add_phases(0);
  worse->add_phases(2);
  worse->set_runs(2);
  worse->set_iops(100);
  worse->mutable_comparison()->set_standing(v1::STANDING_WORSE);
  worse->mutable_comparison()->set_rounds(4);
  worse->mutable_comparison()->set_mean(101);
  worse->mutable_comparison()->set_ratio(0.5);
  worse->mutable_comparison()->set_ratio_low(0.25);
  worse->mutable_comparison()->set_p_value(0);
  v1::SweepPointReport* failed = sweep->add_points();
  failed->add_indices(1);
  failed->mutable_comparison()->set_reason("it has no whole round");
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  // Again: they replace what was there.
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  auto rows = connection_->Query(
      "SELECT concat_ws('|', sweep, phase_name, axes, sentence, figure, higher_is_better, rounds) "
      "AS row, more_rounds IS NULL AS none FROM sweep_conclusions WHERE run_id = $1",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 1);
  EXPECT_EQ(rows->Text(0, "row"), "1|load|{queue_depth}|8 is \"best\"|IOPS|t|4");
  EXPECT_TRUE(rows->Bool(0, "none"));
  rows = connection_->Query(
      "SELECT concat_ws('|', sweep, phase_name, number, point ->> 'queue_depth', phases, figure, "
      "standing, reason, rounds, mean, low, high, ratio, ratio_low, ratio_high, p_value, "
      "more_rounds, iops, p50_ms, p99_ms, thread_jain) AS row FROM sweep_points WHERE run_id = $1 "
      "ORDER BY number",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 2);
  EXPECT_EQ(rows->Text(0, "row"), "1|load|0|1|{0,2}|IOPS|worse||4|101|0.5|0.25|0|100");
  EXPECT_EQ(rows->Text(1, "row"), "1|load|1|8|{}|IOPS|not compared|it has no whole round|0");
}

TEST_F(StoreTest, SharesOfMeasuredLimitsAreRows) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  v1::ObservedReport* observed = report.add_phases()->mutable_observed();
  v1::ObservedShare* share = observed->add_shares();
  share->set_device("sda");
  share->add_hosts("a");
  share->set_identity("naa.600");
  share->set_compared_run("1a2b3c4d");
  share->set_compared_phase("mix");
  share->set_measured_at("2026-11-12T08:00:00Z");
  share->set_iops(500);
  share->set_limit_iops(2000);
  share->set_share(0.25);
  share->set_sentence("25 % of it");
  v1::LatencyAtShare* latency = share->add_latencies();
  latency->set_share(0.88);
  latency->set_p99_ns(4e6);
  v1::ObservedShare* refused = observed->add_shares();
  refused->set_device("sdb");
  refused->set_measured_at("no time");
  refused->set_difference("it had no requests");
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  // Again: they replace what was there.
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  auto rows = connection_->Query(
      "SELECT concat_ws('|', device, hosts, identity, compared_run, compared_phase, "
      "measured_at = '2026-11-12 08:00Z', iops, limit_iops, share, p99_at_60_ms, p99_at_90_ms, "
      "difference, sentence) AS row, measured_at IS NULL AS undated, share IS NULL AS refused "
      "FROM device_shares WHERE run_id = $1 ORDER BY device",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 2);
  EXPECT_EQ(rows->Text(0, "row"), "sda|{a}|naa.600|1a2b3c4d|mix|t|500|2000|0.25|4||25 % of it");
  EXPECT_TRUE(rows->Bool(1, "undated"));
  EXPECT_TRUE(rows->Bool(1, "refused"));
  rows = connection_->Query(
      "SELECT device, share FROM phase_findings WHERE run_id = $1 AND kind = 'share' "
      "ORDER BY device",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 2);
  EXPECT_EQ(rows->Real(0, "share"), 0.25);
  EXPECT_TRUE(rows->Null(1, "share"));
}

TEST_F(StoreTest, WhereTheTimeWentComesBackAndIsNullWhereUnknown) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->mutable_total()->set_kind("total");
  for (const char* limit : {"device", "rate", "device"}) {
    v1::WorkloadReport* workload = phase->add_workloads();
    workload->set_name(absl::StrCat("w", phase->workloads_size()));
    workload->mutable_total()->set_kind("total");
    workload->set_limited_by(limit);
  }
  v1::TimeSpent* spent = phase->mutable_time_spent();
  const auto* fields = v1::TimeSpent::GetDescriptor();
  for (int f = 0; f < fields->field_count(); ++f) {
    v1::TimeSpent::GetReflection()->SetDouble(spent, fields->field(f), f + 0.1);
  }
  spent->clear_cpu_ns_per_io();
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  const auto figures = store_->Figures({id.run_id()});
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ((*figures)[0].phases_size(), 1);
  EXPECT_EQ((*figures)[0].phases(0).time_spent().DebugString(), spent->DebugString());
  EXPECT_EQ((*figures)[0].phases(0).limited_by(), "device, rate");
  auto rows = connection_->Query(
      "SELECT interrupts_per_io, cpu_us_per_io, limited_by FROM phase_summary WHERE run_id = $1",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 1);
  EXPECT_EQ(rows->Real(0, "interrupts_per_io"), spent->interrupts_per_io());
  EXPECT_TRUE(rows->Null(0, "cpu_us_per_io"));
  EXPECT_EQ(rows->Text(0, "limited_by"), "device, rate");
}

TEST_F(StoreTest, NotesHaveTheirMomentAndTheirPhase) {
  const std::string run = Begin().run_id();
  ASSERT_TRUE(connection_
                  ->Query("UPDATE phases SET go_at = r.started_at + interval '2 seconds' FROM runs "
                          "r WHERE phases.run_id = r.run_id AND r.run_id = $1",
                          {run})
                  .ok());
  const auto after = store_->AddNote(run, {"anna", "it's \"late\"", std::nullopt, 5000000000});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->severity(), "note");
  EXPECT_EQ(after->author(), "anna");
  EXPECT_EQ(after->message(), "it's \"late\"");
  ASSERT_TRUE(store_->AddNote(run, {"ben", "earlier", std::nullopt, 0}).ok());
  ASSERT_TRUE(store_->AddNote(run, {"ben", "now", std::nullopt, std::nullopt}).ok());
  const auto notes = store_->Notes(run);
  ASSERT_TRUE(notes.ok()) << notes.status();
  ASSERT_EQ(notes->size(), 3u);
  EXPECT_EQ((*notes)[0].message(), "earlier");
  EXPECT_EQ((*notes)[2].message(), "it's \"late\"");
  auto rows = connection_->Query(
      "SELECT string_agg(concat_ws('|', number, seconds, phase_name, phase_seconds, author), ' ' "
      "ORDER BY number) AS list FROM run_notes WHERE run_id = $1 AND message <> 'now'",
      {run});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "list"), "1|5|mix|3|anna 2|0|ben");
}

TEST_F(StoreTest, NotesAreRemovedByTheirAuthorsAndByAdmins) {
  const std::string run = Begin().run_id();
  for (const char* author : {"anna", "ben", "anna"}) {
    ASSERT_TRUE(store_->AddNote(run, {author, "x", std::nullopt, std::nullopt}).ok());
  }
  EXPECT_EQ(store_->RemoveNote(run, 2, "anna").status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(store_->RemoveNote(run, 4, "anna").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->RemoveNote(common::NewUuid(), 1, std::nullopt).status().code(),
            absl::StatusCode::kNotFound);
  const auto own = store_->RemoveNote(run, 1, "anna");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->number(), 1u);
  EXPECT_EQ(own->author(), "anna");
  // An admin removes anybody's.
  ASSERT_TRUE(store_->RemoveNote(run, 2, std::nullopt).ok());
  const auto left = store_->Notes(run);
  ASSERT_TRUE(left.ok()) << left.status();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ((*left)[0].number(), 3u);
}

TEST_F(StoreTest, NotesOfNoMomentOfTheRunAreRefused) {
  const std::string run = Begin().run_id();
  const auto code_at = [&](int64_t seconds) {
    return store_->AddNote(run, {"anna", "x", seconds * 1000000000, std::nullopt}).status().code();
  };
  EXPECT_EQ(code_at(1000), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_at(9000000000), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      store_->AddNote(run, {"anna", "x", std::nullopt, int64_t{3600} * 1000000000}).status().code(),
      absl::StatusCode::kInvalidArgument);
  measure::RunRecord waiting;
  waiting.run_id = common::NewUuid();
  waiting.job.set_name("waits");
  ASSERT_TRUE(store_->Enqueue(waiting).ok());
  EXPECT_EQ(store_->AddNote(waiting.run_id, {"anna", "x", std::nullopt, 1}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store_->AddNote(waiting.run_id, {"anna", "x", std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(
      store_->AddNote(common::NewUuid(), {"anna", "x", std::nullopt, std::nullopt}).status().code(),
      absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->EndRun(waiting.run_id, {.state = measure::RunState::kCancelled}).ok());
}

TEST_F(StoreTest, ARunHasAtMostSoManyNotes) {
  const std::string run = Begin().run_id();
  ASSERT_TRUE(connection_
                  ->Query(absl::StrCat("INSERT INTO notes (run_id, number, at, author, message) "
                                       "SELECT $1, n, now(), 'anna', 'x' FROM generate_series(1, ",
                                       limits::kNotesOfARun - 1, ") n"),
                          {run})
                  .ok());
  EXPECT_TRUE(store_->AddNote(run, {"anna", "last", std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(store_->AddNote(run, {"anna", "more", std::nullopt, std::nullopt}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Notes(run)->size(), static_cast<size_t>(limits::kNotesOfARun));
}

TEST_F(StoreTest, WhatARunCameToIsInItsRow) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  report.mutable_run()->set_conclusion("4,461 IOPS, 9 % of the 50,000 required");
  report.mutable_run()->mutable_headline()->set_text("4,461 IOPS");
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  auto rows = connection_->Query("SELECT conclusion, headline FROM run_overview WHERE run_id = $1",
                                 {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "conclusion"), report.run().conclusion());
  EXPECT_EQ(rows->Text(0, "headline"), "4,461 IOPS");
  v1::HistoryRequest request;
  request.set_limit(1);
  EXPECT_EQ(store_->History(request)->runs(0).conclusion(), report.run().conclusion());
}

TEST_F(StoreTest, RunsAreFoundByTheStartOfTheirIdAndUnknownOnesAreNot) {
  const v1::PhaseId phase = Begin();
  EXPECT_EQ(*store_->ResolveRun("last"), phase.run_id());
  EXPECT_EQ(*store_->ResolveRun(phase.run_id().substr(0, 13)), phase.run_id());
  EXPECT_EQ(store_->ResolveRun("zz").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ResolveRun("'; DROP TABLE runs; --").status().code(),
            absl::StatusCode::kNotFound);
  v1::HistoryRequest request;
  request.mutable_filter()->set_owner("me");
  EXPECT_EQ(store_->History(request)->runs(0).run_id(), phase.run_id());
}

// One odd row ends its own run, holds what that may still write to, and takes nothing of others.
TEST_F(StoreTest, ARunWithARowThatNoControllerWroteIsQuarantined) {
  const struct {
    const char* change;
    bool ranges_known;
  } cases[] = {
      {"UPDATE runs SET spec = '[]' WHERE run_id = $1", false},
      {"UPDATE runs SET spec = '7' WHERE run_id = $1", false},
      {"UPDATE runs SET spec = '{\"targets\": 7}' WHERE run_id = $1", false},
      {"UPDATE run_workers SET inspection = '{\"targets\": 7}' WHERE run_id = $1", false},
      {"UPDATE run_workers SET hello = '[]' WHERE run_id = $1", true},
      {"UPDATE phases SET go_at = 'infinity' WHERE run_id = $1", true},
      {"UPDATE phases SET go_at = '294276-01-01' WHERE run_id = $1", true},
      {"UPDATE phases SET figures = '[]' WHERE run_id = $1", true},
      {"UPDATE phases SET spec = '\"\"' WHERE run_id = $1", true},
  };
  for (const auto& odd : cases) {
    SCOPED_TRACE(odd.change);
    const std::string good_id = Begin().run_id();
    const std::string odd_id = Begin().run_id();
    auto changed = connection_->Query(odd.change, {odd_id});
    ASSERT_TRUE(changed.ok()) << changed.status();
    for (int i = 0; i < 2; ++i) {  // by the controller that finds it, and by the next one
      auto active = store_->Active();
      ASSERT_TRUE(active.ok()) << active.status();
      std::set<std::string> ids;
      for (const ActiveRun& run : *active) ids.insert(run.run.run_id);
      EXPECT_TRUE(ids.contains(good_id));
      EXPECT_FALSE(ids.contains(odd_id));
    }
    auto ended = connection_->Query(
        "SELECT state, outcome, (SELECT count(*) FROM events e WHERE e.run_id = r.run_id AND "
        "severity = 'error') AS errors FROM runs r WHERE run_id = $1",
        {odd_id});
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(ended->Text(0, "state"), "failed");
    EXPECT_TRUE(absl::StartsWith(ended->Text(0, "outcome"), "quarantined: "))
        << ended->Text(0, "outcome");
    EXPECT_EQ(ended->Int(0, "errors"), 1);
    auto held = store_->Quarantines();
    ASSERT_TRUE(held.ok()) << held.status();
    std::set<std::string> hosts;
    for (const Quarantine& quarantine : *held) {
      if (quarantine.run_id != odd_id) continue;
      hosts.insert(quarantine.host);
      EXPECT_EQ(quarantine.is_unknown, !odd.ranges_known);
      EXPECT_EQ(quarantine.quarantine_ns, limits::kDefaultQuarantineNs);
    }
    EXPECT_EQ(hosts, (std::set<std::string>{"node0", "node1"}));
    EXPECT_TRUE(store_->LoadRun(good_id).ok());
    EXPECT_TRUE(store_->Figures({good_id, odd_id}).ok());
    EXPECT_TRUE(store_->EndRun(good_id, {.state = measure::RunState::kDone}).ok());
  }
}

// What a comparison says of jobs rests on this.
TEST_F(StoreTest, FiguresSayWhatEachRunsJobWas) {
  const auto enqueue = [this](const std::string& name, uint32_t queue_depth) {
    measure::RunRecord run;
    run.run_id = common::NewUuid();
    run.job.set_name(name);
    run.job.add_phases()->mutable_run()->add_workloads()->set_queue_depth(queue_depth);
    EXPECT_TRUE(store_->Enqueue(run).ok());
    return run.run_id;
  };
  const std::string first = enqueue("j", 8), renamed = enqueue("k", 8), deeper = enqueue("j", 16);
  const auto figures = store_->Figures({first, renamed, deeper});
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_NE((*figures)[0].job().find("\"queueDepth\": 8"), std::string::npos)
      << (*figures)[0].job();
  EXPECT_EQ((*figures)[0].job(), (*figures)[1].job());  // names, labels and descriptions may differ
  EXPECT_NE((*figures)[0].job(), (*figures)[2].job());
  EXPECT_EQ((*figures)[1].run().job_name(), "k");
  EXPECT_EQ((*figures)[2].run().state(), "queued");
}

TEST_F(StoreTest, AQueuedRunWithAnOddJobIsQuarantined) {
  measure::RunRecord run;
  run.run_id = common::NewUuid();
  ASSERT_TRUE(store_->Enqueue(run).ok());
  ASSERT_TRUE(
      connection_->Query("UPDATE runs SET spec = '[1]' WHERE run_id = $1", {run.run_id}).ok());
  auto queue = store_->Queue();
  ASSERT_TRUE(queue.ok()) << queue.status();
  for (const measure::RunRecord& other : *queue) EXPECT_NE(other.run_id, run.run_id);
  auto ended = connection_->Query("SELECT state FROM runs WHERE run_id = $1", {run.run_id});
  EXPECT_EQ(ended->Text(0, "state"), "failed");
}

TEST_F(StoreTest, SettingsThatAreNoListTakeNoOthersAway) {
  const v1::PhaseId phase = Begin();
  const auto insert = connection_->Query(
      "INSERT INTO worker_results (run_id, phase, attempt, worker_index, result, error) VALUES "
      "($1, 0, 1, 0, '{\"settings\": null}', ''), ($1, 0, 1, 1, '{\"settings\": [{\"name\": "
      "\"x\"}]}', '')",
      {phase.run_id()});
  ASSERT_TRUE(insert.ok()) << insert.status();
  auto rows =
      connection_->Query("SELECT setting FROM phase_settings WHERE run_id = $1", {phase.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 1);
  EXPECT_EQ(rows->Text(0, "setting"), "x");
}

TEST_F(StoreTest, SettingsOfRunsOnTheSameDeviceComeWithARun) {
  const v1::PhaseId mine = Begin();
  const v1::PhaseId other = Begin();
  for (const v1::PhaseId& phase : {mine, other}) {
    ASSERT_TRUE(connection_
                    ->Query("UPDATE run_workers SET inspection = '{\"targets\": [{\"deviceName\": "
                            "\"sda-of-settings\"}]}' WHERE run_id = $1",
                            {phase.run_id()})
                    .ok());
  }
  EXPECT_TRUE(store_->LoadRun(mine.run_id())->concurrent_settings.empty());
  ASSERT_TRUE(connection_
                  ->Query("UPDATE phases SET spec = '{\"run\": {\"environment\": {\"scheduler\": "
                          "\"mq-deadline\"}}}' WHERE run_id = $1",
                          {other.run_id()})
                  .ok());
  const auto data = store_->LoadRun(mine.run_id());
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->concurrent_settings.size(), 1u);
  EXPECT_EQ(data->concurrent_settings[0].run_id, other.run_id());
  EXPECT_EQ(data->concurrent_settings[0].environment.scheduler(), "mq-deadline");
  EXPECT_EQ(data->concurrent_settings[0].from_wall_ns, int64_t{1800000000} * 1000000000);
  EXPECT_EQ(data->concurrent_settings[0].until_wall_ns, 0);
}

TEST_F(StoreTest, OpeningAgainChangesNothingAndANewerSchemaIsRefused) {
  EXPECT_TRUE(PgStore::Open({cluster->server->conninfo(), "x", "again"}).ok());
  ASSERT_TRUE(
      connection_
          ->Execute(
              "INSERT INTO schema_migrations (version, name, digest) VALUES (9999, 'future', '')")
          .ok());
  const auto refused = PgStore::Open({cluster->server->conninfo(), "x", "again"});
  EXPECT_NE(refused.status().message().find("use a newer Lockstep"), absl::string_view::npos)
      << refused.status();
  ASSERT_TRUE(connection_->Execute("DELETE FROM schema_migrations WHERE version = 9999").ok());
}

// An active controller applies a newer interface while its own lock is held on another connection:
// a statement that waits for that lock would wait for ever.
TEST_F(StoreTest, TheInterfaceIsAppliedWhileTheControllersLockIsHeld) {
  auto holder = PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(holder.ok()) << holder.status();
  ASSERT_TRUE(
      (*holder)->Execute("BEGIN; LOCK TABLE lockstep.controller_lock IN EXCLUSIVE MODE").ok());
  ASSERT_TRUE(connection_->Execute("DELETE FROM schema_migrations WHERE version = 0").ok());
  const absl::Status opened = PgStore::Open({cluster->server->conninfo(), "x", "new"}).status();
  EXPECT_TRUE(opened.ok()) << opened;
  ASSERT_TRUE((*holder)->Execute("ROLLBACK").ok());
}

// What a store of the version before the baseline says of its last migration.
constexpr char kOldChain[] =
    "UPDATE schema_migrations SET name = '0022_stamps.sql', digest = "
    "'64d028b4e9f13da386833bf8771657ca' WHERE version = 22; "
    "INSERT INTO schema_migrations (version, name, digest) VALUES (21, '0021_names.sql', ''); "
    "DELETE FROM schema_migrations WHERE version = 0";

TEST_F(StoreTest, AStoreOfVersion22IsReadAndOlderOnesAreRefused) {
  const auto digest = [&](const std::string& version) {
    auto rows =
        connection_->Query("SELECT digest FROM schema_migrations WHERE version = $1", {version});
    return rows.ok() && rows->rows() == 1 ? rows->Text(0, "digest") : "none";
  };
  const std::string baseline = digest("22");
  ASSERT_TRUE(connection_->Execute(kOldChain).ok());
  ASSERT_TRUE(connection_->Execute("DROP VIEW lockstep.run_environment").ok());
  const absl::Status opened = PgStore::Open({cluster->server->conninfo(), "x", "old"}).status();
  EXPECT_TRUE(opened.ok()) << opened;
  // The interface was applied anew.
  EXPECT_TRUE(connection_->Query("SELECT * FROM lockstep.run_environment").ok());
  EXPECT_NE(digest("0"), "none");

  ASSERT_TRUE(
      connection_->Execute("UPDATE schema_migrations SET version = -version WHERE version >= 22")
          .ok());
  const auto refused = PgStore::Open({cluster->server->conninfo(), "x", "older"});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("version 21, this program reads 22 and newer"),
            absl::string_view::npos)
      << refused.status();
  ASSERT_TRUE(connection_
                  ->Execute("DELETE FROM schema_migrations WHERE version = 21; "
                            "UPDATE schema_migrations SET version = -version WHERE version < 0")
                  .ok());
  ASSERT_TRUE(connection_
                  ->Query("UPDATE schema_migrations SET name = '0022_baseline.sql', digest = $1 "
                          "WHERE version = 22",
                          {baseline})
                  .ok());
}

TEST_F(StoreTest, TheReadingRoleReadsAndWritesNothing) {
  auto reader = PgConnection::Open(cluster->server->reader_conninfo());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->Query("SELECT * FROM lockstep.host_throughput").ok());
  EXPECT_EQ((*reader)
                ->Execute("SET default_transaction_read_only = off; DELETE FROM lockstep.events")
                .code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ((*reader)->Query("DELETE FROM lockstep.events").status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(EmbeddedTest, ASecondOneInTheSameDirectoryIsRefused) {
  const auto second = EmbeddedPostgres::Start(cluster->directory + "/pg");
  EXPECT_NE(second.status().message().find("another controller uses this store"),
            absl::string_view::npos)
      << second.status();
}

TEST(EmbeddedTest, OneThatStartsBesideAnotherLearnsItsAddress) {
  const std::string lock = cluster->directory + "/pg/lock";
  std::ofstream(lock, std::ios::trunc).flush();
  std::thread other([&lock] {
    // Once the second one has opened the lock, beside the holder, the holder listens.
    const auto opened = [&lock] {
      int found = 0;
      for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code none;
        found += std::filesystem::read_symlink(fd, none) == lock;
      }
      return found >= 2;
    };
    for (int i = 0; i < 2000 && !opened(); ++i) absl::SleepFor(absl::Milliseconds(1));
    std::ofstream(lock) << "127.0.0.1:9640";
  });
  const auto second = EmbeddedPostgres::Start(cluster->directory + "/pg");
  other.join();
  std::ofstream(lock, std::ios::trunc).flush();
  EXPECT_TRUE(absl::StrContains(second.status().message(),
                                "the controller at 127.0.0.1:9640 uses this store"))
      << second.status();
}

TEST(EmbeddedTest, ABlankInTheDirectorySNameIsNoObstacleAndACommaIs) {
  const std::string directory = cluster->directory + "/with 'a' blank";
  const auto started = EmbeddedPostgres::Start(directory);
  EXPECT_TRUE(started.ok()) << started.status();
  for (const char* name : {"/a,b", "/a\nb"}) {
    EXPECT_TRUE(absl::StrContains(
        EmbeddedPostgres::Start(cluster->directory + name).status().message(), "has a comma"));
  }
}

TEST(EmbeddedTest, AKilledServerThatNobodyHasReapedYetIsWaitedFor) {
  const std::string directory = cluster->directory + "/killed";
  ASSERT_TRUE(EmbeddedPostgres::Start(directory).ok());  // and stopped
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  std::ofstream(directory + "/data/postmaster.pid") << dead << "\n"
                                                    << directory << "/data\n1\n5432\n"
                                                    << directory << "/run\n\n";
  // Reaped once a server has refused to start because of it.
  std::thread init([dead, log = directory + "/postgres.log"] {
    const auto refused = [&log] {
      std::stringstream said;
      said << std::ifstream(log).rdbuf();
      return absl::StrContains(said.str(), "already exists");
    };
    for (int i = 0; i < 6000 && !refused(); ++i) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_TRUE(refused());
    waitpid(dead, nullptr, 0);
  });
  const auto started = EmbeddedPostgres::Start(directory);
  init.join();
  EXPECT_TRUE(started.ok()) << started.status();
}

TEST(EmbeddedTest, AnotherMajorVersionIsRefusedWithTheCommandsToUpgrade) {
  const std::string directory = cluster->directory + "/old";
  ASSERT_TRUE(common::MakeDirectories(directory + "/data", 0755).ok());
  ASSERT_TRUE(common::WriteFileAtomically(directory + "/data/PG_VERSION", "13\n").ok());
  const auto refused = EmbeddedPostgres::Start(directory);
  EXPECT_NE(refused.status().message().find("was made by PostgreSQL 13"), absl::string_view::npos)
      << refused.status();
  EXPECT_NE(refused.status().message().find("pg_upgrade"), absl::string_view::npos);
}

// On an external server, whose administrator has given the store's owner no more than a database
// and the right to make roles.
TEST_F(StoreTest, AReadersSettingsAreResetByAnOwnerWhoIsNoSuperuser) {
  ASSERT_TRUE(connection_->Execute("CREATE ROLE plain LOGIN CREATEROLE").ok());
  ASSERT_TRUE(connection_->Execute("CREATE DATABASE plain OWNER plain").ok());
  const std::string there =
      cluster->server->conninfo() + " dbname=plain user=plain options='-csearch_path=lockstep'";
  auto plain = PgStore::Open({there, cluster->server->reader_conninfo(), "plain"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE((*plain)->AcquireEpoch("plain").ok());
  const auto changed = [&] {
    return connection_
        ->Query(
            "SELECT count(*) AS n FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole "
            "WHERE r.rolname = 'lockstep_reader' AND 'statement_timeout=0' = ANY(s.setconfig)")
        ->Int(0, "n");
  };
  auto reader = PgConnection::Open(cluster->server->reader_conninfo());
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->Execute("SET default_transaction_read_only = off").ok());
  ASSERT_TRUE((*reader)->Execute("ALTER ROLE lockstep_reader SET statement_timeout = 0").ok());
  ASSERT_EQ(changed(), 1);
  (*plain)->GuardReader();
  EXPECT_EQ(changed(), 0);
  // It says what it cannot do.
  auto owner = PgConnection::Open(there);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto said = (*owner)->Query("SELECT lockstep.guard_reader(600) AS problem");
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_TRUE(absl::StrContains(said->Text(0, "problem"), "pg_read_all_stats"))
      << said->Text(0, "problem");
  ASSERT_TRUE(connection_->Execute("GRANT pg_read_all_stats, pg_signal_backend TO plain").ok());
  const auto granted = (*owner)->Query("SELECT lockstep.guard_reader(600) AS problem");
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(granted->Text(0, "problem"), "");
}

TEST(ConninfoTest, TheReadersHasNoPassword) {
  EXPECT_EQ(*DeriveReaderConninfo("postgresql://anna:secret@db.example:5433/bench"),
            std::string("user=lockstep_reader dbname='bench' host='db.example' port='5433' ") +
                kReaderOptions);
  EXPECT_EQ(AddressText("postgresql://anna:secret@db.example:5544/bench?sslmode=require"),
            "postgresql://db.example:5544/bench");
  EXPECT_EQ(AddressText("dbname='bench' host='/run/postgresql' options='-c a=b'"),
            "postgresql:///bench (socket in /run/postgresql)");
  EXPECT_EQ(AddressText("host=::1 dbname=bench"), "postgresql://[::1]/bench");
  EXPECT_FALSE(DeriveReaderConninfo("postgresql://[").ok());
}

}  // namespace
}  // namespace lockstep::storage
