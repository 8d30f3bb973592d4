#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "controller/cli/job_file.h"
#include "controller/cli/translated_job.h"
#include "frontends/frontend.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends {
namespace {

TEST(JobTextTest, AJobIsReadBackAsItWas) {
  Translation translation;
  v1::JobSpec& job = translation.job;
  job.set_name("yes: it's \"quoted\" # here");
  job.mutable_hosts()->add_names("node[1-3]");
  v1::Target* file = job.add_targets();
  file->set_name("null");
  file->mutable_file()->set_path("/data/{host}/a b");
  file->mutable_file()->set_size_bytes(1234567);
  job.add_phases()->mutable_prepare();
  v1::PhaseSpec* phase = job.add_phases();
  phase->mutable_run()->set_duration_ns(1500000000);
  v1::Workload* w = phase->mutable_run()->add_workloads();
  w->set_name("7");
  w->mutable_pattern()->mutable_zipf()->set_theta(1.2);
  w->set_read_ratio(0.375);
  w->set_max_iops(1.0 / 3);
  w->set_max_throughput_bytes_per_second(10485760);
  w->mutable_engine_options()->add_cpus(0);
  w->mutable_engine_options()->add_cpus(3);
  for (const int size : {4096, 65536}) {
    v1::WeightedBlockSize* line = w->add_block_sizes();
    line->set_block_size_bytes(size);
    line->set_weight(33.3);
  }
  v1::SweepAxis* axis = phase->mutable_run()->mutable_sweep()->add_axes();
  axis->set_field("queue_depth");
  for (const char* value : {"1", "16"}) axis->add_values(value);
  for (const double share : {0.5, 1.0})
    phase->mutable_run()->mutable_curve()->add_share_ratio(share);
  const JobText text = WriteJob(translation, "a.fio");
  const cli::JobFile file_read = cli::ParseJobFile("a.yaml", text.yaml, {});
  ASSERT_TRUE(file_read.errors.empty()) << file_read.errors[0] << "\n" << text.yaml;
  EXPECT_EQ(file_read.job.DebugString(), job.DebugString()) << text.yaml;
}

TEST(JobTextTest, TheJobIsTheOneThatTheTextSays) {
  Translation translation;
  translation.job.set_name("rounded");
  v1::PhaseSpec* phase = translation.job.add_phases();
  phase->mutable_prepare();
  v1::RunPhase* run = translation.job.add_phases()->mutable_run();
  run->set_duration_ns((int64_t{1} << 53) + 1);
  for (const double share : {1.0 / 3, 2.0 / 3}) run->mutable_curve()->add_share_ratio(share);
  v1::Workload* w = run->add_workloads();
  w->set_name("w");
  w->add_targets("t");
  w->set_read_ratio(1.0 / 3);
  w->set_max_throughput_bytes_per_second(1234.5);
  v1::AccessLine* line = w->add_access();
  line->set_block_size_bytes(4096);
  line->set_random_ratio(1.0 / 7);
  const cli::JobFile read = ReadBack(translation, "a.fio");
  const v1::Workload& as_read = read.job.phases(1).run().workloads(0);
  // Ten digits of a percentage, and whole bytes.
  EXPECT_NEAR(as_read.read_ratio(), 1.0 / 3, 1e-10);
  EXPECT_NE(as_read.read_ratio(), w->read_ratio());
  EXPECT_NE(as_read.access(0).random_ratio(), line->random_ratio());
  EXPECT_NE(as_read.max_throughput_bytes_per_second(), w->max_throughput_bytes_per_second());
  EXPECT_NE(read.job.phases(1).run().duration_ns(), run->duration_ns());
}

TEST(JobTextTest, CommandsRunTheJobThatIsPrinted) {
  const Request request{.files = {{"a.fio",
                                   "[a]\nrw=randrw\nrwmixread=33\nsize=4m\nioengine=libaio\n"
                                   "iodepth=8\nfilename=/data/a\n"}}};
  const auto front_end = FindFrontEnd(request.files[0]);
  ASSERT_TRUE(front_end);
  const Translation translation = Translate(*front_end, request);
  std::vector<std::string> remarks;
  const cli::JobFile file = cli::JobFileOf(translation, "a.fio", {}, &remarks);
  ASSERT_TRUE(file.errors.empty()) << file.errors[0];
  const cli::JobFile read = cli::ParseJobFile("a.yaml", file.source, {});
  EXPECT_EQ(file.job.DebugString(), read.job.DebugString()) << file.source;
  // A problem that the controller finds is one of the tool's option.
  v1::Problem problem;
  problem.set_path("phases[1].run.workloads[0].queue_depth");
  problem.set_message("is too deep");
  EXPECT_EQ(file.Locate(problem),
            "a.fio:6: iodepth=8: phases[1].run.workloads[0].queue_depth: is too deep");
  // Overrides change their fields, and nothing else.
  const cli::JobFile set =
      cli::JobFileOf(translation, "a.fio", {"phases.1.run.workloads.0.queue_depth=2"}, &remarks);
  v1::JobSpec expected = file.job;
  expected.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_queue_depth(2);
  EXPECT_EQ(set.job.DebugString(), expected.DebugString());
}

// The text of a file of fio with these overrides, which must be that of the job that is run.
std::string TextWithSets(const std::vector<std::string>& sets) {
  const Request request{.files = {{"a.fio",
                                   "[a]\nrw=randrw\nbssplit=4k/60:8k/40\nsize=4m\niodepth=8\n"
                                   "ioengine=libaio\nfilename=/data/a\n"}}};
  std::vector<std::string> remarks;
  const cli::JobFile file =
      cli::JobFileOf(Translate(*FindFrontEnd(request.files[0]), request), "a.fio", sets, &remarks);
  for (const std::string& error : file.errors) ADD_FAILURE() << error;
  const cli::JobFile read = cli::ParseJobFile("a.yaml", file.source, {});
  for (const std::string& error : read.errors) ADD_FAILURE() << error << "\n" << file.source;
  EXPECT_EQ(file.job.DebugString(), read.job.DebugString()) << file.source;
  return file.source;
}

TEST(JobTextTest, AnOverrideIsInTheTextAndNamedBesideItsField) {
  const std::string workload = "phases.1.run.workloads.0.";
  const std::string depth = workload + "queue_depth=2";
  const std::string plain = TextWithSets({});
  const std::string text = TextWithSets({depth, "labels.site=here"});
  const auto has = [](const std::string& all, const std::string& part) {
    EXPECT_TRUE(absl::StrContains(all, part)) << part << "\n" << all;
  };
  has(plain, "queue_depth: 8  # iodepth=8 (a.fio:5)\n");
  has(text, "queue_depth: 2  # --set " + depth + "\n");
  has(text, "  site: here  # --set labels.site=here\n");
  EXPECT_FALSE(absl::StrContains(text, "iodepth=8")) << text;
  // Other fields keep their origins.
  has(text, "engine: libaio  # ioengine=libaio (a.fio:6)\n");
  has(text, "# Translated from a.fio.\n");
}

TEST(JobTextTest, AnOverrideOfAPartIsNamedBesideItsLine) {
  const std::string weight = "phases[1].run.workloads[0].block_sizes[1].weight=50";
  const std::string text = TextWithSets({weight});
  EXPECT_TRUE(absl::StrContains(text, "weight: 50}  # --set " + weight)) << text;
  // All of a value that is replaced comes from the flag.
  const std::string pattern = "phases.1.run.workloads.0.pattern={zipf: {theta: 1.1}}";
  const std::string zipf = TextWithSets({pattern});
  EXPECT_TRUE(absl::StrContains(zipf, "theta: 1.1  # --set " + pattern + "\n")) << zipf;
  // A default is not written. The field above says why it is not there.
  const std::string none = "phases.1.run.drop_caches=false";
  const std::string without = TextWithSets({none});
  EXPECT_FALSE(absl::StrContains(without, "drop_caches: true")) << without;
  EXPECT_TRUE(absl::StrContains(without, "run:  # --set " + none + "\n")) << without;
}

TEST(JobTextTest, AProblemOfAnOverrideNamesTheFlag) {
  Translation translation;
  translation.job.set_name("a");
  v1::Workload* w = translation.job.add_phases()->mutable_run()->add_workloads();
  w->set_name("w");
  w->add_targets("t");
  w->set_queue_depth(4);
  translation.origins["phases[0].run.workloads[0].queue_depth"] = {"a.fio", 7, "iodepth=4"};
  std::vector<std::string> remarks;
  const std::string set = "phases.0.run.workloads.0.queue_depth=2";
  const cli::JobFile file = cli::JobFileOf(translation, "a.fio", {set}, &remarks);
  ASSERT_TRUE(file.errors.empty()) << file.errors[0];
  v1::Problem problem;
  problem.set_path("phases[0].run.workloads[0].queue_depth");
  problem.set_message("is too deep");
  EXPECT_EQ(file.Locate(problem),
            "--set " + set + ": phases[0].run.workloads[0].queue_depth: is too deep");
}

TEST(JobTextTest, ANumberOutOfItsRangeIsAnErrorOfItsOption) {
  Translation translation;
  v1::RunPhase* run = translation.job.add_phases()->mutable_run();
  run->add_workloads()->set_read_ratio(1.5);
  translation.origins["phases[0].run.workloads[0].read"] = {"a.fio", 7, "rwmixread=150"};
  std::vector<std::string> remarks;
  const cli::JobFile file = cli::JobFileOf(translation, "a.fio", {}, &remarks);
  ASSERT_EQ(file.errors.size(), 1u);
  EXPECT_NE(file.errors[0].find("a.fio:7: rwmixread=150: "), std::string::npos) << file.errors[0];
}

TEST(JobTextTest, EachLineNamesItsOriginOnOneLine) {
  Translation translation;
  translation.job.set_name("a");
  v1::Workload* w = translation.job.add_phases()->mutable_run()->add_workloads();
  w->set_queue_depth(4);
  translation.origins["phases[0].run.workloads[0].queue_depth"] = {"a\n.fio", 7, "iodepth=4\x1b"};
  translation.remarks.push_back({{"a.fio", 3, "thread"}, "one\ntwo"});
  const JobText text = WriteJob(translation, "a\nb.fio");
  EXPECT_NE(text.yaml.find("queue_depth: 4  # iodepth=4"), std::string::npos) << text.yaml;
  EXPECT_EQ(text.yaml.find('\x1b'), std::string::npos);
  ASSERT_EQ(text.origins.size(), 1u);
  EXPECT_EQ(text.origins.begin()->second.line, 7);
  EXPECT_TRUE(cli::ParseJobFile("a", text.yaml, {}).errors.empty()) << text.yaml;
}

// A path has the beginning of a label's name only.
TEST(JobTextTest, LongLabelsThatDifferAtTheirEndsAreAllWritten) {
  Translation translation;
  translation.job.set_name("a");
  const std::string name = "fio.groups." + std::string(95, 'x');
  (*translation.job.mutable_labels())[name + "a"] = "2,1";
  (*translation.job.mutable_labels())[name + "b"] = "1,2";
  const JobText text = WriteJob(translation, "a.fio");
  EXPECT_NE(text.yaml.find(name + "a: \"2,1\"\n"), std::string::npos) << text.yaml;
  EXPECT_NE(text.yaml.find(name + "b: \"1,2\"\n"), std::string::npos) << text.yaml;
}

TEST(FrontEndTest, HostsAreANumberOrNames) {
  EXPECT_EQ(ParseHosts("64")->count, 64u);
  EXPECT_EQ(ParseHosts("64")->selector.count(), 64u);
  EXPECT_EQ(ParseHosts("node[1-8,12],db1")->count, 10u);
  EXPECT_EQ(ParseHosts("node[1-8,12],db1")->selector.names_size(), 2);
  EXPECT_EQ(ParseHosts("r[1-2]n[1-4]")->count, 8u);
  for (const char* wrong : {"", "0", "10001", "a,,b", "a b", "n[1-", "n[8-1]", "n[1-99999999]"}) {
    EXPECT_FALSE(ParseHosts(wrong)) << wrong;
  }
}

TEST(FrontEndTest, FilesAreKnownByNameOrContent) {
  const auto name = [](const SourceFile& file) {
    const auto found = FindFrontEnd(file);
    return found ? std::string(found->name) : std::string();
  };
  EXPECT_EQ(name({"a.fio", ""}), "fio");
  EXPECT_EQ(name({"a.job", "; a comment\n\n[global]\nbs=4k\n"}), "fio");
  EXPECT_EQ(name({"stdin", "# x\n[randread]\n"}), "fio");
  EXPECT_EQ(name({"a.yaml", "[randread]\n"}), "");
  EXPECT_EQ(name({"stdin", "name: a\nphases: []\n"}), "");
  EXPECT_EQ(name({"stdin", ""}), "");
}

}  // namespace
}  // namespace lockstep::frontends
