// Jobs among others: flows, schedules that others submit, zones, priorities of single I/Os, and
// NUMA nodes.

#include <algorithm>

#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

bool Remarks(const std::string& options, const std::string& text) {
  return RemarksOf(TranslateFio(RequestOf("[j]\nsize=16m\n" + options))).find(text) !=
         std::string::npos;
}

bool Fails(const std::string& options, const std::string& text) {
  return ErrorsOf("[j]\nsize=16m\n" + options).find(text) != std::string::npos;
}

TEST(FioProportionsTest, FlowsOfAPhaseAreShares) {
  const auto runs = RunsOf(
      JobOf("[global]\nsize=16m\nfilename=/d/f\nrw=randread\nnorandommap\nflow_sleep=1000\n"
            "[a]\nflow=1\nnumjobs=2\n[b]\nflow=8\nflow_id=0\n[c]\nstonewall\nflow=3\nflow_id=7\n"));
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0].workloads_size(), 2);
  // In fio each clone has the flow.
  EXPECT_EQ(runs[0].workloads(0).flow(), 2u);
  EXPECT_EQ(runs[0].workloads(1).flow(), 8u);
  EXPECT_EQ(runs[1].workloads(0).flow(), 0u) << "nobody to share with";
  EXPECT_TRUE(Remarks("flow=2\nflow_id=3\n", "a.fio:3: flow=2: has no effect"));
  const auto groups =
      RunsOf(JobOf("[global]\nsize=1m\nflow_id=4\nflow=1\n[a]\n[b]\n[c]\nflow=2\n"));
  EXPECT_EQ(groups[0].workloads(2).flow(), 2u);
  EXPECT_EQ(groups[0].workloads(2).flow_group(), 4u);
}

TEST(FioProportionsTest, ARateThatOthersSubmitIsASchedule) {
  v1::Workload w = WorkloadOf("rate_iops=100\nio_submit_mode=offload\n");
  EXPECT_EQ(w.open_loop().rate_per_second(), 100);
  EXPECT_EQ(w.open_loop().arrival(), v1::ARRIVAL_FIXED);
  w = WorkloadOf("rate_iops=100\nio_submit_mode=offload\nrate_process=poisson\n");
  EXPECT_EQ(w.open_loop().arrival(), v1::ARRIVAL_POISSON);
  w = WorkloadOf("rate_iops=100\nio_submit_mode=inline\n");
  EXPECT_EQ(w.max_iops(), 100);
  EXPECT_FALSE(WorkloadOf("io_submit_mode=offload\n").has_open_loop());
  EXPECT_TRUE(Remarks("io_submit_mode=offload\n", "has no effect without a rate"));
  EXPECT_TRUE(Fails("io_submit_mode=bogus\n", "is neither inline nor offload"));
}

TEST(FioProportionsTest, StridedZonesAreSkips) {
  v1::Sequential order =
      WorkloadOf("bs=64k\nzonemode=strided\nzonesize=256k\nzoneskip=2m\nlog_offset=0\n")
          .pattern()
          .sequential();
  EXPECT_EQ(order.skip_bytes(), 2 << 20);
  EXPECT_EQ(order.skip_after_bytes(), 256 << 10);
  // A size alone means them, too, and what a zone leaves of its range is left out.
  order = WorkloadOf("zonesize=64k\nzonerange=1m\nzoneskip=1m\n").pattern().sequential();
  EXPECT_EQ(order.skip_bytes(), (2 << 20) - (64 << 10));
  EXPECT_EQ(WorkloadOf("zonemode=strided\nzonesize=64k\n").pattern().sequential().skip_bytes(), 0);
  // fio goes round until it has moved the size.
  EXPECT_EQ(WorkloadOf("zonesize=64k\nzoneskip=1m\n").io_size_bytes(), 16 << 20);
  for (const char* line :
       {"zonemode=zbd\n", "rw=randread\nzonesize=64k\nzoneskip=1m\n",
        "bsrange=4k-8k\nzonesize=64k\nzoneskip=1m\n", "zonesize=6k\nzoneskip=1m\n",
        "zonesize=2m\nzonerange=1m\nzoneskip=1m\n", "rw=read:8k\nzonesize=64k\nzoneskip=1m\n",
        "rw=write\nverify=crc32c\nzonesize=64k\nzoneskip=2k\n"}) {
    EXPECT_TRUE(Fails(line, "cannot be translated")) << line;
  }
  EXPECT_TRUE(Fails("zonemode=strided\n", "needs a zonesize"));
  EXPECT_TRUE(Fails("zonemode=bogus\n", "is none of none, strided, zbd"));
  EXPECT_TRUE(Fails("zonesize=4k\nzoneskip=16m\n", "a.fio:3: zonesize=4k: skips all of the file"));
}

TEST(FioProportionsTest, AShareOfTheIosHasAPriority) {
  const v1::Workload w = WorkloadOf(
      "rw=randread\nbs=128k\nioengine=libaio\ndirect=1\ncmdprio_percentage=20\ncmdprio_class=2\n"
      "cmdprio=1\nprioclass=3\n");
  ASSERT_EQ(w.access_size(), 2);
  EXPECT_EQ(w.access(0).weight(), 20);
  EXPECT_EQ(w.access(0).io_priority().class_(), v1::IO_PRIORITY_CLASS_BEST_EFFORT);
  EXPECT_EQ(w.access(0).io_priority().level(), 1u);
  EXPECT_EQ(w.access(1).weight(), 80);
  EXPECT_FALSE(w.access(1).has_io_priority());
  EXPECT_EQ(w.access(1).block_size_bytes(), 128 << 10);
  EXPECT_EQ(w.io_priority().class_(), v1::IO_PRIORITY_CLASS_IDLE);
}

TEST(FioProportionsTest, SizesHavePriorities) {
  const v1::Workload w = WorkloadOf(
      "rw=randrw\nioengine=libaio\niodepth=4\ndirect=1\nbssplit=64k/40:1024k/60,1024k/100\n"
      "cmdprio_bssplit=64k/25/1/1:64k/75/3/2:1024k/0,1024k/0\n");
  ASSERT_EQ(w.access_size(), 4);
  EXPECT_EQ(w.access(0).weight(), 5);
  EXPECT_EQ(w.access(0).io_priority().class_(), v1::IO_PRIORITY_CLASS_REALTIME);
  EXPECT_EQ(w.access(1).weight(), 15);
  EXPECT_EQ(w.access(1).io_priority().class_(), v1::IO_PRIORITY_CLASS_IDLE);
  EXPECT_FALSE(w.access(2).has_io_priority());
  EXPECT_EQ(w.access(3).read_ratio(), 0);
  EXPECT_FALSE(w.access(3).has_io_priority());
}

TEST(FioProportionsTest, PrioritiesThatCannotBe) {
  const std::string with = "ioengine=io_uring\ndirect=1\ncmdprio_percentage=20\n";
  EXPECT_TRUE(Fails("cmdprio_percentage=20\n", "is an option of libaio and io_uring"));
  EXPECT_TRUE(Fails(with + "cmdprio_bssplit=4k/10\n", "cannot stand beside cmdprio_bssplit"));
  EXPECT_TRUE(Fails(with + "rw=randread:4\n", "cannot be translated"));
  EXPECT_TRUE(Fails(with + "rw=read:8k\n", "cannot be translated"));
  EXPECT_TRUE(Remarks(with + "rw=trim\n", "no I/O of the job has a share in it"));
  EXPECT_TRUE(Fails(with + "rw=write\nverify=md5\n", "cannot be translated"));
  EXPECT_TRUE(Fails(with + "cmdprio_class=4\n", "has no number from 0 to 3"));
  EXPECT_TRUE(Fails("ioengine=io_uring\ndirect=1\ncmdprio_bssplit=4k\n", "is not of the form"));
  EXPECT_TRUE(Fails("ioengine=io_uring\ndirect=1\ncmdprio_bssplit=4k/60:4k/50\n",
                    "has more than 100 % of the I/Os"));
  EXPECT_TRUE(Remarks("ioengine=io_uring\ncmdprio_percentage=20\n", "the page cache sends"));
  EXPECT_TRUE(Remarks("cmdprio=3\n", "has no effect without a share"));
  EXPECT_EQ(WorkloadOf("ioengine=io_uring\ndirect=1\ncmdprio_percentage=0\n").access_size(), 0);
}

TEST(FioProportionsTest, NodesOfProcessorsAndOfMemory) {
  const v1::EngineOptions o =
      WorkloadOf("numa_cpu_nodes=0-1\nnuma_mem_policy=interleave:0-1,3\n").engine_options();
  EXPECT_EQ(o.cpu_nodes_size(), 2);
  EXPECT_EQ(o.interleave_nodes_size(), 3);
  EXPECT_FALSE(o.has_numa_node());
  EXPECT_TRUE(Fails("numa_cpu_nodes=x\n", "is no list of NUMA nodes"));
  EXPECT_TRUE(Fails("numa_cpu_nodes=2000\n", "is no list of NUMA nodes"));
  EXPECT_TRUE(Fails("numa_cpu_nodes=0\ncpus_allowed=1\n", "cannot stand beside cpus_allowed"));
  EXPECT_TRUE(Fails("numa_mem_policy=prefer:1\n", "cannot be translated"));
}

TEST(FioProportionsTest, TheSizeOfAFileThatIsThere) {
  Request request = RequestOf("[a]\nfilename=/d/f\nrw=read\n[b]\nfilename=/d/f\noffset=50%\n");
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("has no size for /d/f"), std::string::npos);
  request.find_size = [](const std::string& path) -> std::optional<int64_t> {
    return path == "/d/f" ? std::optional<int64_t>(8 << 20) : std::nullopt;
  };
  const v1::JobSpec job = JobOf(request);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 8 << 20);
  EXPECT_EQ(RunsOf(job)[0].workloads(1).region().offset_bytes(), 4 << 20);
  EXPECT_NE(RemarksOf(TranslateFio(request)).find("is laid out with the 8388608 bytes"),
            std::string::npos);
  // Each of several hosts has a file of its own, of which this machine knows nothing.
  request.hosts = "2";
  EXPECT_FALSE(TranslateFio(request).errors.empty());
}

}  // namespace
}  // namespace lockstep::frontends::fio
