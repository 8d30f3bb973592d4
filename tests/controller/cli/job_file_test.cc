#include "controller/cli/job_file.h"

#include <random>

#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

constexpr char kJob[] = R"(name: mixed
labels: {team: storage}
targets:
  - name: data
    file: {path: "/data/{host}", size: 1GiB}
phases:
  - prepare:
  - name: mix
    run:
      ramp: 2s
      duration: 90s
      workloads:
        - {block_size: 8KiB, read: 70%, queue_depth: 16, pattern: random, operations: 20k}
      expect: {iops: 5.4k, p99: 2ms, throughput: 40MiB/s}
      abort_if: {errors: 10}
  - cleanup:
)";

TEST(JobFileTest, UnitsNamesAndShorthands) {
  const JobFile file = ParseJobFile("mixed.yaml", kJob, {});
  ASSERT_TRUE(file.errors.empty()) << file.errors[0];
  EXPECT_EQ(file.job.targets(0).file().size_bytes(), 1 << 30);
  EXPECT_TRUE(file.job.phases(0).has_prepare());
  EXPECT_TRUE(file.job.phases(2).has_cleanup());
  const v1::RunPhase& run = file.job.phases(1).run();
  EXPECT_EQ(run.duration_ns(), 90000000000);
  EXPECT_EQ(run.workloads(0).block_size_bytes(), 8192);
  EXPECT_DOUBLE_EQ(run.workloads(0).read_ratio(), 0.7);
  EXPECT_TRUE(run.workloads(0).pattern().has_random());
  EXPECT_EQ(run.workloads(0).operations(), 20000u);
  EXPECT_DOUBLE_EQ(run.expect().iops(), 5400);
  EXPECT_DOUBLE_EQ(run.expect().throughput_bytes_per_second(), 40 * 1048576);
  EXPECT_EQ(run.expect().p99_ns(), 2000000);
  EXPECT_EQ(file.job.labels().at("team"), "storage");
}

TEST(JobFileTest, SetsOverride) {
  const JobFile file =
      ParseJobFile("m", kJob,
                   {"phases.1.run.duration=10s", "phases[1].run.workloads[0].queue_depth=4",
                    "seed=18446744073709551615"});
  ASSERT_TRUE(file.errors.empty()) << file.errors[0];
  EXPECT_EQ(file.job.phases(1).run().duration_ns(), 10000000000);
  EXPECT_EQ(file.job.phases(1).run().workloads(0).queue_depth(), 4u);
  EXPECT_EQ(file.job.seed(), ~uint64_t{0});
}

std::string OnlyError(const std::string& source) {
  const JobFile file = ParseJobFile("j.yaml", source, {});
  EXPECT_EQ(file.errors.size(), 1u) << source;
  return file.errors.empty() ? "" : file.errors[0];
}

TEST(JobFileTest, ErrorsSayWhereAndWhatIsAccepted) {
  EXPECT_EQ(OnlyError("phases: [{prepare: }]"), "j.yaml:1: name is missing");
  EXPECT_EQ(
      OnlyError("name: x\nphases:\n  - prepare:\n    cleanup:"),
      "j.yaml:4: phases[0].cleanup: cannot stand beside prepare; only one of them is possible");
  EXPECT_EQ(OnlyError("name: x\nname: y\nphases: [{prepare: }]"), "j.yaml:2: name: is given twice");
  EXPECT_EQ(OnlyError("name: x\nphases: [{prepare: }]\non_worker_loss: pray"),
            "j.yaml:3: on_worker_loss: 'pray' is not one of abort, continue, retry");
  EXPECT_EQ(OnlyError("name: x\nphases: [{run: {workloads: [{threads: 0}]}}]"),
            "j.yaml:2: phases[0].run.workloads[0].threads: '0' is too small; the minimum is 1");
  EXPECT_EQ(OnlyError("name: x\nphases: [{run: {workloads: [{threads: 1.5}]}}]"),
            "j.yaml:2: phases[0].run.workloads[0].threads: '1.5' is not a whole number");
  EXPECT_EQ(OnlyError("name: x\nphases: [{run: {workloads: [{direct: maybe}]}}]"),
            "j.yaml:2: phases[0].run.workloads[0].direct: 'maybe' is not true or false");
  EXPECT_NE(OnlyError("just words").find("not a job"), std::string::npos);
  EXPECT_NE(OnlyError("a: [b").find("not YAML"), std::string::npos);
}

// Lines of people who know other tools, or put a field at the wrong level.
TEST(JobFileTest, AFieldOfAnotherToolOrLevelIsNamed) {
  const auto error_of = [](const std::string& workload, const std::string& run = "") {
    const JobFile file = ParseJobFile(
        "x.yaml",
        "targets: [{name: t, file: {path: /x, size: 1GiB}}]\nphases:\n  - run: {duration: 1s, " +
            run + "workloads: [{" + workload + "}]}\n",
        {});
    return file.errors.empty() ? "" : file.errors[0];
  };
  EXPECT_EQ(
      error_of("bs: 4k"),
      "x.yaml:3: phases[0].run.workloads[0].bs: is not a field; it is called block_size here");
  EXPECT_NE(error_of("iodepth: 4").find("it is called queue_depth here"), std::string::npos);
  EXPECT_NE(error_of("", "store_filesystem: true, ").find("belongs to the file's top level"),
            std::string::npos);
  EXPECT_NE(error_of("queue_depth: [1, 4]")
                .find("is a list; a single value is expected here (a "
                      "phase that runs with several values has "
                      "run.sweep.axes)"),
            std::string::npos);
  EXPECT_NE(error_of("queue_depth: {from: 1}").find("is a map; a single value is expected here"),
            std::string::npos);
  EXPECT_NE(error_of("name: {host}").find("needs quotes"), std::string::npos);
  EXPECT_NE(error_of("duration: 4s").find("belongs to phases[].run.duration"), std::string::npos)
      << error_of("duration: 4s");
  EXPECT_NE(
      error_of("", "queue_depth: 4, ").find("belongs to phases[].run.workloads[].queue_depth"),
      std::string::npos)
      << error_of("", "queue_depth: 4, ");
  EXPECT_NE(error_of("quue_depth: 4").find("did you mean queue_depth?"), std::string::npos);
}

// A field that the controller fills in is not offered.
TEST(JobFileTest, AFieldThatIsNoUsersIsUnknown) {
  const auto errors_of = [](const std::string& key) {
    std::string all;
    const std::string source = "name: x\n" + key + ": []\nphases: [{cleanup: {}}]\n";
    for (const std::string& error : ParseJobFile("x.yaml", source, {}).errors) all += error + "\n";
    return all;
  };
  const std::string own = errors_of("swept_targets");
  EXPECT_NE(own.find("swept_targets: is not a field"), std::string::npos) << own;
  EXPECT_EQ(own.find("called swept_targets"), std::string::npos) << own;
  const std::string odd = errors_of("xxxxxxxxxxxx");
  EXPECT_NE(odd.find("known here: "), std::string::npos) << odd;
  EXPECT_EQ(odd.find("swept_targets"), std::string::npos) << odd;
}

TEST(JobFileTest, AnObservePhaseSaysWhyItHasNoLoad) {
  const auto error_of = [](const std::string& more) {
    const JobFile file =
        ParseJobFile("x.yaml", "name: x\nphases:\n  - observe: {duration: 1s, " + more + "}\n", {});
    return file.errors.empty() ? "" : file.errors[0];
  };
  for (const char* more : {"expect: {iops: 1}", "workloads: [{}]", "until_steady: {}"}) {
    EXPECT_NE(error_of(more).find("an observe phase does no I/O of its own"), std::string::npos)
        << error_of(more);
  }
  EXPECT_NE(error_of("devises: [/dev/sda]").find("did you mean devices?"), std::string::npos)
      << error_of("devises: [/dev/sda]");
  EXPECT_EQ(error_of("devices: [/dev/sda]"), "");
}

TEST(JobFileTest, ABareHostAndAnOpenBracketAreSaid) {
  const auto error_of = [](const std::string& source) {
    const JobFile file = ParseJobFile("x.yaml", source, {});
    return file.errors.empty() ? "" : file.errors[0];
  };
  EXPECT_EQ(error_of("name: x\ntargets:\n  - {name: t, file: {path: /mnt/{host}/f, size: 1GiB}}\n"),
            "x.yaml:3: not YAML: a text with {host} needs quotes: path: \"/mnt/{host}/data\"");
  EXPECT_NE(error_of("name: x\ntargets: [{name: t\n").find("a bracket is not closed"),
            std::string::npos);
}

TEST(JobFileTest, MergeKeysUnitsTabsAndSecondDocuments) {
  const char* const kJob =
      "name: a\ntargets: [{name: n, null: {size: 1m}}]\nphases: [{run: {duration: 1s, workloads: "
      "[{<<: {threads: 2, block_size: 4kb}, threads: 3}]}}]\n";
  const JobFile merged = ParseJobFile("f", kJob, {});
  ASSERT_TRUE(merged.errors.empty()) << merged.errors[0];
  EXPECT_EQ(merged.job.phases(0).run().workloads(0).threads(), 3u);
  EXPECT_GT(merged.job.phases(0).run().workloads(0).block_size_bytes(), 0);
  const auto first = [](const std::string& text, const std::vector<std::string>& sets = {}) {
    const JobFile file = ParseJobFile("f", text, sets);
    return file.errors.empty() ? std::string() : file.errors[0];
  };
  EXPECT_NE(first(std::string(kJob) + "---\nname: b\n").find("document"), std::string::npos);
  EXPECT_FALSE(first(", a").empty());  // yaml-cpp's own LoadAll() never ends here
  EXPECT_NE(first("name: a\n\tphases: []\n").find("tab"), std::string::npos);
  EXPECT_EQ(
      first(kJob, {"phases.0.run.duration=soon"}).rfind("--set phases.0.run.duration=soon", 0), 0u);
  // YAML reads the key `null` as no text.
  const JobFile larger = ParseJobFile("f", kJob, {"targets.0.null.size=2MiB"});
  ASSERT_TRUE(larger.errors.empty()) << larger.errors[0];
  EXPECT_EQ(larger.job.targets(0).null().size_bytes(), 2u << 20);
  EXPECT_EQ(first(kJob, {"targets.0.null.size=soon"}).rfind("--set targets.0.null.size=soon", 0),
            0u);
  EXPECT_TRUE(first(kJob, {"targets.0.null.size=2MiB", "targets.0.null.size=soon"})
                  .starts_with("--set targets.0.null.size=soon"))
      << "the last one counts";
  // A text of a file does not reach the terminal as it is.
  const std::string escape =
      first("name: a\nphases: [{run: {duration: \"\\e]0;owned\\a\", workloads: [{}]}}]\n");
  EXPECT_FALSE(escape.empty());
  EXPECT_EQ(escape.find('\x1b'), std::string::npos);
  EXPECT_EQ(escape.find('\a'), std::string::npos);
}

TEST(JobFileTest, AProblemIsShownAtTheNearestLineAbove) {
  const JobFile file = ParseJobFile("mixed.yaml", kJob, {});
  v1::Problem problem;
  problem.set_path("phases[1].run.workloads[0].targets");
  problem.set_message("is empty");
  EXPECT_EQ(file.Locate(problem), "mixed.yaml:13: phases[1].run.workloads[0].targets: is empty");
}

// The flag is in one line. It is named for the fields that were made on the way to its own, too,
// which have no line in the file.
TEST(JobFileTest, AProblemOfASetNamesTheFlag) {
  const JobFile file = ParseJobFile("mixed.yaml", kJob, {"labels.site=\"a\n\nb\""});
  ASSERT_TRUE(file.errors.empty()) << file.errors[0];
  v1::Problem problem;
  problem.set_path("labels.site");
  problem.set_message("has control characters");
  EXPECT_EQ(file.Locate(problem),
            "--set labels.site=\"a\\x0a\\x0ab\": labels.site: has control characters");
  const JobFile made = ParseJobFile("mixed.yaml", kJob, {"hosts.count=9"});
  problem.set_path("hosts");
  problem.set_message("has too many");
  EXPECT_EQ(made.Locate(problem), "--set hosts.count=9: hosts: has too many");
  const auto first = [](const std::string& set) {
    const JobFile read = ParseJobFile("mixed.yaml", kJob, {set});
    return read.errors.empty() ? std::string() : read.errors[0];
  };
  EXPECT_TRUE(first("expect.p99=5ms").starts_with("--set expect.p99=5ms: expect: "))
      << first("expect.p99=5ms");
  EXPECT_TRUE(first("hosts.names.0=a").starts_with("--set hosts.names.0=a: hosts.names"))
      << first("hosts.names.0=a");
  EXPECT_TRUE(first("new\nfield=1").starts_with("--set new\\x0afield=1: new\\x0afield: "))
      << first("new\nfield=1");
}

// Bytes changed at random: an error or a job, never a crash.
TEST(JobFileTest, RandomChangesNeverBreakTheReader) {
  std::mt19937 random(1);
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 200000 : 3000;
  for (int i = 0; i < rounds; ++i) {
    std::string source = kJob;
    for (int changes = 1 + static_cast<int>(random() % 6); changes > 0; --changes) {
      const size_t at = random() % source.size();
      switch (random() % 3) {
        case 0:
          source[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          source.erase(at, 1 + random() % 8);
          break;
        default:
          source.insert(at, std::string(1 + random() % 3, "[]{}:-&*!\n 0%"[random() % 13]));
      }
    }
    ParseJobFile("fuzz", source, {});
  }
}

}  // namespace
}  // namespace lockstep::cli
