#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

TEST(FioGrammarTest, GlobalsHoldForJobsBelowThemOnly) {
  const auto runs = RunsOf(JobOf(
      "[global]\nsize=1m\n[a]\n[global foo]\nbs=8k\n[globals]\niodepth=4\nioengine=libaio\n[b]\n"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].workloads_size(), 2);
  EXPECT_EQ(runs[0].workloads(0).block_size_bytes(), 4096);
  EXPECT_EQ(runs[0].workloads(1).block_size_bytes(), 8192);
  EXPECT_EQ(runs[0].workloads(1).queue_depth(), 4u);
}

TEST(FioGrammarTest, AFurtherFileBeginsAfreshBehindAStonewall) {
  Request request = RequestOf("[global]\nbs=8k\n[a]\nsize=1m\n");
  request.files.push_back({"b.fio", "[b]\nsize=1m\n"});
  const auto runs = RunsOf(JobOf(request));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].workloads(0).block_size_bytes(), 4096);
}

TEST(FioGrammarTest, CommentsCutALineAnywhere) {
  const v1::JobSpec job = JobOf("; x\n  # y\n[a] ; z\nsize=1m;2m\nfilename=/d/a#b\n");
  EXPECT_EQ(job.targets(0).file().path(), "/d/a");
  EXPECT_EQ(job.targets(0).file().size_bytes(), 1 << 20);
}

TEST(FioGrammarTest, TheLastOfTwoHolds) {
  EXPECT_EQ(WorkloadOf("bs=4k\nblocksize=8k\n").block_size_bytes(), 8192);
  EXPECT_TRUE(WorkloadOf("buffered=1\ndirect=1\n").direct());
  EXPECT_FALSE(WorkloadOf("direct=1\nbuffered=1\n").direct());
  EXPECT_EQ(WorkloadOf("rw=randrw\nrwmixread=70\nrwmixwrite=40\n").read_ratio(), 0.6);
}

TEST(FioGrammarTest, KbBaseIsReadFirst) {
  EXPECT_EQ(WorkloadOf("bs=4kb\nkb_base=1000\n").block_size_bytes(), 4000);
}

TEST(FioGrammarTest, FlagsAndBooleans) {
  EXPECT_EQ(RunsOf(JobOf("[a]\nsize=1m\nruntime=5\ntime_based=0\n"))[0].workloads(0).passes(), 1u);
  EXPECT_EQ(RunsOf(JobOf("[a]\nsize=1m\nruntime=5\ntime_based\n"))[0].workloads(0).passes(), 0u);
  EXPECT_EQ(ErrorsOf("[a]\nsize=1m\ndirect=true\n"),
            "a.fio:3: direct=true: is a number for fio: 0 or 1\n");
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\ndirect\n"), "");
}

TEST(FioGrammarTest, UnknownOptionsAreRefusedAsFioDoes) {
  // From fio's own waitfor.fio and steadystate.fio.
  EXPECT_NE(ErrorsOf("[a]\nthreads=1\nsize=1m\n").find("a.fio:2: threads=1: is no option of fio"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\niodpeth=4\nsize=1m\n")
                .find("iodpeth=4: is no option of fio; did you mean iodepth?"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nblocksiz=4k\nsize=1m\n").find("did you mean blocksize?"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nclustername=ceph\nsize=1m\n").find("of an engine that Lockstep has"),
            std::string::npos);
}

TEST(FioGrammarTest, IncludesNestAndHaveNoSections) {
  Request request = RequestOf("[a]\ninclude one.inc\n");
  request.files[0].name = "dir/a.fio";
  std::map<std::string, std::string> files{{"dir/one.inc", "include two.inc\n"},
                                           {"dir/two.inc", "size=2m\nbs=8k\n"}};
  request.read_included = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  const Translation good = TranslateFio(request);
  EXPECT_EQ(RunsOf(Settled(good))[0].workloads(0).block_size_bytes(), 8192);
  EXPECT_EQ(good.origins.at("phases[1].run.workloads[0].block_size").file, "dir/two.inc");
  files["dir/two.inc"] = "[b]\n";
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("dir/two.inc:1: [b]: "), std::string::npos);
  files["dir/two.inc"] = "include two.inc\n";
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("nested more than 16"), std::string::npos);
  files.clear();
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("cannot be read"), std::string::npos);
}

TEST(FioGrammarTest, VariablesAndKeywords) {
  Request request = RequestOf("[a]\nsize=${SIZE}m${NONE}\nbs=$pagesize*2\nnumjobs=$ncpus/2\n");
  request.find_variable = [](const std::string& name) -> std::optional<std::string> {
    return name == "SIZE" ? std::optional<std::string>("2") : std::nullopt;
  };
  const v1::JobSpec job = JobOf(request);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 2 << 20);
  EXPECT_EQ(RunsOf(job)[0].workloads(0).block_size_bytes(), 8192);
  EXPECT_EQ(RunsOf(job)[0].workloads(0).threads(), 2u);
  // Without a keyword and brackets there is no arithmetic: 4, with no unit.
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\nbs=4*1k\n"), "");
}

TEST(FioGrammarTest, WhatIsNoJobFileIsRefusedByLine) {
  EXPECT_EQ(ErrorsOf("bs=4k\n[a]\nsize=1m\n"), "a.fio:1: bs=4k: stands outside of a section\n");
  EXPECT_NE(ErrorsOf("[a\nsize=1m\n").find("a.fio:1: [a: is no section"), std::string::npos);
  EXPECT_NE(ErrorsOf("").find("has no job"), std::string::npos);
  EXPECT_NE(ErrorsOf("[global]\nbs=4k\n").find("has no job"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nsize=\n").find("a.fio:2: size=: has no value"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\xff\n").find("a.fio:2: "), std::string::npos);
}

TEST(FioGrammarTest, SizesAndNumbersAreLimited) {
  EXPECT_NE(ErrorsOf(std::string(2 << 20, ' ')).find("the maximum is"), std::string::npos);
  std::string sections = "[global]\nsize=1m\nstonewall\n";
  for (size_t i = 0; i < kMaxSections + 1; ++i) absl::StrAppend(&sections, "[j", i, "]\n");
  EXPECT_NE(ErrorsOf(sections).find("at most 512 jobs"), std::string::npos);
  std::string options = "[a]\n";
  for (size_t i = 0; i < kMaxOptions + 1; ++i) absl::StrAppend(&options, "o", i, "=1\n");
  EXPECT_NE(ErrorsOf(options).find("at most 512 options"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nsize=1m\nbs=" + std::string(9000, '4') + "\n").find("a.fio:3: "),
            std::string::npos);
  Request request = RequestOf("[a]\nname=" + absl::StrCat(std::string(4000, '$')) + "{X}\n");
  request.find_variable = [](const std::string&) { return std::string(1 << 20, 'x'); };
  EXPECT_NE(ErrorsOf(TranslateFio(request)).find("too long"), std::string::npos);
}

TEST(FioGrammarTest, HostsStandInACommentOrAFlag) {
  Request request = RequestOf("; lockstep: hosts=node[1-4]\n[a]\nsize=1m\n");
  EXPECT_EQ(JobOf(request).hosts().names(0), "node[1-4]");
  request.hosts = "2";
  EXPECT_EQ(JobOf(request).hosts().count(), 2u);
  EXPECT_EQ(JobOf("[a]\nsize=1m\n").hosts().count(), 1u);
  EXPECT_NE(ErrorsOf("# lockstep: hosts=a b\n[a]\nsize=1m\n").find("a.fio:1: "), std::string::npos);
}

}  // namespace
}  // namespace lockstep::frontends::fio
