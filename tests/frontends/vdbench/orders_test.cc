// Strides, hit areas, and shares of workloads at the maximum rate.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/plan/settle.h"
#include "frontends/frontend.h"
#include "frontends/vdbench/translate.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends::vdbench {
namespace {

Translation TranslateOrders(const std::string& text) {
  Request request;
  request.files = {{"a.vdb", text}};
  return TranslateVdbench(request);
}
std::string AllOf(const std::vector<Message>& messages) {
  std::string text;
  for (const Message& each : messages) absl::StrAppend(&text, MessageText(each), "\n");
  return text;
}
void ExpectSaid(const std::string& said, const std::string& part) {
  EXPECT_TRUE(absl::StrContains(said, part)) << part << "\n" << said;
}

// The run phases of a job that can be planned.
std::vector<v1::RunPhase> PlannedRuns(const std::string& text) {
  const Translation translation = TranslateOrders(text);
  EXPECT_EQ(AllOf(translation.errors), "");
  if (!translation.errors.empty()) return std::vector<v1::RunPhase>(1);
  cli::JobFile file = ReadBack(translation, "a.vdb");
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    ADD_FAILURE() << problem.path() << ": " << problem.message() << "\n" << file.source;
  }
  std::vector<v1::RunPhase> runs;
  for (const v1::PhaseSpec& phase : file.job.phases()) {
    if (phase.has_run()) runs.push_back(phase.run());
  }
  return runs;
}

// A file with these parameters of its storage, its workload and its run.
std::string FileOf(const std::string& sd, const std::string& wd, const std::string& rd = "") {
  return absl::StrCat("sd=s,lun=/dev/vdb", sd, "\nwd=w,sd=s", wd, "\nrd=r,wd=w,iorate=max", rd,
                      "\n");
}
v1::Workload WorkloadOf(const std::string& sd, const std::string& wd, const std::string& rd = "") {
  return PlannedRuns(FileOf(sd, wd, rd))[0].workloads(0);
}
std::string ErrorsOfFile(const std::string& sd, const std::string& wd, const std::string& rd = "") {
  return AllOf(TranslateOrders(FileOf(sd, wd, rd)).errors);
}
std::string RemarksOfFile(const std::string& sd, const std::string& wd,
                          const std::string& rd = "") {
  const Translation translation = TranslateOrders(FileOf(sd, wd, rd));
  EXPECT_EQ(AllOf(translation.errors), "");
  return AllOf(translation.remarks);
}

// vdbench skips in place of a seek: with its default, seekpct=100, after each I/O.
TEST(VdbenchOrdersTest, AStrideIsASkipAfterEachIo) {
  for (const char* seeks : {"", ",seekpct=100", ",seekpct=random"}) {
    const v1::Workload w = WorkloadOf("", absl::StrCat(",xfersize=8k,stride=(56k,56k)", seeks));
    EXPECT_EQ(w.pattern().sequential().skip_bytes(), 56 << 10) << seeks;
    EXPECT_FALSE(w.pattern().sequential().shared()) << seeks;
    EXPECT_EQ(w.block_size_bytes(), 8 << 10) << seeks;
  }
  // Without a distance the I/Os follow one another.
  const v1::Workload next = WorkloadOf("", ",stride=(0,0)");
  EXPECT_TRUE(next.pattern().sequential().shared());
  EXPECT_EQ(next.pattern().sequential().skip_bytes(), 0);
  // A loop over sizes gives each point one.
  EXPECT_EQ(WorkloadOf("", ",xfersize=(4k,50,8k,50),stride=(1m,1m)", ",forxfersize=(4k,8k)")
                .pattern()
                .sequential()
                .skip_bytes(),
            1 << 20);
  ExpectSaid(RemarksOfFile("", ",stride=(1m,1m)"),
             "a.vdb:2: stride=(1m,1m): each thread skips through a part of its own");
  EXPECT_FALSE(
      absl::StrContains(RemarksOfFile(",threads=1", ",stride=(1m,1m)"), "a part of its own"));
}

TEST(VdbenchOrdersTest, AStrideWithoutSeeksHasNoEffect) {
  for (const char* seeks : {",seekpct=0", ",seekpct=eof"}) {
    const std::string wd = absl::StrCat(",stride=(1m,1m)", seeks);
    const v1::Workload w = WorkloadOf("", wd);
    EXPECT_TRUE(w.pattern().sequential().shared()) << seeks;
    EXPECT_EQ(w.pattern().sequential().skip_bytes(), 0) << seeks;
    ExpectSaid(RemarksOfFile("", wd), "stride=(1m,1m): has no effect");
  }
}

TEST(VdbenchOrdersTest, StridesThatAJobCannotExpressAreRefused) {
  const char* kLine = "a.vdb:2: stride=";
  ExpectSaid(ErrorsOfFile("", ",stride=(4k,1m)"),
             "a.vdb:2: stride=(4k,1m): cannot be translated; a job would need a distance between "
             "two I/Os that is drawn at random");
  ExpectSaid(ErrorsOfFile("", ",stride=(1m,1m),seekpct=50"), "that only some of the I/Os keep");
  ExpectSaid(ErrorsOfFile("", ",stride=(1m,1m),xfersize=(4k,50,8k,50)"), "I/Os of several sizes");
  for (const char* wrong : {"7", "(1m)", "(2m,1m)", "(x,y)", "(1m,1m,1m)"}) {
    const std::string errors = ErrorsOfFile("", absl::StrCat(",stride=", wrong));
    ExpectSaid(errors, kLine);
    ExpectSaid(errors, "is no (min,max) in bytes");
  }
  ExpectSaid(ErrorsOfFile("", ",stride=(100,100)"), "is no multiple of 512");
  // Each thread needs two offsets: also at the point of a loop with most threads.
  ExpectSaid(ErrorsOfFile(",size=8m", ",stride=(1m,1m)"), "leaves 8 offsets for 8 threads");
  ExpectSaid(ErrorsOfFile(",size=8m,threads=1", ",stride=(1m,1m)", ",forthreads=(1,64)"),
             "leaves 8 offsets for 64 threads");
  EXPECT_EQ(ErrorsOfFile(",size=8m,threads=4", ",stride=(1m,1m)"), "");
}

TEST(VdbenchOrdersTest, HitsAreAZoneInFrontOfTheRest) {
  const v1::Workload w = WorkloadOf(",size=100m,hitarea=10m", ",rhpct=40");
  ASSERT_EQ(w.pattern().hot_zones().zones_size(), 2);
  EXPECT_DOUBLE_EQ(w.pattern().hot_zones().zones(0).io_ratio(), 0.4);
  EXPECT_DOUBLE_EQ(w.pattern().hot_zones().zones(0).size_ratio(), 0.1);
  // Misses never fall into the hit area.
  EXPECT_DOUBLE_EQ(w.pattern().hot_zones().zones(1).io_ratio(), 0.6);
  EXPECT_DOUBLE_EQ(w.pattern().hot_zones().zones(1).size_ratio(), 0.9);
  // A megabyte by default.
  EXPECT_DOUBLE_EQ(WorkloadOf(",size=4m", ",rhpct=40").pattern().hot_zones().zones(0).size_ratio(),
                   0.25);
  // Of the range, in whole blocks: 1,000 KiB are 15 blocks of 64 KiB.
  const v1::Workload ranged =
      WorkloadOf(",size=20m,hitarea=1000k", ",rhpct=40,xfersize=64k,range=(50,100)");
  EXPECT_DOUBLE_EQ(ranged.pattern().hot_zones().zones(0).size_ratio(), 15.0 / 160);
  EXPECT_EQ(ranged.region().offset_bytes(), 10 << 20);
}

TEST(VdbenchOrdersTest, TheSharesOfHitsAreThoseOfTheMix) {
  const auto share = [](const std::string& wd, const std::string& rd = "") {
    return WorkloadOf(",size=100m", wd, rd).pattern().hot_zones().zones(0).io_ratio();
  };
  EXPECT_DOUBLE_EQ(share(",rhpct=40,whpct=10"), 0.4);
  EXPECT_DOUBLE_EQ(share(",rhpct=40,whpct=10,rdpct=0"), 0.1);
  EXPECT_DOUBLE_EQ(share(",rhpct=40,whpct=10", ",rdpct=0"), 0.1);
  EXPECT_DOUBLE_EQ(share(",rhpct=30,whpct=30,rdpct=70"), 0.3);
  EXPECT_DOUBLE_EQ(share(",rhpct=30,whpct=30", ",forrdpct=(0,50,100)"), 0.3);
  EXPECT_DOUBLE_EQ(share(",rhpct=100"), 1);
  // Without a hit the area is left out all the same.
  const v1::Workload misses = WorkloadOf(",size=100m", ",whpct=50,range=(0,50)");
  EXPECT_TRUE(misses.pattern().has_random());
  EXPECT_EQ(misses.region().offset_bytes(), 1 << 20);
  EXPECT_EQ(misses.region().size_bytes(), 49 << 20);
  EXPECT_TRUE(WorkloadOf("", ",rhpct=0,whpct=0").pattern().has_random());
}

TEST(VdbenchOrdersTest, HitsThatAJobCannotExpressAreRefused) {
  const std::string sized = ",size=100m";
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40,rdpct=50"),
             "a.vdb:2: rhpct=40: cannot be translated; a job would need hits of reads and of "
             "writes with shares of their own");
  ExpectSaid(ErrorsOfFile(sized, ",whpct=40,rdpct=50"), "a.vdb:2: whpct=40: cannot be translated");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40", ",forrdpct=(0,100)"), "shares of their own");
  ExpectSaid(ErrorsOfFile("", ",rhpct=40"), "give the sd a size");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40,seekpct=50"), "not all at random offsets");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40,seekpct=0"), "not all at random offsets");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40,stride=(1m,1m)"), "not all at random offsets");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=40", ",hitarea=4m"),
             "a.vdb:3: hitarea=4m: cannot be translated; a job would need a hit area of the run");
  ExpectSaid(ErrorsOfFile(sized, "", ",rhpct=40"), "write rhpct and whpct into each wd");
  ExpectSaid(ErrorsOfFile(sized, ",rhpct=101"), "is no percentage");
  ExpectSaid(ErrorsOfFile(",size=100m,hitarea=x", ",rhpct=1"), "hitarea=x: is no size");
  ExpectSaid(ErrorsOfFile(",size=2m", ",rhpct=40,xfersize=1m"), "needs two blocks of 1048576");
  ExpectSaid(ErrorsOfFile(",size=1m", ",rhpct=40"), "needs two blocks of 4096 bytes");
}

TEST(VdbenchOrdersTest, AHitAreaWithoutHitsIsRemarked) {
  const std::string left = "a.vdb:1: hitarea=4m: left out; without rhpct and whpct";
  ExpectSaid(RemarksOfFile(",size=100m,hitarea=4m", ""), left);
  EXPECT_FALSE(absl::StrContains(RemarksOfFile(",size=100m,hitarea=4m", ",rhpct=1"), "left out"));
}

std::string Shared(const std::string& skews, const std::string& run) {
  return absl::StrCat("sd=s,lun=/dev/vdb\nsd=t,lun=/dev/vdc\n", skews, "rd=r,wd=*,", run, "\n");
}
std::vector<uint32_t> FlowsOf(const v1::RunPhase& run) {
  std::vector<uint32_t> flows;
  for (const v1::Workload& w : run.workloads()) flows.push_back(w.flow());
  return flows;
}

TEST(VdbenchOrdersTest, SharesAtTheMaximumAreFlows) {
  using List = std::vector<uint32_t>;
  const auto flows = [](const std::string& skews) {
    return FlowsOf(PlannedRuns(Shared(skews, "iorate=max"))[0]);
  };
  EXPECT_EQ(flows("wd=a,sd=s,skew=80\nwd=b,sd=t\n"), (List{4, 1}));
  EXPECT_EQ(flows("wd=a,sd=s,skew=70\nwd=b,sd=t,skew=30\n"), (List{7, 3}));
  // Loads without a skew share the rest, and each load divides its share among its storages.
  EXPECT_EQ(flows("wd=a,sd=s,skew=60\nwd=b,sd=s\nwd=c,sd=t\n"), (List{3, 1, 1}));
  EXPECT_EQ(flows("wd=a,sd=*,skew=80\nwd=b,sd=s\n"), (List{2, 2, 1}));
  EXPECT_EQ(flows("wd=a,sd=*,skew=100\n"), (List{1, 1}));
  // Rounded: 2.03 : 1.
  EXPECT_EQ(flows("wd=a,sd=s,skew=67\nwd=b,sd=t\n"), (List{51, 25}));
  // Without any skew vdbench controls nothing.
  EXPECT_EQ(flows("wd=a,sd=s\nwd=b,sd=t\n"), (List{0, 0}));
  EXPECT_EQ(flows("wd=a,sd=s,skew=100\n"), List{0});
}

TEST(VdbenchOrdersTest, SharesAtTheMaximumAreRemarkedAndNamed) {
  const Translation t =
      TranslateOrders(Shared("wd=a,sd=s,skew=80\nwd=b,sd=t\n", "iorate=max,forthreads=(1,2)"));
  ExpectSaid(AllOf(t.remarks),
             "a.vdb:3: skew=80: each host keeps the I/Os of the workloads in proportion: 4 : 1");
  EXPECT_EQ(t.origins.at("phases[0].run.workloads[0].flow").option, "skew=80");
  EXPECT_EQ(t.origins.at("phases[0].run.workloads[1].flow").option, "what the skews leave");
}

TEST(VdbenchOrdersTest, ACurveFindsTheMaximumOfTheShares) {
  const std::vector<v1::RunPhase> runs =
      PlannedRuns(Shared("wd=a,sd=s,skew=80\nwd=b,sd=t\n", "iorate=curve"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(FlowsOf(runs[0]), (std::vector<uint32_t>{4, 1}));
  EXPECT_EQ(FlowsOf(runs[1]), (std::vector<uint32_t>{0, 0}));
  EXPECT_DOUBLE_EQ(runs[1].workloads(0).open_loop().measured().share_ratio(), 0.8);
}

// A flow is kept on each host.
TEST(VdbenchOrdersTest, SharesOfDifferentHostsAreRefused) {
  const std::string hosts = "hd=one,system=n1\nhd=two,system=n2\n";
  const std::string skews = "wd=a,sd=s,skew=80\nwd=b,sd=t,host=two\n";
  ExpectSaid(AllOf(TranslateOrders(hosts + Shared(skews, "iorate=max")).errors),
             "a.vdb:5: skew=80: cannot be translated; a job would need shares of workloads on "
             "different hosts");
  EXPECT_EQ(AllOf(TranslateOrders(hosts + Shared(skews, "iorate=100")).errors), "");
}

}  // namespace
}  // namespace lockstep::frontends::vdbench
