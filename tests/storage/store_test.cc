// Runs, and what is kept of them, on a real, private PostgreSQL.

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

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
  v1::QuotaSample* quota = first.mutable_interval()->mutable_quota();
  quota->set_periods(10);
  quota->set_throttled_periods(9);
  quota->set_period_ns(100000000);
  quota->set_throttled_time_ns(1700000000);
  ASSERT_TRUE(
      store_->Ingest({Batch(phase, 0, 0, {first, Interval(1, {300, 1u << 30}), result})}).ok());
  EXPECT_EQ(*store_->Cursor(phase, 0), 3u);
  const auto data = store_->LoadRun(phase.run_id());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->run.job.name(), "job 'with' \"quotes\"\t");
  EXPECT_EQ(data->run.seed, ~uint64_t{0});
  EXPECT_EQ(data->environment.at(0).at("vm.swappiness"), "60");
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
  EXPECT_EQ(intervals[0].quota().DebugString(), quota->DebugString());
  EXPECT_FALSE(intervals[1].has_quota());
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
      measure::MergedInterval::Part& part = merged.workers[worker];
      part.begin_seconds = k;
      part.seconds = 1;
      part.operations = uint64_t{100} * (worker + 1);
      part.p99_ns = 5e6;
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
  EXPECT_NEAR(point.jain.value_or(0), 0.9, 1e-9);
  // One worker alone was in the second interval.
  EXPECT_FALSE((*points)[1].jain.has_value());
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
    // The quota was set in the eleventh second, and its period is not known in the last one.
    if (k >= 10) {
      v1::QuotaSample* quota = sample->mutable_quota();
      quota->set_periods(10);
      quota->set_throttled_periods(k == 10 ? 11 : 5);
      if (k < 29) quota->set_period_ns(100000000);
      quota->set_throttled_time_ns(700000000);
    }
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
  (*label.mutable_labels())["to"] = "prune";
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
  EXPECT_EQ(network("throttled_ratio, throttled_seconds", "quota_timeline").substr(0, 23),
            "10|1|1|1.1 11|1|0.5|0.5");
  EXPECT_TRUE(absl::EndsWith(network("throttled_ratio, throttled_seconds", "quota_timeline"),
                             " 29|1|0.5|0.5"));
  // What is shorter than a tenth of an interval has no rate.
  EXPECT_TRUE(connection_->Query("BEGIN", {}).ok());
  EXPECT_TRUE(connection_
                  ->Query("UPDATE quota_samples SET end_ns = begin_ns + 1000000 WHERE run_id = $1 "
                          "AND interval = 29",
                          {phase.run_id()})
                  .ok());
  EXPECT_TRUE(
      absl::EndsWith(network("coalesce(throttled_ratio, -1)", "quota_timeline"), " 29|1|-1"));
  EXPECT_TRUE(connection_->Query("ROLLBACK", {}).ok());
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
                Count("interface_samples", phase) + Count("nfs_samples", phase) +
                Count("quota_samples", phase),
            0);
  EXPECT_EQ(network("txutil, sent_drops, receive_speed_bits_per_second", "network_timeline"),
            "0|2|50|1|16000000 2|8|50|44|16000000 10|10|50|145|16000000 20|10|50|245");
  EXPECT_EQ(network("operations, rtt, exe, retrans", "nfs_timeline"),
            "0|1|10|5|6|1 2|4|40|5|6|4 10|5|50|5|6|5 20|5|50|5|6|5");
  EXPECT_EQ(network("round(throttled_ratio::numeric, 2), throttled_periods, throttled_time_ns",
                    "quota_timeline"),
            "10|10|0.56|56|7000000000 20|10|0.50|50|7000000000");
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

// PostgreSQL's plan for this query, when it reads no table whole that has an index.
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
       {"device_timeline", "kernel_timeline", "network_timeline", "nfs_timeline", "quota_timeline",
        "device_paths", "host_timeline", "interval_latency", "measured_seconds"}) {
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

// The job differences of a comparison rest on this.
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

}  // namespace
}  // namespace lockstep::storage
