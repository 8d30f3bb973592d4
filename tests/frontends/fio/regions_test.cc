// The offsets of fio's jobs: regions, steps, sequences, working sets.

#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kMib = 1 << 20;

TEST(FioRegionsTest, AnOffsetMakesTheFileLonger) {
  const v1::JobSpec job = JobOf("[j]\nsize=16m\noffset=4m\nrw=write\n");
  EXPECT_EQ(job.targets(0).file().size_bytes(), 20 * kMib);
  const v1::Workload w = RunsOf(job)[0].workloads(0);
  EXPECT_EQ(w.region().offset_bytes(), 4 * kMib);
  EXPECT_EQ(w.region().size_bytes(), 0);
  EXPECT_EQ(w.passes(), 1u);
}

TEST(FioRegionsTest, ClonesHaveRegionsByTheIncrement) {
  const v1::JobSpec job =
      JobOf("[j]\nsize=4m\noffset=1m\noffset_increment=8m\nnumjobs=3\nfilename=/d/f\nrw=read\n");
  EXPECT_EQ(job.targets(0).file().size_bytes(), (1 + 2 * 8 + 4) * kMib);
  const auto runs = RunsOf(job);
  ASSERT_EQ(runs[0].workloads_size(), 1);
  const v1::Workload& w = runs[0].workloads(0);
  EXPECT_EQ(w.threads(), 3u);
  EXPECT_EQ(w.region().increment_bytes(), 8 * kMib);
  EXPECT_EQ(w.region().size_bytes(), 4 * kMib);
  EXPECT_EQ(w.passes(), 1u);
}

TEST(FioRegionsTest, JobsThatShareAFileHaveRegionsOfIt) {
  const v1::JobSpec job = JobOf(
      "[global]\nfilename=/d/f\nsize=4m\n[a]\nrw=write\n[b]\noffset=4m\nrw=read\n[c]\nsize=1m\n");
  ASSERT_EQ(job.targets_size(), 1);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 8 * kMib);
  const v1::RunPhase run = RunsOf(job)[0];
  EXPECT_EQ(run.workloads(0).region().size_bytes(), 4 * kMib);
  EXPECT_EQ(run.workloads(1).region().offset_bytes(), 4 * kMib);
  EXPECT_EQ(run.workloads(1).region().size_bytes(), 0);
  EXPECT_EQ(run.workloads(2).region().size_bytes(), kMib);
}

TEST(FioRegionsTest, PercentagesAreOfAKnownFileOrOfADevice) {
  const v1::JobSpec file = JobOf("[j]\nfilesize=16m\nsize=50%\noffset=25%\n");
  EXPECT_EQ(file.targets(0).file().size_bytes(), 16 * kMib);
  EXPECT_EQ(RunsOf(file)[0].workloads(0).region().offset_bytes(), 4 * kMib);
  EXPECT_EQ(RunsOf(file)[0].workloads(0).region().size_bytes(), 8 * kMib);
  const v1::JobSpec device = JobOf("[j]\nfilename=/dev/sdx\nsize=50%\noffset=25%\n");
  EXPECT_EQ(device.targets(0).device().size_bytes(), 0);
  const v1::Region region = RunsOf(device)[0].workloads(0).region();
  EXPECT_EQ(region.offset_share_ratio(), 0.25);
  EXPECT_EQ(region.size_share_ratio(), 0.5);
}

TEST(FioRegionsTest, OfADeviceNoMoreIsUsedThanTheRegionsNeed) {
  const v1::JobSpec job = JobOf("[j]\nfilename=/dev/sdx\nsize=3m\noffset=512k\nrw=write\n");
  // A host's slice is whole MiB.
  EXPECT_EQ(job.targets(0).device().size_bytes(), 4 * kMib);
  EXPECT_EQ(RunsOf(job)[0].workloads(0).region().size_bytes(), 3 * kMib);
  Request request = RequestOf("[j]\nfilename=/dev/sdx\nsize=3m\noffset=512k\nrw=write\n");
  request.hosts = "2";
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("a.fio:4: offset=512k: "), std::string::npos);
}

TEST(FioRegionsTest, ADeviceIsFilledWithoutASize) {
  const v1::JobSpec job = JobOf("[j]\nfilename=/dev/sdx\nrw=write\nfill_device=1\n");
  EXPECT_EQ(job.targets(0).device().size_bytes(), 0);
  EXPECT_EQ(RunsOf(job)[0].workloads(0).passes(), 1u);
}

TEST(FioRegionsTest, ANumberBehindRwIsASkipOrASequence) {
  const v1::Workload skip = WorkloadOf("rw=read:8k\n");
  EXPECT_EQ(skip.pattern().sequential().skip_bytes(), 8192);
  // fio goes round until it has moved the size.
  EXPECT_EQ(skip.io_size_bytes(), 16 * kMib);
  EXPECT_EQ(skip.passes(), 0u);
  const v1::Workload back = WorkloadOf("rw=write:-8k\n");
  EXPECT_TRUE(back.pattern().sequential().backwards());
  EXPECT_EQ(back.pattern().sequential().skip_bytes(), 0);
  EXPECT_EQ(back.passes(), 1u);
  EXPECT_EQ(WorkloadOf("rw=read:-12k\n").pattern().sequential().skip_bytes(), 4096);
  const v1::Workload sequence = WorkloadOf("rw=randread:8\n");
  EXPECT_TRUE(sequence.pattern().has_random());
  EXPECT_EQ(sequence.sequence().length(), 8u);
  EXPECT_EQ(sequence.sequence().order(), v1::SEQUENCE_ORDER_SEQUENTIAL);
  EXPECT_EQ(WorkloadOf("rw=randread:8\nrw_sequencer=identical\n").sequence().order(),
            v1::SEQUENCE_ORDER_IDENTICAL);
  EXPECT_FALSE(WorkloadOf("rw=randread:1\n").has_sequence());
}

TEST(FioRegionsTest, AWorkingSetIsANumberOfBlocks) {
  const std::string set =
      "rw=write\nbs=4k\ndedupe_percentage=50\ndedupe_mode=working_set\n"
      "dedupe_working_set_percentage=50\n";
  EXPECT_EQ(WorkloadOf(set).content().duplicate_blocks(), 2048u);
  EXPECT_EQ(WorkloadOf(set + "numjobs=2\n").content().duplicate_blocks(), 4096u);
  // Jobs with dedupe_global have one set.
  const auto runs = RunsOf(JobOf("[global]\nsize=16m\ndedupe_global=1\n" + set + "[a]\n[b]\n"));
  EXPECT_EQ(runs[0].workloads(0).content().duplicate_blocks(), 4096u);
  EXPECT_EQ(runs[0].workloads(1).content().duplicate_blocks(), 4096u);
  EXPECT_EQ(WorkloadOf("rw=write\ndedupe_percentage=50\n").content().duplicate_blocks(), 0u);
}

TEST(FioRegionsTest, AShareOfIoIsOneOfTheFiles) {
  EXPECT_EQ(WorkloadOf("io_size=50%\n").io_size_bytes(), 8 * kMib);
  EXPECT_EQ(WorkloadOf("io_size=25%\n").io_size_bytes(), 4 * kMib);
  // Of each clone, as a number of bytes is.
  EXPECT_EQ(WorkloadOf("io_size=50%\nnumjobs=3\n").io_size_bytes(), 24 * kMib);
  // Loops repeat it, as they do a number of bytes.
  EXPECT_EQ(WorkloadOf("io_size=50%\nloops=3\n").io_size_bytes(), 24 * kMib);
  EXPECT_EQ(WorkloadOf("io_size=8m\nloops=3\n").io_size_bytes(), 24 * kMib);
  EXPECT_EQ(WorkloadOf("io_size=50%\nnrfiles=4\n").io_size_bytes(), 8 * kMib);
  // Of the files, however large size is: but it ends the load as ever.
  EXPECT_EQ(WorkloadOf("io_size=50%\nfilesize=4m\n").io_size_bytes(), 2 * kMib);
  EXPECT_EQ(WorkloadOf("io_size=50%\nfilesize=64m\n").io_size_bytes(), 16 * kMib);
  const auto runs = RunsOf(JobOf("[j]\nfilesize=8m\nnrfiles=2\nio_size=50%\n"));
  EXPECT_EQ(runs[0].workloads(0).io_size_bytes(), 8 * kMib);
  // All of it is what a job does anyway.
  EXPECT_EQ(WorkloadOf("io_size=100%\n").passes(), 1u);
  EXPECT_EQ(WorkloadOf("io_size=50%\ntime_based\nruntime=5\n").io_size_bytes(), 0);
}

TEST(FioRegionsTest, AShareOfIoNeedsAKnownSize) {
  EXPECT_NE(ErrorsOf("[j]\nfilename=/dev/vdb\nio_size=50%\n")
                .find("a.fio:3: io_size=50%: cannot be "
                      "translated; a job would need "
                      "the size of the file or device"),
            std::string::npos);
  EXPECT_EQ(ErrorsOf("[j]\nfilename=/dev/vdb\nsize=1g\nio_size=50%\n"), "");
  EXPECT_NE(ErrorsOf("[j]\nsize=1m\nio_size=101%\n").find("is no percentage from 0 to 100"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("[j]\nsize=16k\nio_size=10%\n").find("is less than a block"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::frontends::fio
