// Findings about devices: others that use them, short loads, lost paths.

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(FindingsTest, OthersOnTheDeviceAreNamedWithTheirTimeAndTheirProgram) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 3; k < 6; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
  process->set_command("mysqld");
  process->set_pid(77);
  process->set_write_bytes(150 << 20);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(0).findings(0).kind(), "interference");
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).begin_seconds(), 3);
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).end_seconds(), 6);
  EXPECT_NE(FindingsOf(phase).find("150 MiB"), std::string::npos) << FindingsOf(phase);
  EXPECT_NE(FindingsOf(phase).find("mysqld[77]"), std::string::npos) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(1).findings_size(), 0);
}

// /proc has what reaped children did in their whole lives: each program alone could have moved what
// the device did beside the engines, not all of them together.
TEST(FindingsTest, ProgramsDidNoMoreTogetherThanTheDeviceMoved) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 3; k < 6; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  uint32_t pid = 77;
  for (const auto& [command, mebibytes] : {std::pair("mysqld", 150), {"tar", 20}, {"cp", 8}}) {
    v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
    process->set_command(command);
    process->set_pid(pid++);
    process->set_write_bytes(uint64_t{1048576} * static_cast<uint64_t>(mebibytes));
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_TRUE(absl::StrContains(FindingsOf(phase),
                                "mysqld[77] wrote 150 MiB, cp[79] wrote 8 MiB during that time"))
      << FindingsOf(phase);
  // Nothing bounds those of the whole kernel.
  EXPECT_EQ(phase.kernels(0).others_size(), 3);
}

// /proc was read 2 s before the load of 10 s: who writes all the time has a fifth more there.
TEST(FindingsTest, AProgramThatWritesAllTheTimeIsNamedWithWhatItDidBefore) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 0; k < 10; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  v1::PhaseResult& result = data.phases[0].workers[0].result;
  uint32_t pid = 77;
  for (const auto& [command, mebibytes] : {std::pair("mysqld", 600), {"tar", 40}}) {
    v1::ProcessIo* process = result.add_others();
    process->set_command(command);
    process->set_pid(pid++);
    process->set_write_bytes(uint64_t{1048576} * static_cast<uint64_t>(mebibytes));
  }
  // It is not known how long before: a few bytes of another one do not explain the rest.
  std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_TRUE(absl::StrContains(found, "most of it by whom is not known; tar[78]")) << found;
  result.set_others_ns(12000000000);
  found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_TRUE(absl::StrContains(found, "from 0 to 10 s: mysqld[77] wrote 600 MiB")) << found;
}

// The last interval may be shorter than the others: others did what they did in its own time.
TEST(FindingsTest, OthersInAShortLastIntervalCountByItsLength) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  data.intervals[0][9].set_end_ns(9500000000);
  data.intervals[0][9].mutable_devices(0)->set_write_bytes(50 << 20);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  EXPECT_TRUE(absl::StrContains(FindingsOf(phase),
                                "others moved 50 MiB on it in 0.5 s of the time from 9 to 9.5 s"))
      << FindingsOf(phase);
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).seconds(), 0.5);
}

// A load of 935 µs, whose counters are of 25 ms. Another program wrote during that time.
Stored ShortLoad(uint64_t others_bytes) {
  constexpr int64_t kLoadNs = 935000;
  Stored data = TwoWorkers();
  for (uint32_t i = 0; i < 2; ++i) {
    data.intervals[i].resize(1);
    data.intervals[i][0].set_end_ns(kLoadNs);
    v1::PhaseResult& result = data.phases[0].workers[i].result;
    *result.mutable_workloads(0)->mutable_measured(0) =
        data.intervals[i][0].workloads(0).operations(0);
    result.mutable_workloads(0)->set_ended_ns(kLoadNs);
    result.set_first_io_ns(result.go_ns() + 335000);
    result.set_last_io_ns(result.go_ns() + kLoadNs);
    result.set_sampled_ns(25000000);
    result.mutable_threads(0)->set_operations(result.workloads(0).measured(0).operations());
    result.mutable_threads(0)->set_execution_time_ns(kLoadNs - 335000);
  }
  data.intervals[0][0].mutable_devices(0)->set_write_bytes(others_bytes);
  return data;
}

TEST(FindingsTest, AShortLoadGetsNothingOfWhatOthersDidAroundIt) {
  const v1::PhaseReport phase = ReportOf(ShortLoad(5 << 18)).phases(0);
  const v1::DeviceReport& d = phase.devices(0);
  EXPECT_EQ(d.findings_size(), 0) << FindingsOf(phase);
  EXPECT_TRUE(absl::StrContains(d.not_rated(), "the measured time of 935 µs")) << d.not_rated();
  EXPECT_EQ(d.writes_per_second(), 0);
  EXPECT_EQ(d.reads_per_second(), 0);
  // No processor switches 800 times in a millisecond.
  EXPECT_EQ(phase.kernels_size(), 0);
  EXPECT_FALSE(phase.time_spent().has_amplification());
  EXPECT_FALSE(phase.time_spent().has_context_switches_per_second());
  // The bytes are the load's all the same.
  EXPECT_EQ(d.cross_check().verdict(), v1::CrossCheck::VERDICT_AGREE) << d.cross_check().reason();
  // Both rates are over the time from T to the last completion.
  EXPECT_NEAR(phase.threads(0).iops(), phase.hosts(0).iops(), 1);
}

TEST(FindingsTest, BytesOfALongerTimeAreNotSaidToBeTheLoads) {
  const v1::CrossCheck check = ReportOf(ShortLoad(50 << 20)).phases(0).devices(0).cross_check();
  EXPECT_EQ(check.verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(check.reason(), "50 MiB more: the counters are of"))
      << check.reason();
}

// Workers of earlier versions do not say what time their counters are of.
TEST(FindingsTest, CountersOfAnUnknownTimeFitAQuarterOfASecond) {
  Stored data = TwoWorkers();
  for (uint32_t i = 0; i < 2; ++i) data.intervals[i].resize(1);
  for (const auto& [end_ns, kernels] : {std::pair(250000000, 1), {200000000, 0}}) {
    for (uint32_t i = 0; i < 2; ++i) data.intervals[i][0].set_end_ns(end_ns);
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.kernels_size(), kernels) << end_ns;
    EXPECT_EQ(phase.devices(0).not_rated().empty(), kernels == 1) << end_ns;
  }
}

TEST(FindingsTest, LostPathsAreToldWithTheirTimeAndTheStall) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 0 && k == 4 ? 0 : 2000; });
  for (uint32_t k = 0; k < 10; ++k) {
    v1::DeviceSample* device = data.intervals[0][k].mutable_devices(0);
    device->set_paths(4);
    device->set_paths_running(k >= 4 && k < 7 ? 2 : 4);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  const v1::Finding& finding = phase.devices(0).findings(0);
  EXPECT_EQ(finding.kind(), "paths");
  EXPECT_DOUBLE_EQ(finding.begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(finding.end_seconds(), 7);
  EXPECT_DOUBLE_EQ(finding.seconds(), 3);
  EXPECT_EQ(finding.sentence(),
            "of its 4 paths only 2 ran, in 3 s of the time from 4 to 7 s; in 1 s of them no I/O of "
            "this host completed");
  EXPECT_EQ(phase.devices(1).findings_size(), 0);
}

}  // namespace
}  // namespace lockstep::controller
