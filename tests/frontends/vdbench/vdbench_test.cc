#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "controller/plan/settle.h"
#include "frontends/frontend.h"
#include "frontends/vdbench/translate.h"
#include "frontends/vdbench/values.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr char kMixed[] = R"(* a comment
compratio=2
hd=default,user=root,shell=ssh
hd=one,system=node1
hd=two,system=node2
sd=default,openflags=o_direct,
   th=4
sd=sd1,lun=/dev/vdb behind a blank is a comment
sd=sd2,lun=/dev/vdc,size=1g
wd=small,sd=sd*,xfersize=8k,rdpct=70
wd=scan,sd=sd2,xfersize=1m,seekpct=0,host=two
rd=r1,wd=small,iorate=1000,el=60,interval=5,warmup=10
rd=r2,wd=scan,iorate=max,elapsed=5m,interval=5,forthreads=(1-8,d),forrdpct=(0,100)
eof
nothing of this is read
)";
// Shares at the maximum, hit areas and strides.
constexpr char kShares[] = R"(sd=a,lun=/dev/vdb,size=64m,hitarea=4m
sd=b,lun=/dev/vdc,size=1g
wd=default,rdpct=50
wd=hot,sd=a,rhpct=60,whpct=60,skew=70
wd=scan,sd=b,stride=(64k,64k),xfersize=8k
rd=r,wd=*,iorate=max,forthreads=(1,4)
rd=c,wd=*,iorate=curve
)";
constexpr char kOne[] = "sd=s,lun=/dev/vdb\n";
constexpr char kRun[] = "rd=r,wd=w,iorate=max\n";

Request RequestOf(const std::string& text) {
  Request request;
  request.files = {{"a.vdb", text}};
  return request;
}
std::string ErrorsOf(const Translation& translation) {
  std::string text;
  for (const Message& error : translation.errors) absl::StrAppend(&text, MessageText(error), "\n");
  return text;
}
std::string ErrorsOf(const std::string& text) {
  return ErrorsOf(TranslateVdbench(RequestOf(text)));
}

// The job with its defaults. It must be one that can be planned.
v1::JobSpec Settled(const Translation& translation) {
  EXPECT_EQ(ErrorsOf(translation), "");
  if (!translation.errors.empty()) return {};
  cli::JobFile file = ReadBack(translation, "a.vdb");
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    ADD_FAILURE() << problem.path() << ": " << problem.message() << "\n" << file.source;
  }
  return file.job;
}
v1::JobSpec JobOf(const std::string& text) { return Settled(TranslateVdbench(RequestOf(text))); }
// The run of a job with one workload and these parameters.
v1::RunPhase RunOf(const std::string& wd, const std::string& rd = "iorate=max") {
  const v1::JobSpec job = JobOf(absl::StrCat(kOne, "wd=w,sd=s", wd, "\nrd=r,wd=w,", rd, "\n"));
  return job.phases_size() > 0 ? job.phases(0).run() : v1::RunPhase();
}

TEST(VdbenchTest, ListsAreExpanded) {
  using List = std::vector<std::string>;
  EXPECT_EQ(ParseList("(1-64,d)"), (List{"1", "2", "4", "8", "16", "32", "64"}));
  EXPECT_EQ(ParseList("(8-1,d)"), (List{"8", "4", "2", "1"}));
  EXPECT_EQ(ParseList("(1-10,3)"), (List{"1", "4", "7", "10"}));
  EXPECT_EQ(ParseList("(1k-4k,d)"), (List{"1024", "2048", "4096"}));
  EXPECT_EQ(ParseList("(sd1-sd3,x)"), (List{"sd1", "sd2", "sd3", "x"}));
  EXPECT_EQ(ParseList("max"), List{"max"});
  for (const char* wrong : {"(1", "1)", "", "(1,,2)", "(1-100000)", "((1))"}) {
    EXPECT_EQ(ParseList(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(ParseSize("3k"), 3072);
  EXPECT_EQ(ParseSize("3kb"), std::nullopt);
  EXPECT_EQ(ParseSeconds("2h"), 7200);
  EXPECT_EQ(ParseSeconds("2d"), std::nullopt);
}

TEST(VdbenchTest, RunsArePhasesOfWorkloadsOnStorages) {
  const v1::JobSpec job = JobOf(kMixed);
  EXPECT_EQ(job.hosts().names_size(), 2);
  EXPECT_EQ(job.interval_ns(), 5000000000);
  ASSERT_EQ(job.phases_size(), 2);
  const v1::RunPhase& run = job.phases(0).run();
  EXPECT_EQ(run.ramp_ns(), 10000000000);
  EXPECT_EQ(run.duration_ns(), 60000000000);
  ASSERT_EQ(run.workloads_size(), 2);
  EXPECT_EQ(run.workloads(0).name(), "small on sd1");
  EXPECT_EQ(run.workloads(0).threads(), 4u);
  EXPECT_EQ(run.workloads(0).engine(), v1::ENGINE_SYNC);
  EXPECT_TRUE(run.workloads(0).direct());
  EXPECT_DOUBLE_EQ(run.workloads(0).read_ratio(), 0.7);
  EXPECT_EQ(run.workloads(0).open_loop().rate_per_second(), 500);
  EXPECT_EQ(run.workloads(0).open_loop().arrival(), v1::ARRIVAL_POISSON);
  EXPECT_DOUBLE_EQ(run.workloads(0).content().compressed_ratio(), 0.5);
  EXPECT_EQ(job.targets(1).device().size_bytes(), 1 << 30);
  EXPECT_EQ(job.targets(1).sharing(), v1::SHARING_OVERLAPPED);
}

TEST(VdbenchTest, LoopsAreAxesInTheirOrder) {
  const v1::JobSpec job = JobOf(kMixed);
  const v1::RunPhase& run = job.phases(1).run();
  // The first interval is left out.
  EXPECT_EQ(run.ramp_ns(), 5000000000);
  EXPECT_EQ(run.duration_ns(), 295000000000);
  EXPECT_EQ(run.workloads(0).hosts().names(0), "node2");
  EXPECT_TRUE(run.workloads(0).pattern().sequential().shared());
  ASSERT_EQ(run.sweep().axes_size(), 2);
  EXPECT_EQ(run.sweep().axes(0).field(), "threads");
  EXPECT_EQ(run.sweep().axes(0).values_size(), 4);
  EXPECT_EQ(run.sweep().axes(1).field(), "read");
  EXPECT_EQ(run.sweep().axes(1).values(1), "100%");
  const v1::RunPhase rates = RunOf("", "iorate=(100,200),forxfersize=(4k,8k)");
  EXPECT_EQ(rates.sweep().axes(0).field(), "block_size");
  EXPECT_EQ(rates.sweep().axes(1).field(), "open_loop.rate");
}

TEST(VdbenchTest, APauseIsAPhaseBetweenTwoRuns) {
  const std::string loads = absl::StrCat(kOne, "wd=w,sd=s\nrd=default,wd=w,iorate=max,pause=2m\n");
  const v1::JobSpec job = JobOf(loads + "rd=a\nrd=b,pause=0\nrd=c\n");
  // After b there is none, and after c no run waits for one.
  ASSERT_EQ(job.phases_size(), 4);
  EXPECT_EQ(job.phases(1).name(), "a pause");
  EXPECT_EQ(job.phases(1).observe().duration_ns(), 120000000000);
  EXPECT_TRUE(job.phases(2).has_run());
  EXPECT_TRUE(job.phases(3).has_run());
  EXPECT_EQ(JobOf(loads + "rd=a\n").phases_size(), 1);
}

TEST(VdbenchTest, AHostThatIsNotDefinedIsAnError) {
  const char* kNone = "runs on no host that is defined";
  const std::string hosts = "hd=one,system=node1\n";
  const std::string run = "wd=w,sd=s,host=two\nrd=r,wd=w,iorate=max\n";
  EXPECT_TRUE(absl::StrContains(ErrorsOf(absl::StrCat(hosts, kOne, run)), kNone));
  EXPECT_TRUE(absl::StrContains(ErrorsOf(absl::StrCat(kOne, run)), kNone));
  const std::string own = absl::StrReplaceAll(run, {{"two", "one"}});
  EXPECT_EQ(ErrorsOf(absl::StrCat(hosts, kOne, own)), "");
  const std::string local = absl::StrReplaceAll(run, {{"two", "localhost"}});
  EXPECT_EQ(ErrorsOf(absl::StrCat(kOne, local)), "");
}

TEST(VdbenchTest, SizesOrderAndRange) {
  EXPECT_EQ(RunOf("").workloads(0).block_size_bytes(), 4096);
  EXPECT_EQ(RunOf("").workloads(0).threads(), 8u);
  EXPECT_FALSE(RunOf("").workloads(0).direct());
  EXPECT_EQ(RunOf(",xfersize=(4k,60,8k,40)").workloads(0).block_sizes_size(), 2);
  EXPECT_EQ(RunOf(",xfersize=(4k,64k,4k)").workloads(0).block_sizes(0).up_to_bytes(), 65536);
  EXPECT_DOUBLE_EQ(RunOf(",seekpct=30").workloads(0).random_ratio(), 0.3);
  EXPECT_EQ(RunOf(",seekpct=eof").workloads(0).passes(), 1u);
  const v1::Workload w = RunOf(",range=(0,40)").workloads(0);
  EXPECT_TRUE(w.pattern().has_random());
  EXPECT_EQ(w.region().offset_share_ratio(), 0);
  EXPECT_DOUBLE_EQ(w.region().size_share_ratio(), 0.4);
  EXPECT_FALSE(RunOf(",range=(0,100)").workloads(0).has_region());
}

TEST(VdbenchTest, OrdersAndSharesHaveOtherWords) {
  for (const char* word : {"random", "rand", "Random"}) {
    const v1::Workload w = RunOf(absl::StrCat(",seekpct=", word)).workloads(0);
    EXPECT_TRUE(w.pattern().has_random() && w.random_ratio() == 1) << word;
  }
  for (const char* word : {"sequential", "seq"}) {
    const v1::Workload w = RunOf(absl::StrCat(",seekpct=", word)).workloads(0);
    EXPECT_TRUE(w.pattern().has_sequential() && w.passes() == 0) << word;
  }
  EXPECT_DOUBLE_EQ(RunOf(",readpct=70").workloads(0).read_ratio(), 0.7);
  EXPECT_DOUBLE_EQ(RunOf(",writepct=25").workloads(0).read_ratio(), 0.75);
  EXPECT_DOUBLE_EQ(RunOf(",rdpct=10,wrpct=40").workloads(0).read_ratio(), 0.6);
}

TEST(VdbenchTest, AShareOfTheRunHasTheLineOfTheRun) {
  const Translation translation = TranslateVdbench(RequestOf(
      std::string(kOne) +
      "wd=w,sd=s,rdpct=0,xfersize=(4k,50,8k,50)\nrd=r,wd=w,iorate=max,rdpct=50,xfersize=8k\n"));
  EXPECT_EQ(ErrorsOf(translation), "");
  EXPECT_EQ(translation.origins.at("phases[0].run.workloads[0].read").line, 3);
  EXPECT_EQ(translation.origins.at("phases[0].run.workloads[0].block_size").line, 3);
  EXPECT_FALSE(translation.origins.contains("phases[0].run.workloads[0].block_sizes"));
}

// The region of a workload with these parameters on a storage with those.
v1::Region RegionOf(const std::string& sd, const std::string& wd, const std::string& rd = "") {
  const v1::JobSpec job = JobOf(absl::StrCat("sd=s,lun=/dev/vdb,", sd, "\nwd=w,sd=s,", wd,
                                             "\nrd=r,wd=w,iorate=max", rd, "\n"));
  return job.phases_size() > 0 ? job.phases(0).run().workloads(0).region() : v1::Region();
}

TEST(VdbenchTest, ARangeIsARegionOfAnyOrder) {
  for (const char* order : {"seekpct=100", "seekpct=30", "seekpct=0", "seekpct=eof"}) {
    const v1::Workload w = RunOf(absl::StrCat(",range=(20,60),", order)).workloads(0);
    EXPECT_DOUBLE_EQ(w.region().offset_share_ratio(), 0.2) << order;
    EXPECT_DOUBLE_EQ(w.region().size_share_ratio(), 0.4) << order;
  }
  // Up to the end, wherever that is.
  const v1::Region rest = RegionOf("th=1", "range=(75,100)");
  EXPECT_DOUBLE_EQ(rest.offset_share_ratio(), 0.75);
  EXPECT_EQ(rest.size_share_ratio(), 0);
  // The workload's range goes before that of the storage.
  EXPECT_DOUBLE_EQ(RegionOf("range=(10,20)", "rdpct=50").offset_share_ratio(), 0.1);
  EXPECT_DOUBLE_EQ(RegionOf("range=(10,20)", "range=(30,40)").offset_share_ratio(), 0.3);
}

TEST(VdbenchTest, ARangeOfAKnownSizeIsBytesInWholeBlocks) {
  const v1::Region region = RegionOf("size=100k", "xfersize=8k,range=(50,90)");
  EXPECT_EQ(region.offset_bytes(), 48 << 10);
  EXPECT_EQ(region.size_bytes(), (88 - 48) << 10);
  // A multiple of the largest block that the run makes of it.
  EXPECT_EQ(RegionOf("size=1m", "range=(30,90)", ",forxfersize=(4k,64k)").offset_bytes(),
            256 << 10);
  // Numbers above 200 are bytes.
  const v1::Region bytes = RegionOf("th=1", "range=(1m,1g)");
  EXPECT_EQ(bytes.offset_bytes(), 1 << 20);
  EXPECT_EQ(bytes.size_bytes(), (1 << 30) - (1 << 20));
  EXPECT_EQ(RegionOf("size=1g", "range=(50,768m)").size_bytes(), 256 << 20);
}

TEST(VdbenchTest, AnOffsetMovesTheStart) {
  const v1::Region region = RegionOf("offset=512", "xfersize=8k");
  EXPECT_EQ(region.offset_bytes(), 512);
  EXPECT_EQ(region.size_bytes(), 0);
  // The end of a range stays.
  const v1::Region both = RegionOf("size=1m,offset=4k,range=(50,75)", "rdpct=0");
  EXPECT_EQ(both.offset_bytes(), (512 + 4) << 10);
  EXPECT_EQ(both.size_bytes(), (768 - 512 - 4) << 10);
  EXPECT_EQ(JobOf(absl::StrCat("sd=s,lun=/data/f,size=1m,offset=4k\nwd=w,sd=s\n", kRun))
                .phases(1)
                .run()
                .workloads(0)
                .region()
                .offset_bytes(),
            4 << 10);
}

TEST(VdbenchTest, DifferencesOfRegionsAreRemarked) {
  const auto remarks = [](const std::string& sd, const std::string& wd) {
    const Translation t = TranslateVdbench(
        RequestOf(absl::StrCat("sd=s,lun=/dev/vdb,", sd, "\nwd=w,sd=s,", wd, "\n", kRun)));
    EXPECT_EQ(ErrorsOf(t), "");
    std::string text;
    for (const Message& each : t.remarks) absl::StrAppend(&text, MessageText(each), "\n");
    return text;
  };
  EXPECT_TRUE(absl::StrContains(remarks("offset=512", "xfersize=(4k,50,8k,50)"),
                                "offset=512: I/Os of several sizes begin at multiples"));
  EXPECT_FALSE(absl::StrContains(remarks("offset=4k", "xfersize=(4k,50,8k,50)"), "multiples"));
  EXPECT_TRUE(
      absl::StrContains(remarks("th=1", "range=(50,150),seekpct=eof"), "is a range up to 100 %"));
}

TEST(VdbenchTest, RegionsThatCannotBeAreRefused) {
  const auto errors = [](const std::string& sd, const std::string& wd) {
    return ErrorsOf(
        absl::StrCat("sd=s,lun=/dev/vdb,", sd, "\nwd=w,sd=s,xfersize=4k,", wd, "\n", kRun));
  };
  struct Case {
    const char* sd;
    const char* wd;
    const char* error;
  };
  const Case kCases[] = {
      {"offset=100", "rdpct=0", "a.vdb:1: offset=100: is no multiple of 512"},
      {"offset=x", "rdpct=0", "a.vdb:1: offset=x: is no multiple of 512"},
      {"size=1m,offset=1m", "rdpct=0", "a.vdb:1: offset=1m: leaves 0 bytes"},
      {"offset=4k,range=(10,20)", "rdpct=0", "a.vdb:1: offset=4k: cannot be translated"},
      {"th=1", "range=(10,1g)", "a.vdb:2: range=(10,1g): cannot be translated"},
      {"th=1", "range=(50,150)", "a.vdb:2: range=(50,150): cannot be translated"},
      {"th=1", "range=(60,20)", "is no (low,high)"},
      {"th=1", "range=(60)", "is no (low,high)"},
      {"size=1m", "range=(1k,2m)", "lies beyond the storage"},
      {"th=1", "range=(1k,99999999999999999999)", "lies beyond the storage"},
      {"th=1", "range=(1k,1e300)", "lies beyond the storage"},
      {"size=1m", "range=(50,50.5)", "vdbench needs two blocks of 4096 bytes"},
      {"th=1", "range=(1m,1025k)", "vdbench needs two blocks of 4096 bytes"},
  };
  for (const Case& each : kCases) {
    const std::string found = errors(each.sd, each.wd);
    EXPECT_TRUE(absl::StrContains(found, each.error)) << each.sd << each.wd << "\n" << found;
  }
}

TEST(VdbenchTest, ACurveIsTheMaximumAndSharesOfIt) {
  const v1::JobSpec job = JobOf(absl::StrCat(kOne, "wd=w,sd=s\nrd=r,wd=w,iorate=curve\n"));
  ASSERT_EQ(job.phases_size(), 2);
  EXPECT_EQ(job.phases(0).name(), "r max");
  EXPECT_EQ(job.phases(1).run().workloads(0).open_loop().measured().phase(), "r max");
  EXPECT_EQ(job.phases(1).run().curve().share_ratio_size(), 6);
}

TEST(VdbenchTest, SkewsAreSharesOfTheRate) {
  const std::string loads = absl::StrCat(kOne, "wd=a,sd=s,skew=80\nwd=b,sd=s,rdpct=0\n");
  const v1::JobSpec job = JobOf(loads + "rd=r,wd=*,iorate=(100,200)\n");
  ASSERT_EQ(job.phases_size(), 2);
  EXPECT_EQ(job.phases(1).run().workloads(0).open_loop().rate_per_second(), 160);
  EXPECT_EQ(job.phases(1).run().workloads(1).open_loop().rate_per_second(), 40);
}

TEST(VdbenchTest, ACountMakesManyStorages) {
  const v1::JobSpec job =
      JobOf("sd=d,lun=/dev/vd,count=(1,3)\nwd=w,sd=(d1-d2)\nrd=r,wd=w,iorate=max\n");
  ASSERT_EQ(job.targets_size(), 2);
  EXPECT_EQ(job.targets(1).device().path(), "/dev/vd2");
}

TEST(VdbenchTest, FilesAreLaidOutAndSeveralHostsDoNotShareThem) {
  const std::string text = "sd=s,lun=/data/f,size=1g\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n";
  EXPECT_TRUE(JobOf(text).phases(0).has_prepare());
  Request request = RequestOf(text);
  request.hosts = "2";
  EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateVdbench(request)), "put {host} into its path"));
  request.disks["s"] = "/data/{host}/f";
  EXPECT_EQ(ErrorsOf(TranslateVdbench(request)), "");
}

TEST(VdbenchTest, IncludedFilesAreRead) {
  Request request = RequestOf(absl::StrCat("include=more\nwd=w,sd=s\n", kRun));
  request.read_included = [](const std::string& path) -> std::optional<std::string> {
    return path == "more" ? std::optional<std::string>(kOne) : std::nullopt;
  };
  EXPECT_EQ(ErrorsOf(TranslateVdbench(request)), "");
  // Of one level.
  request.read_included = [](const std::string&) {
    return std::optional<std::string>("include=b");
  };
  EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateVdbench(request)),
                                "more:1: include=b: stands in a file that is included"));
}

struct Refused {
  const char* text;
  const char* error;
};
TEST(VdbenchTest, WhatCannotBeTranslatedIsRefusedByItsLine) {
  const Refused kLines[] = {
      {"fsd=f,anchor=/x\n", "a.vdb:2: fsd=f: cannot be translated; a job would need files"},
      {"fwd=f,fsd=g\n", "a.vdb:2: fwd=f: cannot be translated; a job would need files"},
      {"sd=t,lun=/dev/vdc,align=4k\n", "a.vdb:2: align=4k: cannot be translated"},
      {"sd=t,size=4k\n", "has no lun"},
      {"sd=t,lun=x\n", "is no absolute path"},
      {"sd=t,lun=/a/../b,size=1m\n", "has .. in its path"},
      {"sd=t,lun=/a\n", "is a file, and has no size"},
      {"sd=s,lun=/dev/vdd\n", "is there twice"},
      {"sd=t,lun=/dev/vdc,colour=red\n", "is no parameter of vdbench"},
      {"sd=t,lun=/dev/vdc,o=1\n", "may be offset or openflags"},
      {"sd=t,lun=/dev/vdc,threads=0\n", "is no whole number from 1 to 1024"},
      {"wd=v,sd=s,stride=(1,2)\n", "a distance between two I/Os"},
      {"wd=v,sd=s,hotband=(1,2)\n", "hot bands"},
      {"wd=v,sd=s,priority=1\n", "with a priority"},
      {"wd=v,sd=s,iorate=10\n", "with a priority"},
      {"wd=v,sd=s,seekpct=poisson\n", "Poisson"},
      {"wd=v,sd=s,seekpct=200\n", "none of random, sequential and eof"},
      {"wd=v,sd=s,seekpct=seqnz\n", "none of random, sequential and eof"},
      {"wd=v,sd=s,seekpct=(poisson,3)\n", "Poisson"},
      {"wd=v,sd=s,wrpct=101\n", "is no percentage"},
      {"wd=v,sd=s,xfersize=1000\n", "multiple of 512"},
      {"wd=v,sd=s,xfersize=(4k,50,8k,20)\n", "not of 100"},
      {"wd=v,sd=s,xfersize=(4k,64k,8k)\n", "begin elsewhere than at the unit"},
      {"wd=v,sd=s,rdpct=101\n", "is no percentage"},
      {"wd=v,sd=s,skew=0\n", "is no percentage above 0"},
      {"dedupratio=2\n", "dedupratio=2: cannot be translated"},
      {"validate=yes\n", "validate=yes: cannot be translated"},
      {"startcmd=rm\n", "commands; none is ever run"},
      {"include=x\n", "cannot be read here"},
      {"nonsense\n", "is no KEY=VALUE"},
      {"wd=v,\n", "nothing follows"},
  };
  for (const Refused& each : kLines) {
    const std::string errors = ErrorsOf(std::string(kOne) + each.text);
    EXPECT_TRUE(absl::StrContains(errors, each.error)) << each.text << errors;
  }
  const Refused kRuns[] = {
      {"iorate=max,range=1", "is no parameter of vdbench"},
      {"iorate=max,pause=5d", "is no time up to 100 days"},
      {"iorate=max,pause=5,forthreads=(1,2)", "a pause between the steps"},
      {"iorate=curve,pause=5", "a pause between the steps"},
      {"iorate=max,fwdrate=5", "files, directories"},
      {"iorate=0", "is no rate"},
      {"iorate=x", "is no rate"},
      {"elapsed=5", "has no iorate"},
      {"iorate=max,elapsed=1", "leaves no interval"},
      {"iorate=max,elapsed=5d", "is no time"},
      {"iorate=max,interval=90", "is no interval"},
      {"iorate=max,warmup=3,interval=2", "no multiple of the interval"},
      {"iorate=100,distribution=uniform", "uniformly distributed"},
      {"iorate=max,maxdata=1k", "no number of bytes"},
      {"iorate=max,forxfersize=(1000)", "no workload of the run can take"},
      {"iorate=curve,forthreads=(1,2)", "a curve at each point of a sweep"},
      {"iorate=max,forhitarea=(1m,2m)", "an area that I/Os hit as an axis"},
      {"iorate=max,forseekpct=(0,100)", "as an axis"},
      {"iorate=max,seekpct=0", "write it into each wd"},
      {"iorate=max,sd=x", "names no storage: x"},
      {"iorate=max,openflags=o_excl", "the flag o_excl"},
  };
  for (const Refused& each : kRuns) {
    const std::string errors =
        ErrorsOf(absl::StrCat(kOne, "wd=w,sd=s\nrd=r,wd=w,", each.text, "\n"));
    EXPECT_TRUE(absl::StrContains(errors, each.error)) << each.text << "\n" << errors;
    EXPECT_TRUE(absl::StrContains(errors, "a.vdb:3: ")) << errors;
  }
  EXPECT_TRUE(absl::StrContains(ErrorsOf(absl::StrCat(kOne, "wd=w,sd=s\nrd=r,wd=x,iorate=max\n")),
                                "names no workload: x"));
  EXPECT_TRUE(absl::StrContains(ErrorsOf("wd=w,sd=s\nsd=s,lun=/dev/x\n"), "the order is hd, sd"));
  EXPECT_TRUE(absl::StrContains(ErrorsOf(kOne), "has no run definition"));
}

TEST(VdbenchTest, AFileIsKnownByItsContent) {
  const auto known = FindFrontEnd({"parm", kMixed});
  // A general parameter may come first.
  ASSERT_TRUE(known.has_value());
  EXPECT_STREQ(known->name, "vdbench");
}

std::string Mutated(std::mt19937* random) {
  static const auto* const lines = new std::vector<std::string>(absl::StrSplit(kMixed, '\n'));
  static const char* const kPieces[] = {
      "(",  ")", ",",    "=",  "*", "-", "0",   "99999999999999999999",
      "\n", "k", "\xff", "..", "/", "d", "max", "curve"};
  std::string text = (*random)() % 4 == 0 ? kShares : kMixed;
  if ((*random)() % 2 == 0) {
    text = absl::StrReplaceAll(
        text, {{"size=1g", "size=1g,offset=4k"}, {"seekpct=0", "seekpct=0,range=(20,60)"}});
  }
  for (uint32_t changes = 1 + (*random)() % 3; changes > 0; --changes) {
    const size_t at = (*random)() % text.size();
    switch ((*random)() % 4) {
      case 0:
        text[at] = static_cast<char>(32 + (*random)() % 95);
        break;
      case 1:
        text.erase(at, 1 + (*random)() % 12);
        break;
      case 2:
        text.insert(at, kPieces[(*random)() % std::size(kPieces)]);
        break;
      default:
        text.insert(text.rfind('\n', at) + 1, (*lines)[(*random)() % lines->size()] + "\n");
    }
    if (text.empty()) text = "*";
  }
  return text;
}

TEST(VdbenchTest, AMutatedFileIsRefusedByLineOrCanBePlanned) {
  std::mt19937 random(1);
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 100000 : 1000;
  int translated = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = Mutated(&random);
    const Translation t = TranslateVdbench(RequestOf(text));
    for (const Message& error : t.errors) EXPECT_GE(error.where.line, 1) << text;
    if (!t.errors.empty()) continue;
    ++translated;
    const v1::JobSpec job = Settled(t);
    for (const v1::Target& target : job.targets()) {
      const std::string path = target.has_file() ? target.file().path() : target.device().path();
      EXPECT_TRUE(absl::StartsWith(path, "/") && !absl::StrContains(path + "/", "/../")) << path;
      // The job writes nowhere but where the file says.
      EXPECT_TRUE(absl::StrContains(text, "=" + path)) << path;
    }
    if (HasFailure()) FAIL() << "the file was\n" << text;
  }
  // A mutant without one of its hosts is refused, because a workload names that host.
  EXPECT_GE(translated, rounds / 20);
}

}  // namespace
}  // namespace lockstep::frontends::vdbench
