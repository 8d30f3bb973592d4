// Each option of sysbench 1.0: its default, and what becomes of it.

#include "absl/strings/match.h"
#include "tests/frontends/sysbench/translated.h"

namespace lockstep::frontends::sysbench {
namespace {

constexpr int64_t kSecond = 1000000000;

TEST(SysbenchOptionsTest, DefaultsAreThoseOfSysbench) {
  const v1::JobSpec job = JobOf(TranslationOf("fileio --file-test-mode=rndrw run"));
  EXPECT_EQ(job.name(), "sysbench rndrw");
  EXPECT_EQ(job.hosts().count(), 1u);
  EXPECT_EQ(job.targets(0).file().path(), "/data/{host}/test_file.{file}");
  EXPECT_EQ(job.targets(0).file().count(), 128u);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 16 << 20);
  EXPECT_EQ(job.labels().at("sysbench.rndrw"), "fileio");
  ASSERT_EQ(job.phases_size(), 1);
  EXPECT_EQ(job.phases(0).name(), "rndrw");
  EXPECT_EQ(job.phases(0).run().duration_ns(), 10 * kSecond);
  const v1::Workload& w = job.phases(0).run().workloads(0);
  EXPECT_EQ(w.threads(), 1u);
  EXPECT_EQ(w.queue_depth(), 1u);
  EXPECT_EQ(w.block_size_bytes(), 16384);
  EXPECT_EQ(w.engine(), v1::ENGINE_SYNC);
  EXPECT_FALSE(w.direct());
  EXPECT_DOUBLE_EQ(w.read_ratio(), 0.6);
  EXPECT_EQ(w.mix(), v1::MIX_EXACT);
  EXPECT_EQ(w.operations(), 0u);
  EXPECT_FALSE(w.has_open_loop());
  EXPECT_TRUE(w.content().has_zeros());
  EXPECT_EQ(w.fsync().mode(), v1::SYNC_MODE_FSYNC);
  EXPECT_EQ(w.fsync().every(), 0u);
  EXPECT_EQ(w.fsync().every_ios(), 100u);
  EXPECT_TRUE(w.fsync().all_files());
  EXPECT_TRUE(w.fsync().shared());
  EXPECT_TRUE(w.fsync().at_end());
  EXPECT_FALSE(w.verify());
}

TEST(SysbenchOptionsTest, TheSixModes) {
  const struct {
    const char* name;
    bool is_random, creates, syncs;
    double reads;
  } kModes[] = {
      {"seqwr", false, true, true, 0},   {"seqrewr", false, false, true, 0},
      {"seqrd", false, false, false, 1}, {"rndrd", true, false, false, 1},
      {"rndwr", true, false, true, 0},   {"rndrw", true, false, true, 0.6},
  };
  for (const auto& mode : kModes) {
    SCOPED_TRACE(mode.name);
    const v1::Workload w = WorkloadOf(absl::StrCat("--file-test-mode=", mode.name));
    EXPECT_EQ(w.pattern().has_random(), mode.is_random);
    EXPECT_EQ(w.pattern().sequential().shared(), !mode.is_random);
    EXPECT_EQ(w.create(), mode.creates);
    EXPECT_EQ(w.has_fsync(), mode.syncs) << "nothing is synced where nothing is written";
    EXPECT_DOUBLE_EQ(w.read_ratio(), mode.reads);
    EXPECT_EQ(w.mix() == v1::MIX_EXACT, mode.reads == 0.6);
  }
  EXPECT_EQ(ErrorsOf(""),
            "--file-test-mode: is missing: seqwr, seqrewr, seqrd, rndrd, rndwr or "
            "rndrw\n");
  EXPECT_EQ(ErrorsOf("--file-test-mode=RNDRD"),
            "--file-test-mode=RNDRD: is none of seqwr, seqrewr, seqrd, rndrd, rndwr and rndrw\n");
}

TEST(SysbenchOptionsTest, FilesAndBlocks) {
  const v1::JobSpec job = JobOf(
      TranslationOf("fileio prepare --file-num=3 --file-total-size=3M --file-block-size=4096"));
  EXPECT_EQ(job.name(), "sysbench prepare");
  EXPECT_EQ(job.targets(0).file().count(), 3u);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 1 << 20);
  EXPECT_TRUE(job.phases(0).prepare().content().has_zeros());
  EXPECT_TRUE(JobOf(TranslationOf("fileio cleanup")).phases(0).has_cleanup());
  for (const char* size : {"16384", "16k", "16K", "16KB", "16KiB"}) {
    EXPECT_EQ(WorkloadOf(absl::StrCat("--file-test-mode=rndrd --file-block-size=", size))
                  .block_size_bytes(),
              16384);
  }
  EXPECT_EQ(TextOf(TranslationOf("fileio prepare --file-num=3 --file-total-size=100000").remarks),
            "--file-total-size=100000: makes files of 33333 bytes; these are whole 4 KiB, so they "
            "have 32768\n");
  EXPECT_EQ(RemarksOf("--file-test-mode=rndrd --file-block-size=3M"),
            "--file-block-size=3M: of each file the last 1048576 bytes are left out, in which "
            "sysbench does a shorter I/O\n");
}

TEST(SysbenchOptionsTest, EngineAndFlags) {
  v1::Workload w = WorkloadOf("--file-test-mode=rndrd --file-io-mode=async");
  EXPECT_EQ(w.engine(), v1::ENGINE_LIBAIO);
  EXPECT_EQ(w.queue_depth(), 128u);
  w = WorkloadOf("--file-test-mode=rndrd --file-io-mode=async --file-async-backlog=16");
  EXPECT_EQ(w.queue_depth(), 16u);
  EXPECT_EQ(WorkloadOf("--file-test-mode=rndrw --file-io-mode=mmap").engine(), v1::ENGINE_MMAP);
  w = WorkloadOf("--file-test-mode=rndwr --file-extra-flags=direct,dsync");
  EXPECT_TRUE(w.direct());
  EXPECT_EQ(w.write_through(), v1::WRITE_THROUGH_DSYNC);
  EXPECT_EQ(WorkloadOf("--file-test-mode=rndwr --file-extra-flags=sync").write_through(),
            v1::WRITE_THROUGH_SYNC);
  EXPECT_EQ(WorkloadOf("--file-test-mode=rndrd --file-extra-flags=sync").write_through(),
            v1::WRITE_THROUGH_NONE);
  EXPECT_EQ(RemarksOf("--file-test-mode=rndrd --file-extra-flags=sync"),
            "--file-extra-flags=sync: sync and dsync are left out; this line only reads\n");
}

TEST(SysbenchOptionsTest, Syncs) {
  v1::Fsync fsync = WorkloadOf("--file-test-mode=rndwr --file-fsync-freq=7").fsync();
  EXPECT_EQ(fsync.every_ios(), 7u);
  fsync = WorkloadOf("--file-test-mode=rndwr --file-fsync-freq=0").fsync();
  EXPECT_TRUE(fsync.at_end() && fsync.all_files() && !fsync.shared());
  EXPECT_EQ(fsync.every_ios(), 0u);
  fsync = WorkloadOf("--file-test-mode=rndwr --file-fsync-end=off").fsync();
  EXPECT_FALSE(fsync.at_end());
  // At the end each thread syncs all files, which is no row that they share.
  const v1::Workload several = WorkloadOf("--file-test-mode=rndwr --threads=3 --file-fsync-freq=0");
  EXPECT_EQ(several.threads(), 3u);
  EXPECT_TRUE(several.fsync().at_end() && several.fsync().all_files() && !several.fsync().shared());
  for (const char* off : {"off", "false", "0"}) {
    const std::string flag = absl::StrCat("--file-test-mode=rndwr --file-fsync-end=", off);
    EXPECT_FALSE(WorkloadOf(flag).fsync().at_end()) << off;
  }
  for (const char* on : {"", "=on", "=true", "=1"}) {
    const std::string flag = absl::StrCat("--file-test-mode=rndwr --file-fsync-end", on);
    EXPECT_TRUE(WorkloadOf(flag).fsync().at_end()) << on;
  }
  EXPECT_FALSE(
      WorkloadOf("--file-test-mode=rndwr --file-fsync-end=0 --file-fsync-freq=0").has_fsync());
  fsync = WorkloadOf("--file-test-mode=rndwr --file-fsync-mode=fdatasync").fsync();
  EXPECT_EQ(fsync.mode(), v1::SYNC_MODE_FDATASYNC);
  // sysbench then overlooks the frequency, and the end.
  fsync = WorkloadOf("--file-test-mode=rndwr --file-fsync-all").fsync();
  EXPECT_EQ(fsync.every(), 1u);
  EXPECT_FALSE(fsync.at_end() || fsync.shared() || fsync.every_ios() != 0);
}

TEST(SysbenchOptionsTest, TheRatioOfReads) {
  for (const auto& [ratio, share] : {std::pair("1", 0.5), {"3", 0.75}, {"0.25", 0.2}}) {
    const v1::Workload w =
        WorkloadOf(absl::StrCat("--file-test-mode=rndrw --file-rw-ratio=", ratio));
    EXPECT_DOUBLE_EQ(w.read_ratio(), share);
    EXPECT_EQ(w.mix(), v1::MIX_EXACT);
  }
  EXPECT_EQ(WorkloadOf("--file-test-mode=rndrw --file-rw-ratio=0").read_ratio(), 0);
  EXPECT_EQ(WorkloadOf("--file-test-mode=rndrd --file-rw-ratio=9").read_ratio(), 1);
}

TEST(SysbenchOptionsTest, MergedRequestsAreLargerIos) {
  EXPECT_EQ(WorkloadOf("--file-test-mode=seqrd --file-merged-requests=4").block_size_bytes(),
            65536);
  EXPECT_EQ(WorkloadOf("--file-test-mode=seqrd --file-merged-requests=1").block_size_bytes(),
            16384);
  const char* random = "--file-test-mode=rndrd --file-merged-requests=4";
  EXPECT_EQ(WorkloadOf(random).block_size_bytes(), 16384);
  EXPECT_EQ(RemarksOf(random),
            "--file-merged-requests=4: left out; sysbench merges only sequential requests\n");
}

TEST(SysbenchOptionsTest, ThreadsTimeEventsAndRate) {
  v1::RunPhase run = PhaseOf("--file-test-mode=rndrd --threads=4 --time=60 --events=1000");
  EXPECT_EQ(run.duration_ns(), 60 * kSecond);
  EXPECT_EQ(run.workloads(0).threads(), 4u);
  EXPECT_EQ(run.workloads(0).operations(), 1000u);
  run = PhaseOf("--file-test-mode=rndrd --time=0 --events=5");
  EXPECT_EQ(run.duration_ns(), 0);
  run = PhaseOf("--file-test-mode=rndrd --rate=50");
  EXPECT_EQ(run.workloads(0).open_loop().rate_per_second(), 50);
  EXPECT_EQ(run.workloads(0).open_loop().arrival(), v1::ARRIVAL_POISSON);
  EXPECT_EQ(JobOf(RunOf("--file-test-mode=rndrd --forced-shutdown=5")).deadlines().drain_ns(),
            5 * kSecond);
  EXPECT_EQ(
      JobOf(RunOf("--file-test-mode=rndrd --forced-shutdown --time=100")).deadlines().drain_ns(),
      5 * kSecond);
}

TEST(SysbenchOptionsTest, OnAFleetEachHostRunsTheLine) {
  const Request request = InData("node[1-3]");
  const v1::Workload w =
      WorkloadOf("--file-test-mode=rndrd --threads=2 --events=10 --rate=7", request);
  EXPECT_EQ(w.threads(), 2u);
  EXPECT_EQ(w.operations(), 30u);
  EXPECT_EQ(w.open_loop().rate_per_second(), 21);
  EXPECT_EQ(RemarksOf("--file-test-mode=rndrd --events=10 --rate=7", request),
            "--events=10: is of each host; the job has it times 3\n"
            "--rate=7: is of each host; the job has it times 3\n"
            "--hosts: each of 3 hosts has these threads and files of its own; the report is that "
            "of all of them together\n");
}

TEST(SysbenchOptionsTest, TheLookOfTheReportIsALabel) {
  const v1::JobSpec job =
      JobOf(RunOf("--file-test-mode=rndrd --percentile=99 --report-interval=2 --rand-seed=7"));
  EXPECT_EQ(job.labels().at("sysbench.rndrd"),
            "fileio percentile=99 report-interval=2 rand-seed=7");
  // A line that only reads has no sync, but its report names the options.
  const std::string label =
      JobOf(RunOf("--file-test-mode=rndrd --file-fsync-freq=10 --file-fsync-all --file-fsync-end=0 "
                  "--file-merged-requests=1 --file-rw-ratio=2 --file-extra-flags=sync,direct"))
          .labels()
          .at("sysbench.rndrd");
  EXPECT_EQ(label,
            "fileio file-fsync-freq=10 file-merged-requests=1 file-fsync-all=on "
            "file-fsync-end=off file-rw-ratio=2 file-extra-flags=direct,sync");
  EXPECT_EQ(job.seed(), 7u);
}

TEST(SysbenchOptionsTest, Validation) {
  const v1::Workload w = WorkloadOf("--file-test-mode=rndrw --validate");
  EXPECT_TRUE(w.verify());
  EXPECT_FALSE(w.content().has_zeros());
  EXPECT_TRUE(absl::StrContains(RemarksOf("--file-test-mode=rndrw --validate"),
                                "blocks that the run has written are checked"));
}

TEST(SysbenchOptionsTest, WhatFileioOverlooksIsSaid) {
  for (const char* option : {"--rand-type=pareto", "--rand-type=special", "--rand-spec-iter=3",
                             "--rand-spec-pct=2", "--rand-spec-res=50", "--rand-pareto-h=0.3"}) {
    SCOPED_TRACE(option);
    const std::string options = absl::StrCat("--file-test-mode=rndrd ", option);
    EXPECT_TRUE(WorkloadOf(options).pattern().has_random());
    EXPECT_EQ(RemarksOf(options), absl::StrCat(option,
                                               ": left out; fileio draws offsets "
                                               "uniformly, whatever --rand-type says\n"));
  }
  EXPECT_EQ(RemarksOf("--file-test-mode=rndrd --rand-type=uniform --rand-spec-iter=12"), "");
  EXPECT_TRUE(absl::StrContains(RemarksOf("--file-test-mode=rndrd --thread-stack-size=1M"),
                                "--thread-stack-size=1M: left out; "));
}

TEST(SysbenchOptionsTest, DeprecatedNames) {
  v1::RunPhase run = PhaseOf(
      "--file-test-mode=rndrd --num-threads=3 --threads=2 --max-time=7 --max-requests=9 "
      "--tx-rate=11");
  EXPECT_EQ(run.workloads(0).threads(), 3u) << "sysbench prefers the old name";
  EXPECT_EQ(run.duration_ns(), 7 * kSecond);
  EXPECT_EQ(run.workloads(0).operations(), 9u);
  EXPECT_EQ(run.workloads(0).open_loop().rate_per_second(), 11);
  // A trap: with its default the old name says nothing, so this is no load without an end.
  run = PhaseOf("--file-test-mode=rndrd --max-time=0 --num-threads=1 --threads=2");
  EXPECT_EQ(run.duration_ns(), 10 * kSecond);
  EXPECT_EQ(run.workloads(0).threads(), 2u);
  EXPECT_TRUE(absl::StrContains(RemarksOf("--file-test-mode=rndrd --max-time=0"),
                                "--max-time=0: is overlooked by sysbench"));
  const Translation old =
      TranslationOf("--test=fileio --file-test-mode=rndrd --file-total-size=128M run");
  EXPECT_EQ(JobOf(old).phases(0).name(), "rndrd");
  EXPECT_TRUE(absl::StrContains(TextOf(old.remarks), "--test=fileio: is deprecated"));
}

TEST(SysbenchOptionsTest, NamesAreExactAndTakeUnderscores) {
  EXPECT_EQ(WorkloadOf("--file_test_mode=rndrd --file-test_mode=rndwr").read_ratio(), 0)
      << "the last one counts";
  // Unlike many tools, sysbench takes no abbreviations.
  EXPECT_EQ(ErrorsOf("--file-test-mode=rndrd --thr=2"),
            "--thr=2: is no option of sysbench 1.0's fileio, which takes no abbreviations: write "
            "--threads or --thread-stack-size\n");
  EXPECT_EQ(ErrorsOf("--file-test-mode=rndrd --file=2"),
            "--file=2: is no option of sysbench 1.0's fileio\n");
  EXPECT_EQ(ErrorsOf("--file-test-mode=rndrd --"), "--: is no option of sysbench 1.0's fileio\n");
}

}  // namespace
}  // namespace lockstep::frontends::sysbench
