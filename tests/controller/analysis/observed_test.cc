// The report of an observe phase: figures of devices, and none of an engine.

#include "absl/strings/match.h"
#include "controller/report/csv.h"
#include "controller/report/json.h"
#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"
#include "measure/report_states.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// Two hosts, four seconds. Each reads `reads` and writes 50 times a second on its sda, and dm-0
// lies on that.
Stored Observed(uint64_t reads_of_a, uint64_t reads_of_b) {
  Stored data;
  data.run.state = measure::RunState::kDone;
  v1::PhaseSpec* spec = data.run.job.add_phases();
  spec->set_name("watch");
  spec->mutable_observe()->set_duration_ns(4000000000);
  measure::PhaseData phase;
  phase.phase.spec = *spec;
  phase.phase.name = "watch";
  phase.phase.kind = "observe";
  phase.phase.state = measure::PhaseState::kDone;
  phase.phase.interval_ns = 1000000000;
  for (uint32_t h = 0; h < 2; ++h) {
    measure::RunWorker worker;
    worker.worker_index = h;
    worker.host = h == 0 ? "a" : "b";
    worker.boot_id = "boot" + worker.host;
    v1::ObservedDevices* observed = worker.inspection.add_observed();
    for (const char* name : {"dm-0", "sda"}) {
      v1::ObservedDevice* device = observed->add_devices();
      device->set_name(name);
      device->set_identity(name == std::string("sda") ? "naa.600" : "");
    }
    observed->mutable_devices(0)->add_on("sda");
    data.workers.push_back(worker);
    measure::WorkerPhaseData part;
    part.worker_index = h;
    part.has_result = true;
    part.result.set_go_ns(1);
    part.result.set_end_ns(4000000001);
    v1::ProcessIo* program = part.result.add_others();
    program->set_command("mysqld");
    program->set_pid(7);
    program->set_write_bytes(2 << 20);
    const uint64_t reads = h == 0 ? reads_of_a : reads_of_b;
    for (uint32_t k = 0; k < 4; ++k) {
      v1::IntervalSample interval;
      interval.set_interval(k);
      interval.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
      interval.set_begin_ns(k * 1000000000ll);
      interval.set_end_ns((k + 1) * 1000000000ll);
      for (const char* name : {"dm-0", "sda"}) {
        v1::DeviceSample* d = interval.add_devices();
        d->set_name(name);
        d->set_nested(name == std::string("dm-0"));
        d->set_reads(reads);
        d->set_read_bytes(reads * 8192);
        d->set_read_time_ms(reads * 2);
        d->set_writes(50);
        d->set_write_bytes(uint64_t{50} * 4096);
        d->set_write_time_ms(50);
        d->set_queue_time_ms(500);
        d->set_busy_time_ms(250);
      }
      interval.mutable_host()->set_context_switches(800);
      data.intervals[h].push_back(interval);
    }
    phase.workers.push_back(part);
  }
  data.phases.push_back(phase);
  return data;
}

// /proc does not tell on which device a program writes.
TEST(ObservedTest, ProgramsThatMovedMoreThanTheDevicesWereElsewhere) {
  Stored data = Observed(100, 300);
  const auto said = [&](int host) {
    std::vector<std::string> programs;
    const v1::Report report = ReportOf(data);
    for (const v1::ObservedSentence& s : report.phases(0).observed().sentences()) {
      if (measure::Is(s, measure::ObservedKind::kPrograms)) programs.push_back(s.sentence());
    }
    return programs.at(static_cast<size_t>(host));
  };
  EXPECT_EQ(said(0), "mysqld[7] wrote 2 MiB");
  data.phases[0].workers[0].result.mutable_others(0)->set_write_bytes(64 << 20);
  // Four seconds of 50 writes/s.
  EXPECT_TRUE(absl::StrContains(said(0), "mysqld[7] wrote 64 MiB; the observed devices read "))
      << said(0);
  EXPECT_TRUE(absl::StrContains(said(0),
                                " and wrote 800 KiB in this time: the rest was on other devices or "
                                "mounts of servers, or is still in memory"))
      << said(0);
  EXPECT_EQ(said(1), "mysqld[7] wrote 2 MiB");
}

TEST(ObservedTest, StackedDevicesAreNotAddedToThoseBeneath) {
  const v1::Report report = ReportOf(Observed(100, 300));
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_TRUE(phase.has_observed());
  EXPECT_EQ(phase.devices_size(), 4);
  const v1::ObservedFigures& total = phase.observed().total();
  EXPECT_EQ(total.devices(), 2u);
  EXPECT_DOUBLE_EQ(total.reads_per_second(), 400);
  EXPECT_DOUBLE_EQ(total.writes_per_second(), 100);
  EXPECT_DOUBLE_EQ(total.read_ratio(), 0.8);
  EXPECT_DOUBLE_EQ(total.read_request_bytes(), 8192);
  EXPECT_DOUBLE_EQ(total.read_await_ms(), 2);
  EXPECT_DOUBLE_EQ(total.write_await_ms(), 1);
  EXPECT_DOUBLE_EQ(total.queue_size(), 1);
  EXPECT_DOUBLE_EQ(total.busy_ratio(), 0.25);
  ASSERT_EQ(phase.observed().hosts_size(), 2);
  EXPECT_DOUBLE_EQ(phase.observed().hosts(1).devices().reads_per_second(), 300);
  EXPECT_DOUBLE_EQ(phase.observed().seconds(), 4);
}

// Host a says which layers it has: ext4 on dm-0 on sda.
void AddStack(Stored* data) {
  v1::Inspection* inspection = &data->workers[0].inspection;
  for (const char* name : {"sda", "dm-0", ""}) {
    v1::StorageLayer* layer = inspection->add_layers();
    layer->set_device_name(name);
    layer->set_kind(name == std::string("sda") ? "nvme" : *name == 0 ? "ext4" : "lvm");
    const int number = inspection->layers_size();
    if (number > 1) layer->add_underneath(static_cast<uint32_t>(number) - 1);
  }
  inspection->mutable_layers(2)->set_mount_point("/data");
  inspection->mutable_observed(0)->add_top_layers(3);
}

TEST(ObservedTest, TheStackOfLayersIsShown) {
  Stored data = Observed(100, 300);
  AddStack(&data);
  const v1::Report report = ReportOf(data);
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.devices_size(), 4);
  EXPECT_EQ(phase.devices(0).name(), "dm-0");
  EXPECT_EQ(phase.devices(0).kind(), "lvm");
  EXPECT_EQ(phase.devices(0).depth(), 1u);
  ASSERT_EQ(phase.devices(0).filesystems_size(), 1);
  EXPECT_EQ(phase.devices(0).filesystems(0), "ext4 on /data");
  ASSERT_EQ(phase.devices(0).underneath_size(), 1);
  EXPECT_EQ(phase.devices(0).underneath(0), "sda");
  EXPECT_EQ(phase.devices(1).name(), "sda");
  EXPECT_EQ(phase.devices(1).depth(), 2u);
  EXPECT_DOUBLE_EQ(phase.devices(1).read_await_ms(), 2);
  TextOptions options;
  options.width = 120;
  options.detail = true;
  const std::string detail = RenderText(report, options);
  EXPECT_NE(detail.find("layer"), std::string::npos) << detail;
  EXPECT_NE(detail.find("ext4 on /data"), std::string::npos) << detail;
  EXPECT_NE(detail.find("sda (nvme)"), std::string::npos) << detail;
}

// Host a reads from a server, too; host b has no device, and a mount of a kind that is not counted.
TEST(ObservedTest, MountsOfServersHaveASentenceEach) {
  Stored data = Observed(100, 300);
  for (uint32_t h : {0u, 1u}) {
    v1::ObservedMount* mount = data.workers[h].inspection.mutable_observed(0)->add_mounts();
    mount->set_mount_point(h == 0 ? "/nas" : "/share");
    mount->set_kind(h == 0 ? "nfs4" : "cifs");
  }
  v1::PhaseResult* result = &data.phases[0].workers[0].result;
  result->set_network_namespace("net:[1]");
  v1::StorageRoute* route = result->add_routes();
  route->set_protocol("nfs");
  route->set_mount("/nas");
  route->set_server("10.0.0.2");
  for (v1::IntervalSample& interval : data.intervals[0]) {
    v1::NfsSample* nfs = interval.add_nfs();
    nfs->set_mount("/nas");
    nfs->set_operation("READ");
    nfs->set_operations(100);
    nfs->set_transmissions(100);
    nfs->set_round_trip_ms(150);
    nfs->set_execution_ms(200);
  }
  for (v1::IntervalSample& interval : data.intervals[1]) interval.clear_devices();
  const v1::Report report = ReportOf(data);
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.nfs_size(), 1);
  EXPECT_EQ(phase.nfs(0).server(), "10.0.0.2");
  EXPECT_EQ(phase.observed().mounts(), 2u);
  std::vector<std::string> sentences;
  for (const v1::ObservedSentence& sentence : phase.observed().sentences()) {
    if (sentence.kind() == "mount") sentences.push_back(sentence.sentence());
  }
  EXPECT_EQ(sentences, (std::vector<std::string>{
                           "nfs4 on /nas: 100 READ/s in 2 ms (1.50 ms to the server and back)",
                           "cifs on /share: its client counts no operations"}));
  TextOptions options;
  options.width = 160;
  const std::string first = RenderText(report, options);
  EXPECT_NE(first.find("2 mounts of servers"), std::string::npos) << first;
  EXPECT_NE(first.find("a: nfs4 on /nas: 100 READ/s"), std::string::npos) << first;
}

TEST(ObservedTest, WithoutADeviceNoZeroStandsForItsFigures) {
  Stored data = Observed(100, 300);
  for (uint32_t h : {0u, 1u}) {
    v1::ObservedDevices* observed = data.workers[h].inspection.mutable_observed(0);
    observed->clear_devices();
    v1::ObservedMount* mount = observed->add_mounts();
    mount->set_mount_point("/nas");
    mount->set_kind("nfs4");
    for (v1::IntervalSample& interval : data.intervals[h]) interval.clear_devices();
  }
  const std::string first = RenderText(ReportOf(data), {.width = 160});
  EXPECT_EQ(first.find("device reads"), std::string::npos) << first;
  EXPECT_NE(first.find("2 mounts of servers, no block device"), std::string::npos) << first;
  EXPECT_NE(first.find("nfs4 on /nas: no operations"), std::string::npos) << first;
}

TEST(ObservedTest, FairnessIsOverTheHostsAndOnWhatTheyShare) {
  const v1::Report report = ReportOf(Observed(50, 250));
  const auto& fairness = report.phases(0).fairness();
  ASSERT_EQ(fairness.size(), 3);
  EXPECT_EQ(fairness[0].of(), "device IOPS over hosts");
  EXPECT_DOUBLE_EQ(fairness[0].jain(), 160000.0 / (2 * (10000.0 + 90000.0)));
  EXPECT_EQ(fairness[1].of(), "device bytes over hosts");
  EXPECT_EQ(fairness[2].of(), "IOPS on naa.600 over hosts");
}

TEST(ObservedTest, ALunCountsOnceOnAHostThatSeesItTwice) {
  // As of a multipath device and its path. The other host has one device of that identity.
  Stored data = Observed(50, 250);
  data.workers[0].inspection.mutable_observed(0)->mutable_devices(0)->set_identity("naa.600");
  const v1::Report report = ReportOf(data);
  const auto& fairness = report.phases(0).fairness();
  ASSERT_EQ(fairness.size(), 3);
  EXPECT_DOUBLE_EQ(fairness[2].jain(), 160000.0 / (2 * (10000.0 + 90000.0)));
}

TEST(ObservedTest, NoFigureOfAnEngineIsMadeUp) {
  const v1::Report report = ReportOf(Observed(100, 300));
  const v1::PhaseReport& phase = report.phases(0);
  EXPECT_FALSE(phase.has_total());
  EXPECT_TRUE(phase.workloads().empty());
  EXPECT_TRUE(phase.hosts().empty());
  EXPECT_TRUE(phase.remarks().empty()) << phase.remarks(0);
  const std::string json = ToJson(report);
  EXPECT_FALSE(phase.has_time_spent());
  EXPECT_TRUE(phase.promised().empty());
  for (const char* word : {"engineIops", "engineReadBytes", "engineTrimBytes", "crossCheck",
                           "cpuNsPerIo", "interruptsPerIo"}) {
    EXPECT_EQ(json.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(phase.devices(1).hosts(0), "a");
  EXPECT_EQ(phase.devices(1).identity(), "naa.600");
}

TEST(ObservedTest, TextHasDashesForEngineFigures) {
  const v1::Report report = ReportOf(Observed(100, 0));
  TextOptions options;
  options.width = 120;
  const std::string first = RenderText(report, options);
  EXPECT_NE(first.find("device reads"), std::string::npos) << first;
  EXPECT_NE(first.find("–"), std::string::npos) << first;
  EXPECT_NE(first.find("mysqld[7] wrote 2 MiB"), std::string::npos) << first;
  options.detail = true;
  const std::string detail = RenderText(report, options);
  EXPECT_NE(detail.find("b/sda"), std::string::npos) << detail;
  EXPECT_EQ(detail.find("cross-check"), std::string::npos) << detail;
  EXPECT_EQ(detail.find("per I/O"), std::string::npos) << detail;
  EXPECT_NE(RenderMarkdown(report).find("| device writes | 100 |"), std::string::npos)
      << RenderMarkdown(report);
}

TEST(ObservedTest, CsvNamesTheDeviceAndLeavesTheRestEmpty) {
  const std::string csv = RenderCsv(ReportOf(Observed(100, 300)));
  EXPECT_NE(csv.find(",watch,,a,device read,,3276800,,100,819200,,2000000,,,,,,,,sda,false\r\n"),
            std::string::npos)
      << csv;
}

TEST(ObservedTest, CsvMarksTheDevicesThatSumsLeaveOut) {
  Stored data = Observed(100, 300);
  for (v1::IntervalSample& interval : data.intervals[0]) {
    interval.mutable_devices(1)->set_nested(true);
  }
  const std::string csv = RenderCsv(ReportOf(data));
  EXPECT_NE(csv.find("ns,device,nested\r\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",,sda,true\r\n"), std::string::npos) << csv;
}

TEST(ObservedTest, DiscardsAndFlushesAreShown) {
  Stored data = Observed(100, 300);
  for (v1::IntervalSample& interval : data.intervals[0]) {
    v1::DeviceSample* sda = interval.mutable_devices(1);
    sda->set_discards(4);
    sda->set_discard_bytes(uint64_t{4} << 20);
    sda->set_discard_time_ms(8);
    sda->set_flushes(2);
    sda->set_flush_time_ms(6);
  }
  const v1::Report report = ReportOf(data);
  EXPECT_NE(RenderCsv(report).find(",a,device discard,,16777216,,4,4194304,,2000000,,,,,,,,sda"),
            std::string::npos)
      << RenderCsv(report);
  TextOptions options;
  options.detail = true;
  const std::string detail = RenderText(report, options);
  EXPECT_NE(detail.find("discard"), std::string::npos) << detail;
  EXPECT_NE(detail.find("flush"), std::string::npos) << detail;
  bool is_said = false;
  for (const v1::ObservedSentence& sentence : report.phases(0).observed().sentences()) {
    is_said |= sentence.sentence().find("4 discards/s of 1 MiB in 2 ms, 2 flushes/s in 3 ms") !=
               std::string::npos;
  }
  EXPECT_TRUE(is_said);
}

TEST(ObservedTest, ALostHostIsInNoSum) {
  Stored data = Observed(100, 300);
  data.phases[0].workers[1].has_result = false;
  data.phases[0].workers[1].result.Clear();
  const v1::Report report = ReportOf(data);
  const v1::PhaseReport& phase = report.phases(0);
  EXPECT_EQ(phase.workers_lost(), 1u);
  EXPECT_DOUBLE_EQ(phase.observed().total().reads_per_second(), 100);
  EXPECT_TRUE(phase.observed().hosts(1).lost());
  EXPECT_TRUE(phase.fairness().empty());
  ASSERT_EQ(phase.remarks_size(), 1);
  EXPECT_NE(phase.remarks(0).find("DEGRADED"), std::string::npos);
}

// As an earlier run measured naa.600.
v1::MeasuredLimit* AddLimit(double iops, double read_ratio, Stored* data) {
  v1::ObservePhase* observe = data->phases[0].phase.spec.mutable_observe();
  observe->set_compare_with("1a2b3c4d-0000-4000-8000-000000000000");
  v1::MeasuredLimit* limit = observe->add_limits();
  limit->set_device_key("naa.600");
  limit->set_identity("naa.600");
  limit->set_phase("mix");
  limit->set_measured_at("2026-11-12T08:00:00Z");
  limit->set_iops(iops);
  limit->set_read_ratio(read_ratio);
  limit->set_read_request_bytes(8192);
  limit->set_write_request_bytes(4096);
  return limit;
}

// Both hosts share the device: 400 reads and 100 writes a second in all.
TEST(ObservedTest, TheShareOfALimitIsOverAllHostsAndNamesTheOtherRun) {
  Stored data = Observed(100, 300);
  AddLimit(9000, 0.3, &data);
  v1::MeasuredLimit* limit = AddLimit(2000, 0.75, &data);
  for (const auto& [share, p99_ns] : {std::pair(0.58, 1.8e6), std::pair(0.9, 4e6)}) {
    v1::LatencyAtShare* latency = limit->add_latencies();
    latency->set_share(share);
    latency->set_p99_ns(p99_ns);
  }
  const v1::Report report = ReportOf(data);
  const v1::ObservedReport& observed = report.phases(0).observed();
  ASSERT_EQ(observed.shares_size(), 1);
  const v1::ObservedShare& share = observed.shares(0);
  EXPECT_DOUBLE_EQ(share.share(), 0.25);
  EXPECT_DOUBLE_EQ(share.iops(), 500);
  EXPECT_DOUBLE_EQ(share.limit_iops(), 2000);
  EXPECT_DOUBLE_EQ(share.read_ratio(), 0.8);
  EXPECT_EQ(share.hosts_size(), 2);
  EXPECT_EQ(share.difference(), "");
  EXPECT_EQ(share.sentence(),
            "sda of a and 1 more: 25 % of the 2,000 IOPS that this device gave on 12 November 2026 "
            "(run 1a2b3c4d, phase mix), if the pattern is as random; in that run p99 was 1.80 ms "
            "at 58 % and 4 ms at 90 %");
  // dm-0 has no identity, and is not said to be missing.
  EXPECT_EQ(observed.not_measured(), "");
  TextOptions options;
  options.width = 2000;
  for (const bool detail : {false, true}) {
    options.detail = detail;
    EXPECT_NE(RenderText(report, options).find(share.sentence()), std::string::npos) << detail;
  }
  EXPECT_NE(RenderMarkdown(report).find("25 % of the 2,000 IOPS"), std::string::npos);
}

TEST(ObservedTest, RequestsThatAreNotSimilarAreNotCompared) {
  Stored data = Observed(100, 300);
  AddLimit(9000, 0, &data);
  AddLimit(2000, 0.5, &data);
  const v1::Report report = ReportOf(data);
  ASSERT_EQ(report.phases(0).observed().shares_size(), 1);
  const v1::ObservedShare& share = report.phases(0).observed().shares(0);
  EXPECT_FALSE(share.has_share());
  EXPECT_EQ(share.difference(), "80 % of the requests are reads here, 50 % there");
  EXPECT_EQ(share.sentence(),
            "sda of a and 1 more: not compared with what run 1a2b3c4d measured on 12 November "
            "2026: 80 % of the requests are reads here, 50 % there (phase mix)");
}

TEST(ObservedTest, DevicesThatTheOtherRunDidNotMeasureAreNamed) {
  Stored data = Observed(100, 300);
  AddLimit(2000, 0.75, &data)->set_device_key("naa.other");
  const v1::Report report = ReportOf(data);
  EXPECT_TRUE(report.phases(0).observed().shares().empty());
  EXPECT_EQ(report.phases(0).observed().not_measured(),
            "not compared, because run 1a2b3c4d did not measure them: sda of a");
}

TEST(ObservedTest, DevicesThatOnlyLieUnderneathOthersAreNotCompared) {
  for (const char* key : {"naa.600", "naa.other"}) {
    Stored data = Observed(100, 300);
    for (measure::RunWorker& worker : data.workers) {
      worker.inspection.mutable_observed(0)->mutable_devices(1)->set_only_underneath(true);
    }
    AddLimit(2000, 0.75, &data)->set_device_key(key);
    const v1::Report report = ReportOf(data);
    EXPECT_TRUE(report.phases(0).observed().shares().empty()) << key;
    // Nor are they said to be missing.
    EXPECT_EQ(report.phases(0).observed().not_measured(), "") << key;
    EXPECT_EQ(report.phases(0).fairness_size(), 3) << "of both hosts' requests to the disk, too";
  }
}

TEST(ObservedTest, AnIdleDeviceHasNoShare) {
  Stored data = Observed(0, 0);
  for (auto& [worker, intervals] : data.intervals) {
    for (v1::IntervalSample& interval : intervals) {
      for (v1::DeviceSample& device : *interval.mutable_devices()) device.clear_writes();
    }
  }
  AddLimit(2000, 0.75, &data);
  const v1::Report report = ReportOf(data);
  ASSERT_EQ(report.phases(0).observed().shares_size(), 1);
  EXPECT_EQ(report.phases(0).observed().shares(0).difference(), "it had no requests");
}

}  // namespace
}  // namespace lockstep::controller
