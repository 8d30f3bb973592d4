#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

constexpr char kGlobal[] = "[global]\nsize=16m\ntime_based\nruntime=10\n";

TEST(FioTranslationTest, DefaultsAreThoseOfFio) {
  const v1::JobSpec job = JobOf("[j]\nsize=16m\n");
  ASSERT_EQ(job.phases_size(), 2);
  EXPECT_TRUE(job.phases(0).has_prepare());
  const v1::Workload& w = job.phases(1).run().workloads(0);
  EXPECT_EQ(w.engine(), v1::ENGINE_SYNC);
  EXPECT_FALSE(w.direct());
  EXPECT_EQ(w.queue_depth(), 1u);
  EXPECT_EQ(w.block_size_bytes(), 4096);
  EXPECT_EQ(w.threads(), 1u);
  EXPECT_EQ(w.read_ratio(), 1);
  EXPECT_TRUE(w.pattern().has_sequential());
  EXPECT_EQ(w.passes(), 1u);
  EXPECT_EQ(w.error_limit(), 1u);
  EXPECT_TRUE(job.phases(1).run().drop_caches());
  EXPECT_EQ(job.hosts().count(), 1u);
  EXPECT_EQ(job.targets(0).file().path(), "/data/{host}/j.0.0");
}

TEST(FioTranslationTest, TheJobIsNamedAfterItsFileWhateverThatIsCalled) {
  Request request = RequestOf("[j]\nsize=16m\n");
  for (const auto& [file, name] : std::vector<std::pair<std::string, std::string>>{
           {"/d/a.fio", "a"}, {"-", "fio"}, {"a\x1b[1m.fio", "a\\x1b[1m"}}) {
    request.files[0].name = file;
    EXPECT_EQ(JobOf(request).name(), name);
  }
  // No character is cut in two.
  request.files[0].name = std::string(99, 'a') + "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9.fio";
  EXPECT_EQ(JobOf(request).name().substr(0, 10), "aaaaaaaaaa");
}

TEST(FioTranslationTest, EveryLineOfTheJobNamesItsOption) {
  const Translation t = TranslateFio(RequestOf("[j]\nsize=16m\nbs=8k\nioengine=libaio\n"));
  const JobText text = WriteJob(t, "a.fio");
  EXPECT_NE(text.yaml.find("block_size: 8KiB  # bs=8k (a.fio:3)"), std::string::npos) << text.yaml;
  EXPECT_NE(text.yaml.find("engine: libaio  # ioengine=libaio (a.fio:4)"), std::string::npos);
  EXPECT_NE(text.yaml.find("direct: false  # fio's default: buffered"), std::string::npos);
}

TEST(FioTranslationTest, PsyncIgnoresTheDepth) {
  const Translation t = TranslateFio(RequestOf("[j]\nsize=16m\niodepth=32\n"));
  EXPECT_EQ(RunsOf(Settled(t))[0].workloads(0).queue_depth(), 1u);
  EXPECT_NE(RemarksOf(t).find("a.fio:3: iodepth=32: has no effect"), std::string::npos);
}

TEST(FioTranslationTest, RandomHitsEachBlockOnceUnlessToldOtherwise) {
  EXPECT_TRUE(WorkloadOf("rw=randread\n").pattern().has_shuffled());
  EXPECT_TRUE(WorkloadOf("rw=randread\nnorandommap\n").pattern().has_random());
  EXPECT_TRUE(WorkloadOf("rw=randread\nbssplit=4k/50:8k/50\n").pattern().has_random());
  EXPECT_EQ(WorkloadOf("rw=randread\nrandom_distribution=zipf:1.2\n").pattern().zipf().theta(),
            1.2);
  EXPECT_EQ(WorkloadOf("rw=randread\npercentage_random=30\n").random_ratio(), 0.3);
  // A value for each direction: a job that only writes has the one of writes.
  EXPECT_EQ(WorkloadOf("rw=randread\npercentage_random=30,60\n").random_ratio(), 0.3);
  EXPECT_EQ(WorkloadOf("rw=randwrite\npercentage_random=30,60\n").random_ratio(), 0.6);
  EXPECT_EQ(WorkloadOf("rw=randrw\npercentage_random=30\n").random_ratio(), 0.3);
  EXPECT_EQ(WorkloadOf("rw=randwrite\nba=8k,16k\n").access(0).align_bytes(), 16384);
  const v1::HotZones zones =
      WorkloadOf("rw=randread\nrandom_distribution=zoned:60/10:40/90\n").pattern().hot_zones();
  ASSERT_EQ(zones.zones_size(), 2);
  EXPECT_DOUBLE_EQ(zones.zones(0).io_ratio(), 0.6);
  EXPECT_DOUBLE_EQ(zones.zones(0).size_ratio(), 0.1);
}

TEST(FioTranslationTest, SizesByDirectionBecomeLines) {
  EXPECT_EQ(WorkloadOf("rw=write\nbs=4k,64k\n").block_size_bytes(), 65536);
  EXPECT_EQ(WorkloadOf("rw=write\nbs=8k,\n").block_size_bytes(), 4096);
  const v1::Workload mixed = WorkloadOf("rw=randrw\nrwmixread=70\nbs=4k,64k\n");
  ASSERT_EQ(mixed.access_size(), 2);
  EXPECT_EQ(mixed.access(0).block_size_bytes(), 4096);
  EXPECT_DOUBLE_EQ(mixed.access(0).weight(), 70);
  EXPECT_EQ(mixed.access(1).read_ratio(), 0);
  const v1::Workload range = WorkloadOf("rw=randread\nbsrange=4k-64k\nbs=1m\n");
  ASSERT_EQ(range.block_sizes_size(), 1);
  EXPECT_EQ(range.block_sizes(0).up_to_bytes(), 65536);
  const v1::Workload split = WorkloadOf("rw=randread\nbssplit=4k/10:8k/:16k/\n");
  ASSERT_EQ(split.block_sizes_size(), 3);
  EXPECT_DOUBLE_EQ(split.block_sizes(2).weight(), 45);
}

TEST(FioTranslationTest, SizeIsOfACloneAndDividedByItsFiles) {
  const v1::JobSpec job = JobOf("[j]\nsize=16m\nnumjobs=3\nnrfiles=4\n");
  EXPECT_EQ(job.targets(0).file().size_bytes(), 4 << 20);
  EXPECT_EQ(job.targets(0).file().count(), 12u);
  const v1::Workload w = RunsOf(job)[0].workloads(0);
  EXPECT_TRUE(w.files_per_thread());
  EXPECT_EQ(w.file_order(), v1::FILE_ORDER_ROUND_ROBIN);
  EXPECT_EQ(w.passes(), 1u);
}

TEST(FioTranslationTest, FilesHaveTheNamesThatFioGivesThem) {
  const auto path = [](const std::string& options) {
    return JobOf("[j]\nsize=16m\ndirectory=/d\n" + options).targets(0).file().path();
  };
  EXPECT_EQ(path(""), "/d/j.0.0");
  EXPECT_EQ(path("numjobs=2\n"), "/d/j.{file}.0");
  EXPECT_EQ(path("nrfiles=2\n"), "/d/j.0.{file}");
  EXPECT_EQ(path("filename_format=$clientuid/$jobname-$jobnum\n"), "/d/{host}/j-0");
}

TEST(FioTranslationTest, ClonesShareFilesThatAreNamed) {
  const v1::Workload random =
      RunsOf(JobOf("[j]\nsize=16m\nfilename=/d/f\nnumjobs=4\nrw=randread\n"))[0].workloads(0);
  EXPECT_EQ(random.threads(), 4u);
  EXPECT_FALSE(random.files_per_thread());
  EXPECT_EQ(random.passes(), 4u);
  // In order each clone goes through all of it.
  const v1::JobSpec job = JobOf("[j]\nsize=16m\nfilename=/d/f\nnumjobs=4\nrw=rw\n");
  EXPECT_EQ(job.targets_size(), 1);
  EXPECT_EQ(RunsOf(job)[0].workloads_size(), 4);
  EXPECT_NE(
      ErrorsOf("[j]\nsize=16m\nfilename=/d/f\nnumjobs=65\nrw=read\n").find("a.fio:4: numjobs=65: "),
      std::string::npos);
}

TEST(FioTranslationTest, ClonesAreDealtOverDirectories) {
  const v1::JobSpec job = JobOf("[j]\nsize=16m\ndirectory=/a:/b\nnumjobs=3\n");
  ASSERT_EQ(job.targets_size(), 2);
  EXPECT_EQ(job.targets(0).file().path(), "/a/j.{file}.0");
  EXPECT_EQ(job.targets(0).file().count(), 2u);
  EXPECT_EQ(job.targets(1).file().path(), "/b/j.0.0");
  EXPECT_EQ(RunsOf(job)[0].workloads_size(), 2);
}

TEST(FioTranslationTest, RatesAndLimitsAreTimesClonesAndHosts) {
  Request request =
      RequestOf("[j]\nsize=16m\nnumjobs=2\nrate_iops=100\nrate=1m\nio_size=8m\nnumber_ios=10\n");
  request.hosts = "3";
  const v1::Workload w = RunsOf(JobOf(request))[0].workloads(0);
  EXPECT_EQ(w.max_iops(), 600);
  EXPECT_EQ(w.max_throughput_bytes_per_second(), 6 << 20);
  EXPECT_EQ(w.io_size_bytes(), 48 << 20);
  EXPECT_EQ(w.operations(), 60u);
  EXPECT_NE(RemarksOf(TranslateFio(request)).find("times 6"), std::string::npos);
}

TEST(FioTranslationTest, PoissonIsAnOpenLoop) {
  const v1::Workload w = WorkloadOf("rate_iops=100\nrate_process=poisson\n");
  EXPECT_EQ(w.open_loop().rate_per_second(), 100);
  EXPECT_EQ(w.open_loop().arrival(), v1::ARRIVAL_POISSON);
  EXPECT_EQ(WorkloadOf("rate=40k\nrate_process=poisson\n").open_loop().rate_per_second(), 10);
}

TEST(FioTranslationTest, ARateOfAMixIsOfEachDirection) {
  EXPECT_EQ(WorkloadOf("rw=write\nrate_iops=100,50\n").max_iops(), 50);
  v1::Workload w = WorkloadOf("rw=randrw\nrwmixread=70\nrate_iops=100,50\nnumjobs=2\n");
  EXPECT_EQ(w.max_iops(), 0);
  EXPECT_EQ(w.read_limit().iops(), 200);
  EXPECT_EQ(w.write_limit().iops(), 100);
  w = WorkloadOf("rw=randrw\nrate=,500k\n");
  EXPECT_FALSE(w.has_read_limit());
  EXPECT_EQ(w.write_limit().throughput_bytes_per_second(), 500 << 10);
}

TEST(FioTranslationTest, RatesOfBothDirectionsWithTheirOwnSizesAreAMixAndALimit) {
  // 1,024 reads of 4 KiB and 128 writes of 16 KiB per second.
  v1::Workload w = WorkloadOf("rw=randrw\nrwmixread=60\nbs=4k,16k\nrate=4m,2m\nnumjobs=2\n");
  EXPECT_EQ(w.max_iops(), 2304);
  EXPECT_FALSE(w.has_read_limit() || w.has_write_limit());
  ASSERT_EQ(w.access_size(), 2);
  EXPECT_EQ(w.access(0).read_ratio(), 1);
  EXPECT_EQ(w.access(0).weight(), 1024);
  EXPECT_EQ(w.access(1).weight(), 128);
  // Half of the writes have 8 KiB: 12 KiB in the mean. The lower one of two rates holds.
  w = WorkloadOf("rw=randrw\nbssplit=4k,8k/50:16k/50\nrate=4m,1200k\nrate_iops=500,900\n");
  ASSERT_EQ(w.access_size(), 3);
  EXPECT_EQ(w.max_iops(), 600);
  EXPECT_EQ(w.access(0).weight(), 500);
  EXPECT_EQ(w.access(1).weight(), 50);
  EXPECT_EQ(w.access(2).weight(), 50);
  w = WorkloadOf("rw=randrw\nbs=4k,8k\nrate=1m\nrate_process=poisson\n");
  EXPECT_EQ(w.open_loop().rate_per_second(), 384);
  EXPECT_EQ(w.max_iops(), 0);
  EXPECT_NE(ErrorsOf("[j]\nsize=1m\nrw=randrw\nrwmixread=100\nbs=4k,8k\nrate=1m\n")
                .find("a.fio:6: rate=1m: has a rate for a direction that rwmixread gives no I/Os"),
            std::string::npos);
}

TEST(FioTranslationTest, PoissonArrivalsOfBothDirectionsAreOneSchedule) {
  const v1::Workload w = WorkloadOf("rw=randrw\nrate_iops=300,100\nrate_process=poisson\n");
  EXPECT_EQ(w.open_loop().rate_per_second(), 400);
  EXPECT_EQ(w.read_ratio(), 0.75);
  EXPECT_FALSE(w.has_read_limit());
  EXPECT_NE(ErrorsOf("[j]\nsize=1m\nrw=randrw\nrate_iops=300,\nrate_process=poisson\n")
                .find("a.fio:4: rate_iops=300,"),
            std::string::npos);
}

TEST(FioTranslationTest, AMinimumRateIsJudgedOverAWindowThatRoundingCannotMiss) {
  // An I/O of each job every 3.3 s: of its 1,250 B/s, 226 are left, which a block of 4 KiB takes
  // 19 s for. The minimum is that of both jobs.
  const v1::Workload w = WorkloadOf("rate=1250\nratemin=1024\nnumjobs=2\nnrfiles=1\n");
  EXPECT_EQ(w.min_rate().throughput_bytes_per_second(), 2048);
  EXPECT_EQ(w.min_rate().window_ns(), 19000000000);
  EXPECT_EQ(WorkloadOf("rate_iops_min=100\n").min_rate().window_ns(), 1000000000);
  EXPECT_EQ(WorkloadOf("rate_iops_min=100\nrate_cycle=5000\n").min_rate().window_ns(), 5000000000);
  EXPECT_NE(ErrorsOf("[j]\nsize=1m\nrate=1k\nratemin=2k\n").find("is above the rate"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("[j]\nsize=1m\nrw=rw\nrate_min=2k\n").find("for each direction"),
            std::string::npos);
}

TEST(FioTranslationTest, APriorityIsTheWorkloads) {
  const v1::IoPriority high = WorkloadOf("prio=2\nprioclass=1\n").io_priority();
  EXPECT_EQ(high.class_(), v1::IO_PRIORITY_CLASS_REALTIME);
  EXPECT_EQ(high.level(), 2u);
  EXPECT_EQ(WorkloadOf("prio=7\n").io_priority().class_(), v1::IO_PRIORITY_CLASS_BEST_EFFORT);
  EXPECT_EQ(WorkloadOf("prioclass=3\n").io_priority().class_(), v1::IO_PRIORITY_CLASS_IDLE);
  EXPECT_FALSE(WorkloadOf("bs=8k\n").has_io_priority());
}

TEST(FioTranslationTest, AJobThatExitsEndsItsPhase) {
  const std::string slow = "[slow]\nsize=1m\nexitall\n";
  const v1::RunPhase run = RunsOf(JobOf(slow + "[fast]\nsize=1m\n"))[0];
  EXPECT_TRUE(run.workloads(0).ends_phase());
  EXPECT_FALSE(run.workloads(1).ends_phase());
  // Nobody else ends with a job that is a group by itself.
  EXPECT_FALSE(RunsOf(JobOf(slow + "[fast]\nnew_group\nsize=1m\n"))[0].workloads(0).ends_phase());
  EXPECT_TRUE(RunsOf(JobOf(slow + "exit_what=stonewall\n[fast]\nnew_group\nsize=1m\n"))[0]
                  .workloads(0)
                  .ends_phase());
  EXPECT_NE(ErrorsOf(slow + "[b]\nsize=1m\n[c]\nnew_group\nsize=1m\n").find("a.fio:3: exitall"),
            std::string::npos);
  EXPECT_NE(
      ErrorsOf(slow + "exit_what=all\n[next]\nstonewall\nsize=1m\n").find("a.fio:4: exit_what=all"),
      std::string::npos);
}

TEST(FioTranslationTest, HostsNeverWriteOneFileByAccident) {
  Request request = RequestOf("[j]\nsize=1m\nrw=write\ndirectory=/d\n");
  request.hosts = "2";
  EXPECT_EQ(JobOf(request).targets(0).file().path(), "/d/{host}/j.0.0");
  request.files[0].text = "[j]\nsize=1m\nrw=write\nfilename=/d/f\n";
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("several hosts would write one file"),
            std::string::npos);
  request.files[0].text = "[j]\nsize=1m\nrw=write\nfilename=/d/{host}.f\n";
  EXPECT_EQ(JobOf(request).targets(0).file().path(), "/d/{host}.f");
  request.files[0].text = "[j]\nsize=1m\nrw=write\nfilename=f\n";
  EXPECT_EQ(JobOf(request).targets(0).file().path(), "/data/{host}/f");
  request.directory.clear();
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("say --directory /DIR"), std::string::npos);
  request.files[0].text = "[j]\nsize=1m\nrw=write\n";
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("say --directory /DIR"), std::string::npos);
  request.target = "/dev/sdx";
  EXPECT_EQ(JobOf(request).targets(0).device().path(), "/dev/sdx");
  request.files[0].text = "[j]\nsize=1m\nfilename=/d/../etc/f{host}\n";
  EXPECT_NE(ErrorsOf(TranslateFio(request)), "");
}

TEST(FioTranslationTest, AFileGivesNoConsent) {
  const v1::JobSpec job =
      JobOf("[j]\nfilename=/dev/sdx\nrw=write\nallow_mounted_write=1\noverwrite=1\n");
  EXPECT_TRUE(job.expendable().empty());
  EXPECT_EQ(job.targets(0).sharing(), v1::SHARING_SLICED);
  EXPECT_FALSE(job.store_filesystem());
}

TEST(FioTranslationTest, AStonewallBeginsAPhase) {
  const std::string jobs = "[a]\n[b]\n[c]\nstonewall\nnumjobs=2\n[d]\nwait_for_previous=0\n";
  const auto runs = RunsOf(JobOf(std::string(kGlobal) + jobs));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].workloads_size(), 2);
  EXPECT_EQ(runs[1].workloads_size(), 2);
  EXPECT_EQ(runs[0].duration_ns(), 10000000000);
}

TEST(FioTranslationTest, AJobWaitsForAnotherThatIsAlone) {
  const std::string global = kGlobal;
  EXPECT_EQ(RunsOf(JobOf(global + "[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n")).size(), 3u);
  EXPECT_NE(ErrorsOf(global + "[a]\n[x]\n[b]\nwait_for=a\n").find("a.fio:8: wait_for=a"),
            std::string::npos);
  EXPECT_NE(ErrorsOf(global + "[a]\nwait_for=z\n").find("names no job above"), std::string::npos);
  EXPECT_NE(ErrorsOf(global + "[a]\n[b]\nwait_for=a\n[c]\n").find("a.fio:8: [c]"),
            std::string::npos);
}

TEST(FioTranslationTest, APhaseLastsUntilTheLastOfItsJobs) {
  v1::RunPhase run = RunsOf(JobOf("[a]\nsize=1m\nruntime=5\n[b]\nsize=1m\nruntime=6\n"))[0];
  EXPECT_EQ(run.duration_ns(), 6000000000);
  EXPECT_EQ(run.workloads(0).runtime_ns(), 5000000000);
  EXPECT_EQ(run.workloads(1).runtime_ns(), 0);
  // The time counts from a job's begin.
  run = RunsOf(JobOf("[a]\nsize=1m\nruntime=5\n[b]\nsize=1m\nruntime=5\nstartdelay=2\n"))[0];
  EXPECT_EQ(run.duration_ns(), 7000000000);
  EXPECT_EQ(run.workloads(0).runtime_ns(), 5000000000);
  EXPECT_EQ(run.workloads(1).start_delay_ns(), 2000000000);
  EXPECT_EQ(run.workloads(1).runtime_ns(), 0);
  // A job without a limit of its time ends by its size.
  run = RunsOf(JobOf("[a]\nsize=1m\nruntime=5\n[b]\nsize=1m\n"))[0];
  EXPECT_EQ(run.duration_ns(), 0);
  EXPECT_EQ(run.workloads(0).runtime_ns(), 5000000000);
  EXPECT_EQ(run.workloads(1).runtime_ns(), 0);
  EXPECT_NE(
      ErrorsOf("[a]\nsize=1m\nruntime=5\nramp_time=1\nstartdelay=1\n").find("a.fio:4: ramp_time=1"),
      std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\nstartdelay=1-5\n").find("drawn from a range"),
            std::string::npos);
}

TEST(FioTranslationTest, GroupsOfAPhaseAreALabel) {
  const auto labels = [](const std::string& jobs) {
    return JobOf("[global]\nsize=1m\n" + jobs).labels();
  };
  const std::string three = "[a]\n[b]\n[c]\nnew_group\n";
  EXPECT_EQ(labels(three).at("fio.groups.a"), "2,1");
  // Clones lose the option. Those that are a workload each are of one group.
  EXPECT_EQ(labels("[a]\n[b]\nnew_group\nnumjobs=3\nfilename=/d/f\n[c]\nnew_group=1\n")
                .at("fio.groups.a"),
            "1,3,1");
  // A phase begins a group anyway.
  EXPECT_TRUE(labels("[a]\nnew_group\n[b]\nstonewall\nnew_group\n[c]\nnew_group=0\n").empty());
  const auto both = labels(three + "[d]\nstonewall\n[e]\nnew_group\n");
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(both.at("fio.groups.d"), "1,1");
  EXPECT_EQ(TranslateFio(RequestOf("[a]\nsize=1m\n[b]\nsize=1m\nnew_group\n"))
                .origins.at("labels.fio.groups.a")
                .line,
            5);
  // A field's path has the first 100 letters of a label's name.
  const Translation long_name =
      TranslateFio(RequestOf("[" + std::string(95, 'x') + "]\nsize=1m\n[b]\nsize=1m\nnew_group\n"));
  EXPECT_NE(WriteJob(long_name, "a.fio").yaml.find("1,1\"  # new_group"), std::string::npos)
      << WriteJob(long_name, "a.fio").yaml;
  // A label cannot have such a name.
  EXPECT_NE(RemarksOf(TranslateFio(RequestOf("[a=1]\nsize=1m\n[b]\nsize=1m\nnew_group\n")))
                .find("new_group: begins no group of the report"),
            std::string::npos);
}

TEST(FioTranslationTest, TheRampIsAddedToTheRuntime) {
  const v1::JobSpec job = JobOf("[a]\nsize=1m\nruntime=5\ntime_based\nramp_time=500ms\n");
  EXPECT_EQ(RunsOf(job)[0].ramp_ns(), 500000000);
  EXPECT_EQ(RunsOf(job)[0].duration_ns(), 5000000000);
  EXPECT_EQ(job.interval_ns(), 100000000);
}

TEST(FioTranslationTest, TheRuntimeIsALimitUnlessTimeBased) {
  EXPECT_EQ(WorkloadOf("runtime=5\nloops=3\n").passes(), 3u);
  EXPECT_EQ(WorkloadOf("runtime=5\ntime_based\nloops=3\n").passes(), 0u);
  EXPECT_EQ(WorkloadOf("io_size=1m\n").io_size_bytes(), 1 << 20);
  EXPECT_EQ(WorkloadOf("io_size=1m\n").passes(), 0u);
  EXPECT_EQ(WorkloadOf("filesize=4m\n").io_size_bytes(), 16 << 20);
  // A time_based job without a runtime is none.
  EXPECT_EQ(WorkloadOf("time_based\n").passes(), 1u);
}

TEST(FioTranslationTest, WhatIsOnlyWrittenIsOnlyAllocated) {
  EXPECT_TRUE(JobOf("[a]\nsize=1m\nrw=write\n").phases(0).prepare().fallocate_only());
  EXPECT_FALSE(JobOf("[a]\nsize=1m\nrw=write\noverwrite=1\n").phases(0).prepare().fallocate_only());
  const v1::JobSpec both = JobOf("[a]\nsize=1m\nrw=write\n[b]\nsize=1m\nstonewall\n");
  ASSERT_EQ(both.phases_size(), 4);
  EXPECT_EQ(both.phases(0).prepare().targets(0), "b");
  EXPECT_EQ(both.phases(1).prepare().targets(0), "a");
}

TEST(FioTranslationTest, FilesStayUnlessTheyAreUnlinked) {
  const Translation stays = TranslateFio(RequestOf("[a]\nsize=1m\n"));
  EXPECT_FALSE(Settled(stays).phases().rbegin()->has_cleanup());
  EXPECT_NE(RemarksOf(stays).find("files stay"), std::string::npos);
  EXPECT_TRUE(JobOf("[a]\nsize=1m\nunlink=1\n").phases().rbegin()->has_cleanup());
}

TEST(FioTranslationTest, VerifyReadsBackWhatWasWritten) {
  const v1::JobSpec job = JobOf("[a]\nsize=1m\nrw=randwrite\nbs=8k\nverify=crc32c\n");
  ASSERT_EQ(job.phases_size(), 3);
  EXPECT_TRUE(job.phases(1).run().workloads(0).verify());
  EXPECT_EQ(job.phases(2).verify().block_size_bytes(), 8192);
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrw=write\nverify=md5\ndo_verify=0\n").phases_size(), 2);
  // A job may check what one above has written.
  const std::string two =
      "[global]\nsize=1m\nfilename=/d/f\nverify=crc32c\n[a]\nrw=write\ndo_verify=0\n[b]\nrw=read\n"
      "stonewall\n";
  EXPECT_TRUE(RunsOf(JobOf(two))[1].workloads(0).verify());
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\nrw=read\nverify=crc32c\n").find("verify=crc32c: cannot be"),
            std::string::npos);
}

TEST(FioTranslationTest, VerifyReadsBackAsDeepAndInTheOrderOfTheWrites) {
  const auto verified = [](const std::string& options) {
    return JobOf("[a]\nsize=1m\nbs=8k\nverify=crc32c\n" + options).phases(2).verify();
  };
  const std::string deep = "ioengine=libaio\niodepth=6\n";
  const v1::VerifyPhase shuffled = verified("rw=randwrite\ndirect=1\n" + deep);
  EXPECT_EQ(shuffled.queue_depth(), 6u);
  EXPECT_TRUE(shuffled.random());
  EXPECT_TRUE(shuffled.direct());
  // Without a map of its blocks fio sorts what it has written, and so it does here.
  EXPECT_FALSE(verified("rw=randwrite\nnorandommap\n" + deep).random());
  EXPECT_FALSE(verified("rw=write\n" + deep).random());
  // psync has one I/O in flight, whatever iodepth says. Each clone reads back its own blocks.
  EXPECT_EQ(verified("rw=write\niodepth=6\n").queue_depth(), 1u);
  EXPECT_EQ(verified("rw=randwrite\nnumjobs=3\n" + deep).queue_depth(), 18u);
  EXPECT_FALSE(verified("rw=write\n").direct());
}

TEST(FioTranslationTest, TwoJobsOfOneFileShareATargetOfTheLargerSize) {
  const v1::JobSpec job = JobOf("[a]\nsize=1m\nfilename=/d/f\n[b]\nsize=2m\nfilename=/d/f\n");
  ASSERT_EQ(job.targets_size(), 1);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 2 << 20);
  const v1::RunPhase run = RunsOf(job)[0];
  ASSERT_EQ(run.workloads_size(), 2);
  EXPECT_EQ(run.workloads(0).region().size_bytes(), 1 << 20);
  EXPECT_FALSE(run.workloads(1).has_region());
}

TEST(FioTranslationTest, EachOptionHasItsField) {
  EXPECT_EQ(WorkloadOf("rw=write\nfsync=32\n").fsync().every(), 32u);
  EXPECT_EQ(WorkloadOf("rw=write\nfdatasync=8\n").fsync().mode(), v1::SYNC_MODE_FDATASYNC);
  EXPECT_EQ(WorkloadOf("rw=write\nsync_file_range=write:8\n").fsync().every(), 8u);
  EXPECT_TRUE(WorkloadOf("rw=write\nend_fsync=1\n").fsync().at_end());
  EXPECT_FALSE(WorkloadOf("rw=read\nend_fsync=1\n").has_fsync());
  EXPECT_EQ(WorkloadOf("rw=write\nsync=1\n").write_through(), v1::WRITE_THROUGH_SYNC);
  EXPECT_EQ(WorkloadOf("rw=write\nsync=dsync\n").write_through(), v1::WRITE_THROUGH_DSYNC);
  EXPECT_TRUE(WorkloadOf("rw=write\nzero_buffers\n").content().has_zeros());
  EXPECT_TRUE(WorkloadOf("rw=write\nrefill_buffers\n").content().random().fresh());
  EXPECT_DOUBLE_EQ(
      WorkloadOf("rw=write\nbuffer_compress_percentage=70\n").content().compressed_ratio(), 0.3);
  EXPECT_EQ(WorkloadOf("rw=write\ndedupe_percentage=40\n").content().duplicate_ratio(), 0.4);
  EXPECT_EQ(WorkloadOf("thinktime=1000\nthinktime_blocks=8\n").think_time_ns(), 1000000);
  EXPECT_EQ(WorkloadOf("thinktime=1000\nthinktime_blocks=8\n").think_every(), 8u);
  EXPECT_EQ(WorkloadOf("ioengine=mmap\n").engine(), v1::ENGINE_MMAP);
  EXPECT_EQ(WorkloadOf("ioengine=pvsync2\n").engine(), v1::ENGINE_PREADV2);
  EXPECT_EQ(WorkloadOf("cpus_allowed=0-2\n").engine_options().cpus_size(), 3);
  EXPECT_EQ(WorkloadOf("numa_mem_policy=bind:1\n").engine_options().numa_node(), 1u);
  EXPECT_EQ(WorkloadOf("continue_on_error=all\n").error_limit(), 1000u);
  const std::string uring = "direct=1\nioengine=io_uring\niodepth=32\n";
  EXPECT_EQ(WorkloadOf(uring).queue_depth(), 32u);
  EXPECT_EQ(WorkloadOf(uring + "iodepth_batch_submit=16\n").engine_options().batch(), 16u);
  EXPECT_EQ(WorkloadOf(uring + "iodepth_batch_complete_min=8\n").engine_options().wait(), 8u);
  EXPECT_TRUE(WorkloadOf(uring + "hipri\n").engine_options().completion_polling());
  EXPECT_TRUE(WorkloadOf(uring + "sqthread_poll=1\n").engine_options().submission_polling());
  EXPECT_TRUE(WorkloadOf(uring + "fixedbufs=0\n").engine_options().unregistered());
  EXPECT_TRUE(WorkloadOf(uring + "iomem=mmaphuge\n").engine_options().huge_pages());
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrw=randread\n").seed(), 1u);
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrandseed=7\n").seed(), 7u);
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrw=randread\nrandrepeat=0\n").seed(), 0u);
  // fio's default of the one does not take back the other.
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrw=randread\nallrandrepeat=0\n").seed(), 1u);
  EXPECT_EQ(JobOf("[a]\nsize=1m\nrw=randread\nrandrepeat=0\nallrandrepeat=1\n").seed(), 1u);
  EXPECT_EQ(RunsOf(JobOf("[a]\nsize=1m\nioscheduler=none\n"))[0].environment().scheduler(), "none");
  EXPECT_FALSE(RunsOf(JobOf("[a]\nsize=1m\ninvalidate=0\n"))[0].drop_caches());
  EXPECT_TRUE(JobOf("[a]\nioengine=null\nsize=1g\n").targets(0).has_null());
  EXPECT_EQ(JobOf("[a]\nsize=1m\ndescription=why\n").description(), "why");
}

TEST(FioTranslationTest, RemarksOnDefaultsAndLayoutAreSaidOnce) {
  const std::string many = RemarksOf(TranslateFio(
      RequestOf("[global]\nsize=1m\nrw=read\nstonewall\n[a]\n[b]\n[c]\ninvalidate=1\n[d]\n")));
  EXPECT_NE(many.find("a.fio:5: fio's default: invalidate=1: "), std::string::npos) << many;
  EXPECT_EQ(many.find("a.fio:6:"), std::string::npos) << many;
  EXPECT_NE(many.find("a.fio:8: invalidate=1: "), std::string::npos) << many;
  EXPECT_EQ(many.find("a.fio:9:"), std::string::npos) << many;
  const std::string layout =
      RemarksOf(TranslateFio(RequestOf("[a]\nsize=1m\nrw=write\nfallocate=none\nfilename=f\n"
                                       "filename_format=$jobname.x\n")));
  EXPECT_NE(layout.find("no write makes one longer"), std::string::npos) << layout;
  EXPECT_NE(layout.find("a.fio:6: filename_format=$jobname.x: has no effect beside filename"),
            std::string::npos)
      << layout;
}

TEST(FioTranslationTest, TrimsNeedTheirOwnDirection) {
  const v1::Workload w =
      RunsOf(JobOf("[a]\nfilename=/dev/sdx\nsize=1g\nrw=randtrim\nruntime=5\n"))[0].workloads(0);
  EXPECT_EQ(w.read_ratio(), 0);
  EXPECT_EQ(w.trim_ratio(), 1);
}

TEST(FioTranslationTest, ALunIsNamedByItsUrl) {
  const v1::JobSpec job = JobOf("[a]\nioengine=libiscsi\nfilename=iscsi\\://h/iqn.2016\\:x/1\n");
  EXPECT_EQ(job.targets(0).iscsi().url(), "iscsi://h/iqn.2016:x/1");
}

}  // namespace
}  // namespace lockstep::frontends::fio
