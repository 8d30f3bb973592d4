// Reports are in rows that SQL reads.

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

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

TEST_F(StoreTest, StallsOfClosedLoopsAreBesideTheirP99) {
  const v1::PhaseId id = Begin();
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  const auto total = [](v1::OperationReport* o) {
    o->set_kind("total");
    o->set_metric("service_time");
    v1::Percentile* p99 = o->add_percentiles();
    p99->set_percent(99);
    p99->set_latency_ns(1100000);
  };
  total(phase->mutable_total());
  phase->set_stalled_ratio(0.05);
  phase->set_corrected_p99_ns(50000000);
  for (const char* name : {"closed", "open"}) {
    v1::WorkloadReport* workload = phase->add_workloads();
    workload->set_name(name);
    total(workload->mutable_total());
  }
  phase->mutable_workloads(0)->set_stalled_ratio(0.1);
  phase->mutable_workloads(0)->set_corrected_p99_ns(60000000);
  for (const char* name : {"node0", "node1"}) {
    v1::HostReport* host = phase->add_hosts();
    host->set_worker_index(static_cast<uint32_t>(phase->hosts_size()) - 1);
    host->set_host(name);
    total(host->mutable_total());
  }
  phase->mutable_hosts(1)->set_stalled_ratio(0.3);  // and no I/O took longer than its p99
  ASSERT_TRUE(store_->SaveReport(id.run_id(), report).ok());
  auto rows = connection_->Query(
      "SELECT string_agg(concat_ws('|', coalesce(host, 'all'), workload, p99_ms, stalled_ratio, "
      "coalesce(corrected_p99_ms::text, 'none')), E'\n' ORDER BY host NULLS FIRST, workload) AS "
      "list FROM phase_stalls WHERE run_id = $1",
      {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "list"),
            "all||1.1|0.05|50\n"
            "all|closed|1.1|0.1|60\n"
            "node1||1.1|0.3|none");
  rows = connection_->Query(
      "SELECT stalled_ratio, corrected_p99_ms FROM phase_summary WHERE run_id = $1", {id.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 1);
  EXPECT_EQ(rows->Real(0, "stalled_ratio"), 0.05);
  EXPECT_EQ(rows->Real(0, "corrected_p99_ms"), 50);
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

}  // namespace
}  // namespace lockstep::storage
