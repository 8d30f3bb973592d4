#include "controller/report/tool_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/histogram.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::OperationReport Operations(const std::string& kind, double count, double average_ms) {
  v1::OperationReport o;
  o.set_kind(kind);
  o.set_operations(count);
  o.set_iops(count / 2);
  o.set_bytes(count * 8192);
  o.set_bytes_per_second(count * 4096);
  o.set_latency_avg_ns(average_ms * 1e6);
  o.set_latency_max_ns(average_ms * 2e6);
  return o;
}

// Two seconds on two hosts: 300 reads and 100 writes of 8 KiB.
v1::Report TwoHosts() {
  v1::Report report;
  report.add_phases()->set_kind("prepare");
  v1::PhaseReport* phase = report.add_phases();
  phase->set_index(1);
  phase->set_kind("run");
  phase->set_name("mail, mixed");
  phase->set_started_at("2026-11-26T18:00:00Z");
  phase->set_duration_seconds(2);
  phase->set_window_end_seconds(2);
  phase->set_workers(2);
  v1::WorkloadReport* workload = phase->add_workloads();
  workload->set_name("mail");
  workload->mutable_settings()->set_block_size_bytes(8192);
  workload->mutable_settings()->set_read_share(0.75);
  workload->mutable_settings()->set_is_random(true);
  workload->mutable_settings()->set_queue_depth(4);
  workload->mutable_settings()->set_threads(1);
  workload->mutable_settings()->set_workers(2);
  *workload->add_operations() = Operations("read", 300, 1);
  *workload->add_operations() = Operations("write", 100, 5);
  for (const char* name : {"node1", "node2"}) {
    v1::HostReport* host = phase->add_hosts();
    host->set_host(name);
    *host->add_workloads()->add_operations() = Operations("read", 150, 1);
    phase->add_threads()->set_host(name);
  }
  v1::KernelReport* kernel = phase->add_kernels();
  kernel->add_hosts("node1");
  kernel->set_user_ratio(0.25);
  kernel->set_system_ratio(0.25);
  kernel->set_idle_ratio(0.5);
  return report;
}

using Table = std::vector<std::map<std::string, std::string>>;

TEST(IometerTableTest, ARowForAllAndOneForEachHost) {
  const std::string text = RenderIometer(TwoHosts());
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_GE(lines.size(), 7u) << text;
  EXPECT_EQ(lines[0], "'Results");
  EXPECT_TRUE(absl::StartsWith(lines[1],
                               "'Target Type,Target Name,Access Specification Name,# Managers,# "
                               "Workers,# Disks,IOps,Read IOps,Write IOps,MBps (Binary)"));
  const std::vector<std::string> columns = absl::StrSplit(lines[1], ',');
  EXPECT_EQ(columns.size(), 59u);
  EXPECT_EQ(columns.back(), "Segments Retransmitted/Second");
  // Its readers look for this row.
  EXPECT_TRUE(absl::StartsWith(lines[2], "ALL,All,")) << lines[2];
  Table rows;
  for (size_t i = 2; i < 5; ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    ASSERT_EQ(cells.size(), columns.size()) << lines[i];
    rows.emplace_back();
    for (size_t c = 0; c < cells.size(); ++c) rows.back()[columns[c]] = cells[c];
  }
  EXPECT_EQ(rows[0]["'Target Type"], "ALL");
  EXPECT_EQ(rows[0]["Access Specification Name"], "mail; mixed");
  EXPECT_EQ(rows[0]["# Managers"], "2");
  EXPECT_EQ(rows[0]["# Workers"], "2");
  EXPECT_EQ(rows[0]["# Disks"], "");
  EXPECT_EQ(rows[0]["IOps"], "200.000000");
  EXPECT_EQ(rows[0]["Read IOps"], "150.000000");
  EXPECT_EQ(rows[0]["MBps (Binary)"], "1.562500");
  EXPECT_EQ(rows[0]["Average Response Time"], "2.000000");
  EXPECT_EQ(rows[0]["Maximum Write Response Time"], "10.000000");
  EXPECT_EQ(rows[0]["Write I/Os"], "100");
  EXPECT_EQ(rows[0]["Bytes Read"], "2457600");
  EXPECT_EQ(rows[0]["Queue Depth"], "4");
  EXPECT_EQ(rows[0]["Transactions per Second"], "");
  EXPECT_EQ(rows[1]["'Target Type"], "MANAGER");
  EXPECT_EQ(rows[1]["Target Name"], "node1");
  EXPECT_EQ(rows[1]["Read I/Os"], "150");
  EXPECT_EQ(rows[1]["% CPU Utilization"], "50.000000");
  EXPECT_NEAR(std::stod(rows[1]["CPU Effectiveness"]), std::stod(rows[1]["IOps"]) / 50, 1e-5);
  // A host whose processors are not known.
  EXPECT_EQ(rows[2]["% CPU Utilization"], "");
  EXPECT_EQ(lines[5], "'Time Stamp");
  EXPECT_EQ(lines[6], "2026-11-26 18:00:02:000");
}

// Workloads that ran at different times: the rates of each are over its own time, and have no sum.
TEST(IometerTableTest, RatesOfHostsAreOverTheWindowOfThePhase) {
  v1::Report report = TwoHosts();
  v1::PhaseReport* phase = report.mutable_phases(1);
  const auto add = [](double iops, v1::KindRate* rate) {
    rate->set_kind("read");
    rate->set_iops(iops);
    rate->set_bytes_per_second(8192 * iops);
  };
  add(60, phase->add_kind_rates());
  add(20, phase->mutable_hosts(0)->add_kind_rates());
  add(40, phase->mutable_hosts(1)->add_kind_rates());
  const std::vector<std::string> lines = absl::StrSplit(RenderIometer(report), '\n');
  const std::vector<std::string> columns = absl::StrSplit(lines[1], ',');
  const auto cell = [&](size_t line, const std::string& column) {
    const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
    const std::vector<std::string> cells = absl::StrSplit(lines[line], ',');
    return cells[static_cast<size_t>(at)];
  };
  EXPECT_EQ(cell(2, "IOps"), "60.000000");
  EXPECT_EQ(cell(3, "IOps"), "20.000000");
  EXPECT_EQ(cell(4, "IOps"), "40.000000");
  EXPECT_EQ(cell(4, "MBps (Binary)"), "0.312500");
  EXPECT_EQ(cell(4, "Read I/Os"), "150");
}

// The ALL row of Iometer's table, by its columns.
std::map<std::string, std::string> AllRow(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::map<std::string, std::string> row;
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    if (lines[i - 1] != "'Results") continue;
    const std::vector<std::string> columns = absl::StrSplit(lines[i], ',');
    const std::vector<std::string> cells = absl::StrSplit(lines[i + 1], ',');
    EXPECT_EQ(cells.size(), columns.size()) << lines[i + 1];
    for (size_t c = 0; c < std::min(cells.size(), columns.size()); ++c) row[columns[c]] = cells[c];
  }
  return row;
}

TEST(IometerTableTest, TrimsAreNotReadsAndWritesOfZero) {
  v1::Report report = TwoHosts();
  v1::PhaseReport* phase = report.mutable_phases(1);
  phase->mutable_total()->set_iops(500);
  *phase->mutable_workloads(0)->add_operations() = Operations("trim", 600, 1);
  const std::string beside = RenderIometer(report);
  EXPECT_TRUE(absl::StartsWith(beside,
                               "'trims of mail; mixed are left out, 300 a second: Iometer has no "
                               "columns for them\n'Results\n"))
      << beside;
  EXPECT_EQ(AllRow(beside)["IOps"], "200.000000");
  phase->mutable_workloads(0)->mutable_operations()->DeleteSubrange(0, 2);
  std::map<std::string, std::string> row = AllRow(RenderIometer(report));
  for (const char* unknown :
       {"IOps", "Read IOps", "MBps (Decimal)", "Average Response Time", "CPU Effectiveness"}) {
    EXPECT_EQ(row[unknown], "") << unknown;
  }
  EXPECT_EQ(row["% CPU Utilization"], "50.000000");
}

TEST(IometerTableTest, ALoadThatEndedInItsRampHasNoRates) {
  v1::Report report = TwoHosts();
  v1::PhaseReport* phase = report.mutable_phases(1);
  phase->mutable_workloads(0)->clear_operations();
  EXPECT_EQ(AllRow(RenderIometer(report))["IOps"], "");
  // One that stood still while it was measured has.
  phase->mutable_total()->set_iops(0);
  EXPECT_EQ(AllRow(RenderIometer(report))["IOps"], "0.000000");
}

std::vector<std::string> Words(const std::string& line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

TEST(VdbenchTableTest, ARowForEachIntervalAndTheAverage) {
  std::vector<v1::LatencyHistogram> intervals;
  for (const double end : {1.0, 2.0}) {
    v1::LatencyHistogram h;
    h.set_phase(1);
    h.set_kind("read");
    h.set_is_reported(true);
    h.set_begin_seconds(end - 1);
    h.set_end_seconds(end);
    h.set_bytes(100 * end * 8192);
    h.set_mean_ns(1e6);
    h.set_max_ns(2e6);
    h.add_buckets(common::BucketOf(1000000));
    h.add_counts(100 * end);
    intervals.push_back(h);
  }
  const std::string text = RenderVdbench(TwoHosts(), intervals);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 6u) << text;
  EXPECT_TRUE(absl::StartsWith(lines[0], "*"));
  // vdbench's own reader takes the first line that begins with a blank for the names.
  EXPECT_TRUE(absl::StartsWith(lines[1], " "));
  const std::vector<std::string> columns = Words(lines[1]);
  EXPECT_EQ((std::vector<std::string>(columns.begin(), columns.begin() + 9)),
            (std::vector<std::string>{"tod", "timestamp", "Run", "Interval", "reqrate", "rate",
                                      "MB/sec", "bytes/io", "read%"}));
  Table rows;
  for (size_t i = 2; i < 5; ++i) {
    const std::vector<std::string> cells = Words(lines[i]);
    ASSERT_EQ(cells.size(), columns.size()) << lines[i];
    rows.emplace_back();
    for (size_t c = 0; c < cells.size(); ++c) rows.back()[columns[c]] = cells[c];
  }
  EXPECT_EQ(rows[0]["Run"], "mail,_mixed");
  EXPECT_EQ(rows[0]["tod"], "18:00:01.000");
  EXPECT_EQ(rows[0]["timestamp"], "11/26/2026-18:00:01-UTC");
  EXPECT_EQ(rows[0]["Interval"], "1");
  EXPECT_EQ(rows[0]["rate"], "100.0000");
  EXPECT_EQ(rows[1]["rate"], "200.0000");
  EXPECT_EQ(rows[1]["bytes/io"], "8192");
  EXPECT_EQ(rows[1]["resp"], "1.0000");
  EXPECT_EQ(rows[1]["resp_max"], "2.0000");
  EXPECT_EQ(rows[1]["queue_depth"], "0.2000");
  EXPECT_EQ(rows[2]["Interval"], "avg_1-2");
  EXPECT_EQ(rows[2]["rate"], "200.0000");
  EXPECT_EQ(rows[2]["read%"], "75.00");
  EXPECT_EQ(rows[2]["write_resp"], "5.0000");
  EXPECT_EQ(rows[2]["xfersize"], "8192");
  EXPECT_EQ(rows[2]["threads"], "8");
  EXPECT_EQ(rows[2]["rdpct"], "75");
  EXPECT_EQ(rows[2]["seekpct"], "100");
  for (const char* unknown : {"reqrate", "resp_std", "lunsize", "cpu_used"}) {
    EXPECT_EQ(rows[2][unknown], "n/a") << unknown;
  }
}

TEST(VdbenchTableTest, TrimsAreNotReadsAndWritesOfZero) {
  v1::Report report = TwoHosts();
  v1::PhaseReport* phase = report.mutable_phases(1);
  phase->mutable_total()->set_iops(300);
  v1::WorkloadReport* workload = phase->mutable_workloads(0);
  workload->clear_operations();
  *workload->add_operations() = Operations("trim", 600, 1);
  const std::string text = RenderVdbench(report, {});
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 5u) << text;
  EXPECT_EQ(lines[1],
            "* trims of mail; mixed are left out, 300 a second: vdbench has no columns for them");
  const std::vector<std::string> columns = Words(lines[2]);
  const std::vector<std::string> cells = Words(lines[3]);
  ASSERT_EQ(cells.size(), columns.size()) << lines[3];
  for (size_t c = 0; c < cells.size(); ++c) {
    if (columns[c] == "rate" || columns[c] == "resp" || columns[c] == "read_max") {
      EXPECT_EQ(cells[c], "n/a") << columns[c];
    }
  }
}

// A stall is a row of zeros, not a hole, and a maximum that is not known is not below the mean. An
// interval that a host did not deliver is not known to be a stall.
TEST(VdbenchTableTest, AnIntervalWithoutIoHasARowToo) {
  v1::Report report = TwoHosts();
  v1::PhaseReport* phase = report.mutable_phases(1);
  phase->set_interval_seconds(1);
  phase->set_intervals_per_point(1);
  phase->set_window_end_seconds(5);
  const double unknown = std::nan("");
  for (const double iops : {100.0, 0.0, unknown, 100.0, unknown}) phase->add_iops_by_interval(iops);
  std::vector<v1::LatencyHistogram> intervals;
  for (const double end : {1.0, 4.0}) {
    v1::LatencyHistogram h;
    h.set_phase(1);
    h.set_kind("read");
    h.set_is_reported(true);
    h.set_begin_seconds(end - 1);
    h.set_end_seconds(end);
    h.set_mean_ns(1e6);
    h.add_buckets(common::BucketOf(1000000));
    h.add_counts(100);
    intervals.push_back(h);
  }
  const std::vector<std::string> lines = absl::StrSplit(RenderVdbench(report, intervals), '\n');
  ASSERT_EQ(lines.size(), 7u);
  const std::vector<std::string> columns = Words(lines[1]);
  const auto cell = [&](size_t line, const std::string& column) {
    const auto at = std::find(columns.begin(), columns.end(), column);
    return Words(lines[line]).at(static_cast<size_t>(at - columns.begin()));
  };
  EXPECT_EQ(cell(3, "Interval"), "2");
  EXPECT_EQ(cell(3, "tod"), "18:00:02.000");
  EXPECT_EQ(cell(3, "rate"), "0.0000");
  EXPECT_EQ(cell(3, "bytes/io"), "n/a");
  EXPECT_EQ(cell(4, "Interval"), "4");
  EXPECT_EQ(cell(4, "tod"), "18:00:04.000");
  EXPECT_EQ(cell(4, "resp"), "1.0000");
  EXPECT_EQ(cell(4, "resp_max"), "n/a");
  EXPECT_EQ(cell(5, "Interval"), "avg_1-5");
}

TEST(VdbenchTableTest, ARunWithoutLoadHasNoTable) {
  v1::Report report;
  report.add_phases()->set_kind("prepare");
  EXPECT_EQ(RenderVdbench(report, {}), "");
  EXPECT_EQ(RenderIometer(report), "");
}

}  // namespace
}  // namespace lockstep::controller
