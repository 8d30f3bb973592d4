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
#include "frontends/iometer/config.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends::iometer {
namespace {

constexpr char kSetup[] = R"(Version 1.1.0
'TEST SETUP ====================================================================
'Test Description
	a mail server
'Run Time
'	hours      minutes    seconds
	0          1          30
'Ramp Up Time (s)
	5
'Default Disk Workers to Spawn
	NUMBER_OF_CPUS
'Default Network Workers to Spawn
	0
'Record Results
	ALL
'Worker Cycling
'	start      step       step type
	1          1          LINEAR
'Disk Cycling
'	start      step       step type
	1          1          LINEAR
'Queue Depth Cycling
'	start      end        step       step type
	1          32         2          EXPONENTIAL
'Test Type
	NORMAL
'END test setup
'RESULTS DISPLAY ===============================================================
'Update Frequency,Update Type
	4,WHOLE_TEST
'END results display
)";
constexpr char kSpecs[] =
    R"('ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
	mail, small,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
	4096,70,60,100,0,1,0,0
	65536,30,0,0,5,8,4096,0
'Access specification name,default assignment
	scan,ALL
'size,% of size,% reads,% random,delay,burst,align,reply
	1048576,100,100,0,0,1,0,0
'END access specifications
)";

std::string WorkerText(const std::string& name, const std::vector<std::string>& targets,
                       int depth = 16) {
  std::string text =
      absl::StrCat("'Worker\n\t", name,
                   R"(
'Worker type
	DISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate)"
                   ",transactions per connection,use fixed seed,fixed seed value\n\t",
                   depth, R"(,DISABLED,1,DISABLED,0
'Disk maximum size,starting sector,Data pattern
	8192,0,1
'End default target settings for worker
'Assigned access specs
	mail, small
	scan
'End assigned access specs
'Target assignments
)");
  for (const std::string& target : targets) {
    absl::StrAppend(&text, "'Target\n\t", target, "\n'Target type\n\tDISK\n'End target\n");
  }
  return text + "'End target assignments\n'End worker\n";
}
std::string ManagerText(int number, const std::string& name, const std::string& workers) {
  return absl::StrCat("'Manager ID, manager name\n\t", number, ",", name,
                      "\n'Manager network address\n\t\n", workers, "'End manager\n");
}
std::string FileOf(const std::string& managers) {
  return absl::StrCat(kSetup, kSpecs, "'MANAGER LIST ====\n", managers,
                      "'END manager list\nVersion 1.1.0 \n");
}
// One manager with two workers, of which both use sdb, and one sdc, too.
std::string Simple() {
  return FileOf(
      ManagerText(1, "NODE1", WorkerText("W1", {"sdb"}) + WorkerText("W2", {"sdb", "sdc"})));
}

Request RequestOf(const std::string& text) {
  Request request;
  request.files = {{"a.icf", text}};
  request.disks = {{"sdb", "/dev/vdb"}, {"sdc", "/dev/vdc"}};
  return request;
}
std::string With(const std::string& from, const std::string& to) {
  const std::string text = Simple();
  EXPECT_TRUE(absl::StrContains(text, from)) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

std::string ErrorsOf(const Translation& translation) {
  std::string text;
  for (const Message& error : translation.errors) absl::StrAppend(&text, MessageText(error), "\n");
  return text;
}
std::string ErrorsOf(const std::string& text) {
  return ErrorsOf(TranslateIometer(RequestOf(text)));
}
std::string RemarksOf(const Translation& translation) {
  std::string text;
  for (const Message& each : translation.remarks) absl::StrAppend(&text, MessageText(each), "\n");
  return text;
}

// The job with its defaults. It must be one that can be planned.
v1::JobSpec Settled(const Translation& translation) {
  EXPECT_EQ(ErrorsOf(translation), "");
  if (!translation.errors.empty()) return {};
  cli::JobFile file = ReadBack(translation, "a.icf");
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    ADD_FAILURE() << problem.path() << ": " << problem.message() << "\n" << file.source;
  }
  return file.job;
}
v1::JobSpec JobOf(const Request& request) { return Settled(TranslateIometer(request)); }
v1::JobSpec JobOf(const std::string& text) { return JobOf(RequestOf(text)); }

std::vector<std::string> NamesOf(const v1::JobSpec& job) {
  std::vector<std::string> names;
  for (const v1::PhaseSpec& phase : job.phases()) names.push_back(phase.name());
  return names;
}

TEST(IometerTest, EachSpecificationIsAPhaseOfAllWorkers) {
  const v1::JobSpec job = JobOf(Simple());
  EXPECT_EQ(job.name(), "a.icf");
  EXPECT_EQ(job.description(), "a mail server");
  EXPECT_EQ(job.hosts().count(), 1u);
  EXPECT_EQ(NamesOf(job), (std::vector<std::string>{"mail, small", "scan"}));
  const v1::RunPhase& run = job.phases(0).run();
  EXPECT_EQ(run.duration_ns(), 90000000000);
  EXPECT_EQ(run.ramp_ns(), 5000000000);
  // Both workers on sdb are threads of one workload: outstanding I/Os are per worker and target.
  ASSERT_EQ(run.workloads_size(), 2);
  EXPECT_EQ(run.workloads(0).targets(0), "sdb");
  EXPECT_EQ(run.workloads(0).threads(), 2u);
  EXPECT_EQ(run.workloads(0).queue_depth(), 16u);
  EXPECT_EQ(run.workloads(1).targets(0), "sdc");
  EXPECT_EQ(run.workloads(1).threads(), 1u);
  EXPECT_EQ(run.workloads(0).engine(), v1::ENGINE_LIBAIO);
  EXPECT_TRUE(run.workloads(0).direct());
}

TEST(IometerTest, ALineKeepsItsSharesBurstAndAlignment) {
  const v1::Workload w = JobOf(Simple()).phases(0).run().workloads(0);
  ASSERT_EQ(w.access_size(), 2);
  EXPECT_EQ(w.access(0).block_size_bytes(), 4096);
  EXPECT_EQ(w.access(0).weight(), 70);
  EXPECT_DOUBLE_EQ(w.access(0).read_ratio(), 0.6);
  EXPECT_EQ(w.access(0).random_ratio(), 1);
  EXPECT_EQ(w.access(0).align_bytes(), 512);
  EXPECT_EQ(w.access(1).read_ratio(), 0);
  EXPECT_EQ(w.access(1).random_ratio(), 0);
  EXPECT_EQ(w.access(1).delay_ns(), 5000000);
  EXPECT_EQ(w.access(1).burst(), 8u);
  EXPECT_EQ(w.access(1).align_bytes(), 4096);
}

TEST(IometerTest, EveryWorkerUsesAllOfADisk) {
  const v1::JobSpec job = JobOf(Simple());
  ASSERT_EQ(job.targets_size(), 2);
  EXPECT_EQ(job.targets(0).device().path(), "/dev/vdb");
  EXPECT_EQ(job.targets(0).device().size_bytes(), 8192 * 512);
  EXPECT_EQ(job.targets(0).sharing(), v1::SHARING_OVERLAPPED);
  const v1::JobSpec whole = JobOf(With("8192,0,1", "0,0,1"));
  EXPECT_EQ(whole.targets(0).device().size_bytes(), 0);
}

TEST(IometerTest, AStartingSectorIsTheOffsetOfARegion) {
  const v1::JobSpec job = JobOf(With("8192,0,1", "8192,63,1"));
  EXPECT_EQ(job.targets(0).device().size_bytes(), (8192 + 63) * 512);
  const v1::Workload w = job.phases(0).run().workloads(0);
  EXPECT_EQ(w.region().offset_bytes(), 63 * 512);
  // The target ends there.
  EXPECT_EQ(w.region().size_bytes(), 0);
  // A line for all of a disk covers the part behind the sector.
  const v1::JobSpec whole = JobOf(With("8192,0,1", "0,63,1"));
  EXPECT_EQ(whole.targets(0).device().size_bytes(), 0);
  EXPECT_EQ(whole.phases(0).run().workloads(0).region().offset_bytes(), 63 * 512);
  EXPECT_FALSE(JobOf(Simple()).phases(0).run().workloads(0).has_region());
  const std::string yaml =
      WriteJob(TranslateIometer(RequestOf(With("8192,0,1", "8192,63,1"))), "a.icf").yaml;
  EXPECT_TRUE(absl::StrContains(yaml, "8192,63,1 (a.icf:")) << yaml;
}

TEST(IometerTest, ASingleLineBeginsAtAMultipleOfItsAlignment) {
  const auto offset = [](const std::string& align) {
    const std::string text = absl::StrReplaceAll(
        With("8192,0,1", "8192,63,1"), {{"100,100,0,0,1,0,0", "100,100,0,0,1," + align + ",0"}});
    return JobOf(text).phases(1).run().workloads(0).region().offset_bytes();
  };
  EXPECT_EQ(offset("0"), 63 * 512);
  EXPECT_EQ(offset("4096"), 32768);
}

TEST(IometerTest, WorkersUsePartsOfTheirOwnOfOneDisk) {
  const auto disk = [](const std::string& size) {
    return absl::StrReplaceAll(WorkerText("W", {"sdb"}), {{"8192,0,1", size}});
  };
  const auto job_of = [](const std::string& workers) {
    return JobOf(FileOf(ManagerText(1, "n", workers)));
  };
  const v1::JobSpec job =
      job_of(disk("8192,0,1") + disk("8192,8192,1") + disk("4096,0,1") + disk("8192,8192,1"));
  ASSERT_EQ(job.targets_size(), 1);
  EXPECT_EQ(job.targets(0).device().size_bytes(), 16384 * 512);
  const v1::RunPhase run = job.phases(0).run();
  ASSERT_EQ(run.workloads_size(), 3);
  EXPECT_EQ(run.workloads(0).region().offset_bytes(), 0);
  EXPECT_EQ(run.workloads(0).region().size_bytes(), 8192 * 512);
  EXPECT_EQ(run.workloads(1).region().offset_bytes(), 8192 * 512);
  EXPECT_EQ(run.workloads(1).region().size_bytes(), 0);
  EXPECT_EQ(run.workloads(1).threads(), 2u);
  EXPECT_EQ(run.workloads(2).region().size_bytes(), 4096 * 512);
  // One that uses all of it: the others keep to their sizes.
  const v1::JobSpec whole = job_of(disk("8192,0,1") + disk("0,0,1"));
  EXPECT_EQ(whole.targets(0).device().size_bytes(), 0);
  EXPECT_EQ(whole.phases(0).run().workloads(0).region().size_bytes(), 8192 * 512);
  EXPECT_FALSE(whole.phases(0).run().workloads(1).has_region());
}

TEST(IometerTest, TheDataPatternBecomesContent) {
  const auto content = [](const std::string& pattern) {
    return JobOf(With("8192,0,1", "8192,0" + pattern)).phases(0).run().workloads(0).content();
  };
  EXPECT_EQ(content(",0").compressed_ratio(), 0.01);
  EXPECT_EQ(content("").compressed_ratio(), 0.01);
  EXPECT_FALSE(content(",1").random().fresh());
  EXPECT_TRUE(content(",2").random().fresh());
  // Those who only read have none.
  EXPECT_FALSE(
      TranslateIometer(RequestOf(Simple())).job.phases(1).run().workloads(0).has_content());
}

TEST(IometerTest, DifferencesAreRemarked) {
  const std::string remarks = RemarksOf(TranslateIometer(RequestOf(With("8192,0,1", "8192,0,0"))));
  EXPECT_TRUE(absl::StrContains(remarks, "pauses before each burst")) << remarks;
  EXPECT_TRUE(absl::StrContains(remarks, "one byte again and again")) << remarks;
}

TEST(IometerTest, ADirectoryHoldsFilesInPlaceOfDisks) {
  Request request = RequestOf(absl::StrReplaceAll(Simple(), {{"\tsdb\n", "\tC: \"System\"\n"}}));
  request.disks.clear();
  request.directory = "/data";
  const v1::JobSpec job = JobOf(request);
  EXPECT_EQ(job.targets(0).file().path(), "/data/{host}/C_System");
  EXPECT_EQ(job.targets(0).file().size_bytes(), 8192 * 512);
  EXPECT_TRUE(job.phases(0).has_prepare());
}

TEST(IometerTest, AFileReachesFromItsStartToTheLastSector) {
  Request request = RequestOf(With("8192,0,1", "8192,64,1"));
  request.disks.clear();
  request.directory = "/data";
  const v1::JobSpec job = JobOf(request);
  EXPECT_EQ(job.targets(0).file().size_bytes(), (64 + 8192) * 512);
  EXPECT_EQ(job.phases(1).run().workloads(0).region().offset_bytes(), 64 * 512);
}

TEST(IometerTest, ABlockMustFitBehindTheStartingSector) {
  // 2048 sectors hold a MiB, but not at a multiple of 4 KiB behind sector 1.
  const std::string text = absl::StrReplaceAll(With("8192,0,1", "2048,1,1"),
                                               {{"100,100,0,0,1,0,0", "100,100,0,0,1,4096,0"}});
  const std::string errors = ErrorsOf(text);
  EXPECT_TRUE(absl::StrContains(errors, "1048576,100,100,0,0,1,4096,0")) << errors;
  EXPECT_TRUE(absl::StrContains(errors, "does not fit behind the starting sector")) << errors;
}

TEST(IometerTest, ManagersAreHosts) {
  const std::string text =
      FileOf(ManagerText(1, "node1", WorkerText("W1", {"sdb"}) + WorkerText("W2", {"sdb"})) +
             ManagerText(2, "node2", WorkerText("W1", {"sdb"})) +
             ManagerText(3, "node3", WorkerText("W1", {"sdb"})));
  Request request = RequestOf(text);
  v1::JobSpec job = JobOf(request);
  EXPECT_EQ(job.hosts().names_size(), 3);
  const v1::RunPhase& run = job.phases(0).run();
  ASSERT_EQ(run.workloads_size(), 2);
  EXPECT_EQ(run.workloads(0).threads(), 1u);
  EXPECT_EQ(run.workloads(0).hosts().names_size(), 2);
  EXPECT_EQ(run.workloads(1).threads(), 2u);
  EXPECT_EQ(run.workloads(1).hosts().names(0), "node1");
  request.hosts = "a,b,c";
  job = JobOf(request);
  EXPECT_EQ(job.phases(0).run().workloads(1).hosts().names(0), "a");
  for (const char* wrong : {"3", "a,b", "n[1-3]"}) {
    request.hosts = wrong;
    EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateIometer(request)), "needs as many names"))
        << wrong;
  }
}

TEST(IometerTest, OneManagerMayBeManyHosts) {
  Request request = RequestOf(Simple());
  request.hosts = "node[1-8]";
  const Translation translation = TranslateIometer(request);
  EXPECT_TRUE(absl::StrContains(RemarksOf(translation), "runs on each of the 8 hosts"));
  EXPECT_FALSE(Settled(translation).phases(0).run().workloads(0).has_hosts());
}

TEST(IometerTest, OutstandingIosAreAnAxis) {
  const v1::RunPhase run = JobOf(With("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS")).phases(0).run();
  ASSERT_EQ(run.sweep().axes_size(), 1);
  const auto& axis = run.sweep().axes(0);
  EXPECT_EQ(axis.field(), "queue_depth");
  EXPECT_EQ(std::vector<std::string>(axis.values().begin(), axis.values().end()),
            (std::vector<std::string>{"1", "2", "4", "8", "16", "32"}));
}

TEST(IometerTest, CyclesOfTargetsAndWorkersArePhases) {
  const auto names = [](const std::string& type) { return NamesOf(JobOf(With("\tNORMAL", type))); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("\tCYCLE_TARGETS"), (Names{"mail, small, 1 target", "mail, small, 2 targets",
                                             "scan, 1 target", "scan, 2 targets"}));
  EXPECT_EQ(names("\t2"), (Names{"mail, small, 1 worker", "mail, small, 2 workers",
                                 "scan, 1 worker", "scan, 2 workers"}));
  EXPECT_EQ(names("\tINCREMENT_TARGETS_PARALLEL").size(), 6u);
  EXPECT_EQ(names("\tINCREMENT_TARGETS_SERIAL").size(), 6u);
  EXPECT_EQ(names("\tCYCLE_WORKERS_AND_TARGETS"),
            (Names{"mail, small, 1 worker, 1 target", "mail, small, 2 workers, 1 target",
                   "mail, small, 2 workers, 2 targets", "scan, 1 worker, 1 target",
                   "scan, 2 workers, 1 target", "scan, 2 workers, 2 targets"}));
  const v1::JobSpec job = JobOf(With("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS_AND_TARGETS"));
  EXPECT_EQ(job.phases_size(), 4);
  EXPECT_EQ(job.phases(3).run().sweep().axes(0).values_size(), 6);
}

TEST(IometerTest, AWorkerThatIsIdleTakesNoPart) {
  std::string workers = WorkerText("W1", {"sdb"}) + WorkerText("W2", {"sdc"});
  workers.replace(workers.rfind("\tscan\n"), 6, "\tIdle\n");
  const v1::JobSpec job = JobOf(FileOf(ManagerText(1, "n", workers)));
  EXPECT_EQ(job.phases(0).run().workloads_size(), 2);
  EXPECT_EQ(job.phases(1).run().workloads_size(), 1);
}

TEST(IometerTest, OlderFilesAreRead) {
  for (const char* version : {"1998.05.21", "2003.12.16", "2006.07.27", "1.0.0"}) {
    EXPECT_EQ(ErrorsOf(With("Version 1.1.0", std::string("Version ") + version)), "") << version;
  }
  // Without a seed and a pattern, with reads of no reply.
  EXPECT_EQ(ErrorsOf(With("16,DISABLED,1,DISABLED,0", "16,DISABLED,1")), "");
  EXPECT_EQ(ErrorsOf(absl::StrReplaceAll(Simple(), {{"\n", "\r\n"}})), "");
}

TEST(IometerTest, ASeedIsTheJobs) {
  EXPECT_EQ(JobOf(With("16,DISABLED,1,DISABLED,0", "16,DISABLED,1,ENABLED,77")).seed(), 77u);
}

struct Refused {
  const char* from;
  const char* to;
  const char* error;
};
TEST(IometerTest, WhatCannotBeTranslatedIsRefusedByItsLine) {
  const Refused kCases[] = {
      {"Version 1.1.0", "Version 1998.01.01", "is no version whose files are known"},
      {"Version 1.1.0", "Version 2.0", "is no version whose files are known"},
      {"'Ramp Up Time (s)", "'Ramp Down Time (s)", "is no key of Iometer"},
      {"\t0          1          30", "\t0          0          0", "has no run time"},
      {"\t0          1          30", "\t0          1", "begins not with the 3 numbers"},
      {"\t1          1          LINEAR", "\t1          1          CUBIC", "ends with neither"},
      {"\tNORMAL", "\tCYCLE_COLOURS", "is no type of a test"},
      {"8192,0,1", "8192,-1,1", "begins not with the 3 numbers"},
      {"8192,0,1", "8,4,1", "is larger than the maximum disk size"},
      {"8192,0,1", "8192,0,7", "data pattern that is none of"},
      {"8192,0,1", "4,0,1", "is less than 4 KiB"},
      {"8192,0,1", "1024,0,1", "is larger than the maximum disk size"},
      {"16,DISABLED,1", "16,ENABLED,5", "test connection rate"},
      {"16,DISABLED,1", "0,DISABLED,1", "no number of outstanding I/Os"},
      {"16,DISABLED,1,DISABLED,0", "16,DISABLED,1,ENABLED,x", "is no whole number"},
      {"'Worker type\n\tDISK", "'Worker type\n\tNETWORK,TCP", "traffic between hosts"},
      {"4096,70,60,100", "4096,60,60,100", "add up to 90"},
      {"4096,70,60,100", "4096,70,160,100", "more than 100 %"},
      {"4096,70,60,100", "1000,70,60,100", "no multiple of 512"},
      {"0,1,0,0\n\t65536", "0,0,0,0\n\t65536", "has no burst"},
      {"0,1,0,0\n\t65536", "0,1,100,0\n\t65536", "alignment that is no multiple"},
      {"\tscan\n", "\tscam\n", "is no access specification"},
      {"\tsdc\n", "\tsdd\n", "is a disk of the machine of that test"},
  };
  for (const Refused& each : kCases) {
    SCOPED_TRACE(each.to);
    const Translation translation = TranslateIometer(RequestOf(With(each.from, each.to)));
    const std::string errors = ErrorsOf(translation);
    EXPECT_TRUE(absl::StrContains(errors, each.error)) << errors;
    EXPECT_TRUE(absl::StrContains(errors, "a.icf:")) << errors;
  }
}

TEST(IometerTest, SeveralHostsDoNotShareAFile) {
  Request request = RequestOf(Simple());
  request.hosts = "2";
  request.disks["sdb"] = "/data/one";
  EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateIometer(request)), "put {host} into its path"));
  request.disks["sdb"] = "data";
  EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateIometer(request)), "not absolute"));
}

TEST(IometerTest, AFileNeedsASize) {
  Request request = RequestOf(With("8192,0,1", "0,0,1"));
  request.disks.clear();
  request.directory = "/data";
  EXPECT_TRUE(absl::StrContains(ErrorsOf(TranslateIometer(request)), "has no maximum disk size"));
}

TEST(IometerTest, AFileIsKnownByItsNameOrItsContent) {
  const auto known = [](const std::string& name, const std::string& text) {
    const auto found = FindFrontEnd({name, text});
    return found ? std::string(found->name) : "";
  };
  EXPECT_EQ(known("a.ICF", ""), "iometer");
  EXPECT_EQ(known("a.txt", Simple()), "iometer");
  EXPECT_NE(known("a.txt", "Version 1.1.0\n"), "iometer");
}

// A file with some of its lines or bytes changed.
std::string Mutated(std::mt19937* random) {
  static const auto* const lines = new std::vector<std::string>(absl::StrSplit(Simple(), '\n'));
  static const char* const kPieces[] = {
      "'",    "\t", ",", "0",  "-1", "4096", "99999999999999999999", "\n", "DISK",
      "\xff", "%",  "/", "..", "1",  "100"};
  std::string text = With("8192,0,1", "8192,63,1");
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
    if (text.empty()) text = "'";
  }
  return text;
}

TEST(IometerTest, AMutatedFileIsRefusedByLineOrCanBePlanned) {
  std::mt19937 random(1);
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 100000 : 1000;
  int translated = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = Mutated(&random);
    Request request = RequestOf(text);
    if (i % 2 == 0) request.disks.clear();
    request.directory = "/data";
    const Translation t = TranslateIometer(request);
    for (const Message& error : t.errors) EXPECT_GE(error.where.line, 1) << text;
    if (!t.errors.empty()) continue;
    ++translated;
    const v1::JobSpec job = Settled(t);
    for (const v1::Target& target : job.targets()) {
      const std::string path = target.has_file() ? target.file().path() : target.device().path();
      EXPECT_TRUE(absl::StartsWith(path, "/data/{host}/") || path == "/dev/vdb" ||
                  path == "/dev/vdc")
          << path;
      EXPECT_FALSE(absl::StrContains(path + "/", "/../")) << path;
    }
    if (HasFailure()) FAIL() << "the file was\n" << text;
  }
  EXPECT_GE(translated, rounds / 10);
}

}  // namespace
}  // namespace lockstep::frontends::iometer
