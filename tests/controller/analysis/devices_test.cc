// The figures of iostat and vmstat, in the report.

#include "controller/analysis/devices.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/analysis/cross_check.h"
#include "controller/report/host_figures.h"
#include "controller/report/text.h"
#include "tests/controller/analysis/stored_phases.h"
#include "worker/host/disk_stats.h"

namespace lockstep::controller {
namespace {

// Recorded on Linux 6.18; 2 s lie between them.
constexpr char kVdaBefore[] =
    " 254       0 vda 540984799 4010381 7713040308 164496629 255986912 6831632 5120407196 69664142 "
    "0 11776336 236776612 11784299 2003 1414711576 1505518 11085515 1110321\n";
constexpr char kVdaAfter[] =
    " 254       0 vda 540985799 4010631 7713120308 164497049 255987412 6833132 5120439196 69665042 "
    "3 11778236 236777952 11784319 2008 1414752536 1505548 11085523 1110357\n";

v1::DeviceSample Between(const std::string& earlier, const std::string& later) {
  const auto difference = worker::Difference(worker::ParseDiskStats(earlier).at("vda"),
                                             worker::ParseDiskStats(later).at("vda"));
  EXPECT_TRUE(difference.has_value());
  return difference.value_or(v1::DeviceSample());
}

TEST(FillDeviceTest, EachFigureFollowsIostatsFormula) {
  v1::DeviceReport d;
  FillDevice(Between(kVdaBefore, kVdaAfter), 2, &d);
  EXPECT_DOUBLE_EQ(d.reads_per_second(), 500);
  EXPECT_DOUBLE_EQ(d.read_bytes_per_second(), 80000 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(d.read_merges_per_second(), 125);
  EXPECT_DOUBLE_EQ(d.read_merged_ratio(), 0.2);
  EXPECT_DOUBLE_EQ(d.read_await_ms(), 0.42);
  EXPECT_DOUBLE_EQ(d.read_request_bytes(), 40960);
  EXPECT_DOUBLE_EQ(d.writes_per_second(), 250);
  EXPECT_DOUBLE_EQ(d.write_bytes_per_second(), 32000 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(d.write_merges_per_second(), 750);
  EXPECT_DOUBLE_EQ(d.write_merged_ratio(), 0.75);
  EXPECT_DOUBLE_EQ(d.write_await_ms(), 1.8);
  EXPECT_DOUBLE_EQ(d.write_request_bytes(), 32768);
  EXPECT_DOUBLE_EQ(d.discards_per_second(), 10);
  EXPECT_DOUBLE_EQ(d.discard_bytes_per_second(), 40960 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(d.discard_merges_per_second(), 2.5);
  EXPECT_DOUBLE_EQ(d.discard_merged_ratio(), 0.2);
  EXPECT_DOUBLE_EQ(d.discard_await_ms(), 1.5);
  EXPECT_DOUBLE_EQ(d.discard_request_bytes(), 1048576);
  EXPECT_DOUBLE_EQ(d.flushes_per_second(), 4);
  EXPECT_DOUBLE_EQ(d.flush_await_ms(), 4.5);
  EXPECT_DOUBLE_EQ(d.queue_size(), 0.67);
  EXPECT_DOUBLE_EQ(d.busy_ratio(), 0.95);
}

TEST(FillDeviceTest, WaitsAndSizesOfNoRequestAreAbsent) {
  v1::DeviceReport d;
  FillDevice(Between(kVdaBefore, kVdaBefore), 2, &d);
  EXPECT_DOUBLE_EQ(d.reads_per_second(), 0);
  EXPECT_FALSE(d.has_read_await_ms());
  EXPECT_FALSE(d.has_read_request_bytes());
  EXPECT_FALSE(d.has_read_merged_ratio());
  EXPECT_FALSE(d.has_write_await_ms());
  EXPECT_FALSE(d.has_discard_await_ms());
  EXPECT_FALSE(d.has_flush_await_ms());
  v1::DeviceReport none;
  FillDevice(Between(kVdaBefore, kVdaAfter), 0, &none);
  EXPECT_EQ(none.ByteSizeLong(), 0u);
}

TEST(FillDeviceTest, ADeviceIsNeverBusyForLongerThanTheTime) {
  v1::DeviceReport d;
  FillDevice(Between(kVdaBefore, kVdaAfter), 1.5, &d);
  EXPECT_DOUBLE_EQ(d.busy_ratio(), 1);
}

TEST(SettingsTest, WhatAnotherRunHadChangedIsSaid) {
  Stored data = TwoWorkers();
  constexpr int64_t kBegin = 1700000000000000000;
  data.phases[0].phase.go_wall_ns = kBegin;
  measure::OtherSettings other;
  other.run_id = "1234abcd-0000-4000-8000-000000000000";
  other.environment.set_scheduler("mq-deadline");
  other.from_wall_ns = kBegin - 1000000000;
  data.concurrent_settings.push_back(other);
  const auto said = [&] {
    std::string all;
    const v1::Report report = ReportOf(data);
    for (const std::string& remark : report.phases(0).remarks()) all += remark + "\n";
    return all;
  };
  // On another device.
  EXPECT_FALSE(absl::StrContains(said(), "run 1234abcd"));
  data.concurrent["boot/sda"] = {other.run_id};
  EXPECT_TRUE(absl::StrContains(said(),
                                "run 1234abcd had changed settings of the hosts' kernels during "
                                "that time (scheduler mq-deadline), and both runs use sda"))
      << said();
  // Before this phase, and after its three seconds.
  data.concurrent_settings[0].until_wall_ns = kBegin - 1;
  EXPECT_FALSE(absl::StrContains(said(), "run 1234abcd"));
  data.concurrent_settings[0].until_wall_ns = 0;
  data.concurrent_settings[0].from_wall_ns = kBegin + 3000000000;
  EXPECT_FALSE(absl::StrContains(said(), "run 1234abcd"));
}

// All reads may have come from the page cache while another program read as much.
TEST(CrossCheckTest, BytesThatMayBeAnotherProgramsShowNothing) {
  Stored data = TwoWorkers();
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
  }
  v1::ProcessIo* other = data.phases[0].workers[0].result.add_others();
  other->set_command("python3");
  other->set_pid(123);
  other->set_read_bytes(uint64_t{1100} * 4096);
  const auto check = [&] { return ReportOf(data).phases(0).devices(0).cross_check(); };
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(check().reason(), "(python3[123] read ")) << check().reason();
  // A loop device's thread does the load's own I/O.
  other->set_command("kworker/u8:3-loop3");
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_AGREE) << check().reason();
  // A program's reads beyond the device's bytes were on another one, or later. The rest may have
  // been on this one.
  other->set_command("python3");
  other->set_read_bytes(uint64_t{2400} * 4096);
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE) << check().reason();
  // Direct reads reach the device.
  other->set_read_bytes(uint64_t{1100} * 4096);
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(true);
  }
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_AGREE) << check().reason();
}

// The kernel's own count of the workers decides, whatever is known of other programs.
TEST(CrossCheckTest, ReadsThatTheWorkersDidNotAskForAreOthers) {
  Stored data = TwoWorkers();
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
  }
  const auto set_own = [&](uint64_t first, uint64_t second) {
    data.phases[0].workers[0].result.set_own_read_bytes(first * 4096);
    data.phases[0].workers[1].result.set_own_read_bytes(second * 4096);
  };
  const auto check = [&] { return ReportOf(data).phases(0).devices(0).cross_check(); };
  // 300 and 900 reads.
  set_own(300, 2);
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_EQ(
      check().reason(),
      "the device moved 4.69 MiB, the engines 4.69 MiB, but for the load itself the kernel counts "
      "only 1.18 MiB read and 0 B written (/proc/self/io): the page cache served the rest, and the "
      "device moved bytes of other programs");
  v1::ProcessIo* other = data.phases[0].workers[0].result.add_others();
  other->set_command("python3");
  other->set_read_bytes(uint64_t{1100} * 4096);
  EXPECT_TRUE(
      absl::StrContains(check().reason(), "bytes of other programs (python3[0] read 4.30 MiB)"))
      << check().reason();
  // All their requests reached the device, whatever another program did elsewhere.
  set_own(300, 900);
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_AGREE) << check().reason();
  // One of them does not know.
  data.phases[0].workers[1].result.clear_own_read_bytes();
  EXPECT_EQ(check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE) << check().reason();
}

// 1 GiB of buffered writes in blocks of 64 KiB, merged into requests of 512 KiB.
CrossCheckInput MergedWrites() {
  CrossCheckInput in;
  in.buffered = true;
  in.block_bytes = 64 << 10;
  in.engine_write_bytes = in.device_write_bytes = 1 << 30;
  in.device_writes = 2048;  // of 512 KiB
  in.own_write_bytes = 1 << 30;
  in.own_read_bytes = 0;
  in.own_is_here = true;
  in.others = "dd[7] wrote 256 MiB";
  in.others_write_bytes = 256 << 20;
  return in;
}

// The kernel counted all the writes for the load itself, and the load synced them: they are on the
// device, whatever others wrote.
TEST(CrossCheckTest, SyncedWritesReachedTheDeviceBesideOthers) {
  CrossCheckInput in = MergedWrites();
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(
      absl::EndsWith(CrossCheckOf(in).reason(), "; with fsync: {at_end: true} this could be told"))
      << CrossCheckOf(in).reason();
  in.synced = true;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_COALESCED);
  // Others' bytes and requests are among the device's: 1 GiB in at most 2,048 and 512 requests.
  in.device_write_bytes += 256 << 20;
  in.device_writes += 512;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_COALESCED);
  EXPECT_EQ(CrossCheckOf(in).reason(),
            "the engines' blocks of 64 KiB reached the device in requests of at least 410 KiB on "
            "average (merged at least ×6.4): this is a rate for large requests, not for blocks of "
            "64 KiB; the device wrote 1.25 GiB where the engines asked for 1 GiB, 256 MiB more: "
            "other programs of this host moved bytes at the same time (dd[7] wrote 256 MiB), and "
            "these may be theirs; a run without them tells");
  // Requests of the other direction are not the load's.
  in.device_reads = 100000;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_COALESCED);
}

TEST(CrossCheckTest, WritesThatMayHaveStayedInMemoryAreNotCalledMerged) {
  CrossCheckInput in = MergedWrites();
  in.synced = true;
  in.device_write_bytes += 256 << 20;
  const auto is_merged = [](const CrossCheckInput& changed) {
    return CrossCheckOf(changed).verdict() == v1::CrossCheck::VERDICT_COALESCED;
  };
  EXPECT_TRUE(is_merged(in));
  CrossCheckInput rewritten = in;
  rewritten.own_write_bytes = 256 << 20;
  EXPECT_FALSE(is_merged(rewritten)) << "pages were dirtied again before their write-back";
  CrossCheckInput unsynced = in;
  unsynced.synced = false;
  EXPECT_FALSE(is_merged(unsynced));
  CrossCheckInput elsewhere = in;
  elsewhere.own_is_here = false;
  EXPECT_FALSE(is_merged(elsewhere)) << "the kernel counted writes to another device, too";
  CrossCheckInput missed = in;
  missed.within = "the counters are of 650 ms, the measured time of 1 s";
  EXPECT_FALSE(is_merged(missed)) << "requests are missing";
  CrossCheckInput many = in;
  many.device_writes += 100000;
  EXPECT_FALSE(is_merged(many)) << "others' requests hide how many the load had";
}

// A sync at the end of the load, or after each write, comes from the job.
TEST(CrossCheckTest, SyncsOfAPhaseReachTheCrossCheck) {
  Stored data = TwoWorkers();
  const auto change = [&](const auto& set) {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      set(spec->mutable_run()->mutable_workloads(0));
    }
  };
  change([](v1::Workload* w) {
    w->set_direct(false);
    w->set_read_ratio(0);
  });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    const uint64_t writes = worker.worker_index == 0 ? 300 : 900;
    *worker.result.mutable_workloads(0)->mutable_measured(0) =
        Counters(v1::OPERATION_KIND_WRITE, std::vector<uint64_t>(writes, 500000));
    worker.result.set_own_read_bytes(0);
    worker.result.set_own_write_bytes(writes * 4096);
  }
  for (v1::IntervalSample& interval : data.intervals[0]) {
    interval.mutable_devices(0)->Clear();
    interval.mutable_devices(0)->set_name("sda");
    interval.mutable_devices(0)->set_writes(400);
    interval.mutable_devices(0)->set_write_bytes(uint64_t{400} * 4096);
  }
  v1::ProcessIo* other = data.phases[0].workers[0].result.add_others();
  other->set_command("dd");
  other->set_write_bytes(uint64_t{1100} * 4096);
  const auto verdict = [&] { return ReportOf(data).phases(0).devices(0).cross_check().verdict(); };
  EXPECT_EQ(verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  change([](v1::Workload* w) { w->mutable_fsync()->set_every(100); });
  EXPECT_EQ(verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE) << "the last ones are not synced";
  change([](v1::Workload* w) { w->mutable_fsync()->set_at_end(true); });
  EXPECT_EQ(verdict(), v1::CrossCheck::VERDICT_AGREE);
  // A sync that failed promises nothing.
  v1::OperationCounters* failed =
      data.phases[0].workers[0].result.mutable_workloads(0)->add_measured();
  failed->set_kind(v1::OPERATION_KIND_FSYNC);
  failed->set_errors(1);
  EXPECT_EQ(verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
}

TEST(HostFiguresTest, TheTableHasALineForEachKindOfRequest) {
  v1::PhaseReport phase;
  v1::DeviceReport* d = phase.add_devices();
  d->set_name("vda");
  FillDevice(Between(kVdaBefore, kVdaAfter), 2, d);
  v1::DeviceReport* idle = phase.add_devices();
  idle->set_name("vdb");
  FillDevice(Between(kVdaBefore, kVdaBefore), 2, idle);
  EXPECT_EQ(RenderIostat(phase, 100),
            "    device           per s  MiB/s  rqm/s  %rqm    await  areq-sz  aqu-sz  util\n"
            "    vda     read       500   19.5    125  20 %   420 µs    40.0k    0.67  95 %\n"
            "            write      250    7.8    750  75 %  1.80 ms    32.0k\n"
            "            discard     10   10.0    2.5  20 %  1.50 ms  1024.0k\n"
            "            flush        4                      4.50 ms\n"
            "    vdb     read         0    0.0      0     –        –        –    0.00   0 %\n"
            "            write        0    0.0      0     –        –        –\n");
}

TEST(HostFiguresTest, OfAFleetTheFirstDevicesAndKernelsAreShown) {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_kind("run");
  phase->add_workloads()->set_name("w");
  for (int i = 0; i < 260; ++i) {
    v1::DeviceReport* d = phase->add_devices();
    d->set_name(absl::StrCat("disk", i));
    d->mutable_cross_check()->set_verdict(i == 250 ? v1::CrossCheck::VERDICT_PAGE_CACHE
                                                   : v1::CrossCheck::VERDICT_AGREE);
    phase->add_kernels()->add_hosts(absl::StrCat("node", i));
  }
  const std::string text = RenderText(report, {false, 100, true});
  EXPECT_TRUE(absl::StrContains(text, "disk255 "));
  EXPECT_FALSE(absl::StrContains(text, "disk256 "));
  EXPECT_TRUE(absl::StrContains(text, "    and 4 more; --format json lists all\n"));
  EXPECT_TRUE(absl::StrContains(text, "cross-check: disk63 "));
  EXPECT_FALSE(absl::StrContains(text, "cross-check: disk64 ")) << "it agrees";
  EXPECT_TRUE(absl::StrContains(text, "cross-check: disk250 "));
  EXPECT_TRUE(absl::StrContains(text, "  node63: us "));
  EXPECT_FALSE(absl::StrContains(text, "node64"));
  EXPECT_TRUE(absl::StrContains(text, "and 196 more kernels; --format json lists all"));
}

// The host's samples have every figure of vmstat, as the worker reads them.
TEST(KernelTest, WhatVmstatPrintsIsAveragedOverTheMeasuredTime) {
  Stored data = TwoWorkers();
  for (uint32_t k = 0; k < 3; ++k) {
    v1::HostSample* h = data.intervals[0][k].mutable_host();
    h->set_swap_used_bytes(7 << 20);
    h->set_free_bytes(1 << 30);
    h->set_buffers_bytes(3 << 20);
    h->set_cached_bytes(5 << 20);
    h->set_slab_reclaimable_bytes(1 << 20);
    h->set_dirty_bytes(uint64_t{k} << 20);
    h->set_writeback_bytes(2 << 20);
    h->set_swap_in_pages(256);
    h->set_page_bytes(4096);
    h->set_block_in_bytes(uint64_t{k + 1} << 20);
    h->set_interrupts(3000);
    h->set_blocked(2);
  }
  const v1::KernelReport kernel = ReportOf(data).phases(0).kernels(0);
  EXPECT_DOUBLE_EQ(kernel.swap_used_bytes_avg(), 7 << 20);
  EXPECT_DOUBLE_EQ(kernel.cache_bytes_avg(), 6 << 20);
  EXPECT_DOUBLE_EQ(kernel.dirty_bytes_avg(), 1 << 20);
  EXPECT_DOUBLE_EQ(kernel.dirty_bytes_max(), 2 << 20);
  EXPECT_DOUBLE_EQ(kernel.swap_in_bytes_per_second(), 1 << 20);
  EXPECT_DOUBLE_EQ(kernel.swap_out_bytes_per_second(), 0);
  EXPECT_DOUBLE_EQ(kernel.block_in_bytes_per_second(), 2 << 20);
  EXPECT_FALSE(kernel.has_block_out_bytes_per_second());
  EXPECT_TRUE(absl::StrContains(RenderVmstat(kernel), "blocked 2.0, 800 cs/s, 3,000 in/s"))
      << RenderVmstat(kernel);
  EXPECT_EQ(RenderMemory(kernel),
            "swpd 7 MiB, free 1 GiB, buff 3 MiB, cache 6 MiB, dirty 1 MiB, at most 2 MiB, "
            "writeback 2 MiB, si 1.00 MiB/s, so 0 B/s, bi 2.00 MiB/s");
  TextOptions options;
  options.detail = true;
  const std::string text = RenderText(ReportOf(data), options);
  EXPECT_TRUE(absl::StrContains(text, "swpd 7 MiB, free 1 GiB")) << text;
}

TEST(KernelTest, ACounterThatIsNotKeptIsUnknown) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::IntervalSample& interval : data.intervals[0]) {
    interval.mutable_host()->set_context_switches(0);
    interval.mutable_host()->set_interrupts(0);
  }
  const v1::KernelReport kernel = ReportOf(data).phases(0).kernels(0);
  EXPECT_FALSE(kernel.has_context_switches_per_second());
  EXPECT_FALSE(kernel.has_interrupts_per_second());
  EXPECT_FALSE(kernel.has_context_switches_per_io());
  EXPECT_TRUE(absl::StrContains(RenderVmstat(kernel), ", – cs/s, – in/s")) << RenderVmstat(kernel);
}

TEST(KernelTest, MemoryThatNoSampleTellsIsNotNamedInAReport) {
  Stored data = TwoWorkers();
  for (uint32_t k = 0; k < 3; ++k) {
    v1::HostSample* h = data.intervals[0][k].mutable_host();
    h->clear_free_bytes();
    h->clear_dirty_bytes();
    h->clear_cached_bytes();
    h->set_slab_reclaimable_bytes(1 << 20);
  }
  const v1::KernelReport kernel = ReportOf(data).phases(0).kernels(0);
  EXPECT_FALSE(kernel.has_free_bytes_avg());
  EXPECT_FALSE(kernel.has_dirty_bytes_avg());
  EXPECT_FALSE(kernel.has_dirty_bytes_max());
  EXPECT_FALSE(kernel.has_cache_bytes_avg());
}

TEST(CrossCheckTest, TrimsOnTheDeviceAreComparedWithItsDiscards) {
  CrossCheckInput in;
  in.engine_trim_bytes = 1 << 30;
  in.device_discard_bytes = 1 << 30;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_AGREE);
  EXPECT_DOUBLE_EQ(CrossCheckOf(in).factor(), 1);
  EXPECT_EQ(CrossCheckOf(in).reason(), "the device discarded 1 GiB, the engines trimmed 1 GiB");
  in.device_discard_bytes = 1 << 29;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(), "discarded 512 MiB of the 1 GiB"))
      << CrossCheckOf(in).reason();
  // No page cache holds trims back.
  in.buffered = true;
  in.engine_write_bytes = in.device_write_bytes = 1 << 30;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  in.device_discard_bytes = 3.0 * (1 << 30);
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(), "the device discarded 3 GiB"))
      << CrossCheckOf(in).reason();
}

TEST(CrossCheckTest, ADevicesDiscardsSayNothingOfTrimsInFiles) {
  CrossCheckInput in;
  in.engine_trim_bytes = 1 << 30;
  in.trims_reach_device = false;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(), "only trimmed files"));
  in.engine_read_bytes = in.device_read_bytes = 1 << 30;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_AGREE);
  // Nor is the load amplified by what others discard.
  CrossCheckInput untrimmed;
  untrimmed.engine_read_bytes = untrimmed.device_read_bytes = 1 << 30;
  untrimmed.device_discard_bytes = 1 << 30;
  EXPECT_EQ(CrossCheckOf(untrimmed).verdict(), v1::CrossCheck::VERDICT_AGREE);
}

// The samples' counters of the whole load, against the engines' results.
TEST(CrossCheckTest, TrimsOfAPhaseReachTheCrossCheck) {
  Stored data = TwoWorkers();
  v1::Target* target = data.run.job.mutable_targets(0);
  target->mutable_device()->set_path("/dev/sda");
  for (uint32_t i = 0; i < 2; ++i) {
    *data.phases[0].workers[i].result.mutable_workloads(0)->add_measured() =
        Counters(v1::OPERATION_KIND_TRIM, std::vector<uint64_t>(1000, 1000), 1 << 20);
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_discards(400);
    sample.mutable_devices(0)->set_discard_bytes(uint64_t{1000} << 20);
  }
  const v1::DeviceReport device = ReportOf(data).phases(0).devices(0);
  EXPECT_DOUBLE_EQ(device.engine_trim_bytes(), 2000.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(device.device_discard_bytes(), 3000.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(device.discards_per_second(), 400);
  EXPECT_EQ(device.cross_check().verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
}

}  // namespace
}  // namespace lockstep::controller
