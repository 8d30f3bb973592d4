// Files with command lines, and lines that were changed at random.

#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/frontends/sysbench/translated.h"

namespace lockstep::frontends::sysbench {
namespace {

Translation OfFile(const std::string& text, const std::string& name = "disks.sh") {
  const SourceFile file{name, text};
  const std::optional<FrontEnd> front_end = FindFrontEnd(file);
  EXPECT_TRUE(front_end.has_value() && front_end->name == std::string("sysbench"));
  Request request = InData();
  request.files = {file};
  return front_end ? front_end->translate(request) : Translation();
}

constexpr char kScript[] = R"(#!/bin/sh
# Three lines.
sysbench --file-num=4 --file-total-size=16M fileio prepare
sudo /usr/bin/sysbench --file-num=4 '--file-total-size=16M' \
    --file-test-mode="rndrw" --threads=2 fileio run   # the load
sysbench --file-num=4 --file-total-size=16M --file-test-mode=rndrw fileio run
sysbench --file-num=4 --file-total-size=16M fileio cleanup
)";

TEST(SysbenchScriptTest, EachLineIsAPhase) {
  const Translation translation = OfFile(kScript);
  const v1::JobSpec job = JobOf(translation);
  EXPECT_EQ(job.name(), "disks");
  ASSERT_EQ(job.phases_size(), 4);
  EXPECT_TRUE(job.phases(0).has_prepare());
  EXPECT_EQ(job.phases(1).name(), "rndrw");
  EXPECT_EQ(job.phases(1).run().workloads(0).threads(), 2u);
  EXPECT_EQ(job.phases(2).name(), "rndrw 2");
  EXPECT_TRUE(job.phases(3).has_cleanup());
  const Origin threads = translation.origins.at("phases[1].run.workloads[0].threads");
  EXPECT_EQ(threads.option, "--threads=2");
  EXPECT_EQ(threads.line, 5);
  const JobText text = WriteJob(translation, "disks.sh");
  EXPECT_TRUE(absl::StrContains(text.yaml, "threads: 2  # --threads=2 (disks.sh:5)")) << text.yaml;
}

TEST(SysbenchScriptTest, TheJobIsNamedAfterItsFileWhateverThatIsCalled) {
  const char* const kLine = "sysbench fileio --file-num=4 --file-total-size=16M prepare\n";
  EXPECT_EQ(JobOf(OfFile(kLine, "a\x1b[1m.sh")).name(), "a\\x1b[1m");
  // No character is cut in two.
  const std::string name = std::string(99, 'a') + "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9.sh";
  EXPECT_EQ(JobOf(OfFile(kLine, name)).name().substr(0, 10), "aaaaaaaaaa");
}

TEST(SysbenchScriptTest, ItIsKnownByItsNameOrItsFirstLine) {
  EXPECT_FALSE(FindFrontEnd({"a.yaml", "sysbench fileio run"}).has_value());
  EXPECT_FALSE(FindFrontEnd({"a.sh", "echo sysbench\n"}).has_value());
  EXPECT_FALSE(FindFrontEnd({"a.sh", "sysbench-old fileio run\n"}).has_value());
  EXPECT_EQ(TextOf(OfFile("", "a.sysbench").errors), "a.sysbench:1: has no line of sysbench\n");
}

TEST(SysbenchScriptTest, ErrorsHaveTheirLine) {
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare\n\nsysbench fileio\nsysbench --thr=1 fileio "
                          "cleanup\n")
                       .errors),
            "disks.sh:3: the test 'fileio' has no command: prepare, run or cleanup\n"
            "disks.sh:4: --thr=1: is no option of sysbench 1.0's fileio, which takes no "
            "abbreviations: write --threads or --thread-stack-size\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare\ncd /mnt\n").errors),
            "disks.sh:2: 'cd' is no sysbench; lines are `sysbench [options] fileio "
            "prepare|run|cleanup`\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio --file-num=$N prepare\n").errors),
            "disks.sh:1: '$' is the shell's; write what it stands for\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare &\n").errors),
            "disks.sh:1: '&' is the shell's; a line is one sysbench\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare || true\n").errors),
            "disks.sh:1: '|' is the shell's; a line is one sysbench\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare >\n").errors),
            "disks.sh:1: '>' has no file behind it; a line is one sysbench\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio prepare | tee 'a\n").errors),
            "disks.sh:1: has a quote that does not end\n");
  EXPECT_EQ(TextOf(OfFile("sysbench fileio 'prepare\n").errors),
            "disks.sh:1: has a quote that does not end\n");
}

TEST(SysbenchScriptTest, ARedirectedOutputIsLeftOutWithARemark) {
  const Translation translation = OfFile(
      "sysbench fileio --file-num=4 --file-total-size=16M prepare > /dev/null 2>&1\n"
      "sysbench fileio --file-num=4 --file-total-size=16M >>'a b' --file-test-mode=rndrd run |\\\n"
      "  tee -a \"x;y\" | grep IOPS && sysbench fileio --file-num=4 --file-total-size=16M "
      "cleanup\n");
  const v1::JobSpec job = JobOf(translation);
  ASSERT_EQ(job.phases_size(), 3);
  EXPECT_EQ(job.phases(1).name(), "rndrd");
  EXPECT_TRUE(job.phases(2).has_cleanup());
  const std::string remarks = TextOf(translation.remarks);
  for (const char* part :
       {"disks.sh:1: > /dev/null: left out", "disks.sh:1: 2>&1: left out",
        "disks.sh:2: >>'a b': left out", "lockstep report last --format sysbench"}) {
    EXPECT_TRUE(absl::StrContains(remarks, part)) << remarks;
  }
}

TEST(SysbenchScriptTest, NothingBehindAPipeBecomesAPhase) {
  const char* const kRun =
      "sysbench fileio --file-num=4 --file-total-size=16M "
      "--file-test-mode=rndrd run";
  const char* const kCleanup = "sysbench fileio --file-num=4 --file-total-size=16M cleanup";
  for (const char* pipe : {" | tee out # was: run; ", "| tee out #; ", "|tee out # && "}) {
    const v1::JobSpec job = JobOf(OfFile(absl::StrCat(kRun, pipe, kCleanup, "\n")));
    ASSERT_EQ(job.phases_size(), 1) << pipe;
    EXPECT_TRUE(job.phases(0).has_run()) << pipe;
  }
  // A backslash in single quotes is a character as any other, and a '#' within a word, too.
  for (const char* pipe : {" | tr -d '\\'; ", " | tee out#1; ", " | grep '# a'; "}) {
    const v1::JobSpec job = JobOf(OfFile(absl::StrCat(kRun, pipe, kCleanup, "\n")));
    ASSERT_EQ(job.phases_size(), 2) << pipe;
    EXPECT_TRUE(job.phases(1).has_cleanup()) << pipe;
  }
}

TEST(SysbenchScriptTest, LinesThatDoNoIoAreLeftOutWithARemark) {
  const Translation translation =
      OfFile("set -e\ncd /mnt/data; echo begin\nsysbench fileio --file-num=4 prepare\n");
  EXPECT_EQ(JobOf(translation).phases_size(), 1);
  const std::string remarks = TextOf(translation.remarks);
  for (const char* part : {"disks.sh:1: set -e: left out; it does no I/O",
                           "disks.sh:2: cd /mnt/data: left out; --directory stands in its place",
                           "disks.sh:2: echo begin: left out"}) {
    EXPECT_TRUE(absl::StrContains(remarks, part)) << remarks;
  }
  EXPECT_TRUE(absl::StrContains(
      TextOf(OfFile("sysbench fileio prepare\necho 3 > /proc/sys/vm/drop_caches\n").errors),
      "disks.sh:2: 'echo' is no sysbench"));
  // A script that does more first is refused with its lines, and not as an unknown file.
  EXPECT_TRUE(
      absl::StrContains(TextOf(OfFile("#!/bin/bash\nSIZE=2G\nsysbench fileio prepare\n").errors),
                        "disks.sh:2: 'SIZE=2G' is no sysbench"));
}

TEST(SysbenchScriptTest, LinesOfAJobHaveTheSameFiles) {
  EXPECT_EQ(TextOf(OfFile("sysbench fileio --file-num=4 prepare\nsysbench fileio --file-num=8 "
                          "--file-test-mode=rndrd run\n")
                       .errors),
            "disks.sh:2: --file-total-size: differs from the first line; all lines of a job have "
            "the same files\n");
}

// Takes, drops, doubles and changes words and letters of lines that are right.
std::string Mutated(std::mt19937_64* random) {
  static const std::vector<std::string> kWords = {"fileio",
                                                  "run",
                                                  "prepare",
                                                  "cleanup",
                                                  "--threads=2",
                                                  "--time=5",
                                                  "--events=100",
                                                  "--rate=50",
                                                  "--file-num=4",
                                                  "--file-total-size=16M",
                                                  "--file-block-size=4096",
                                                  "--file-test-mode=rndrw",
                                                  "--file-test-mode=seqwr",
                                                  "--file-test-mode=seqrd",
                                                  "--file-test-mode=rndwr",
                                                  "--file-io-mode=async",
                                                  "--file-io-mode=mmap",
                                                  "--file-async-backlog=32",
                                                  "--file-extra-flags=direct",
                                                  "--file-extra-flags=dsync",
                                                  "--file-fsync-freq=10",
                                                  "--file-fsync-all",
                                                  "--file-fsync-end=off",
                                                  "--file-fsync-mode=fdatasync",
                                                  "--file-merged-requests=4",
                                                  "--file-rw-ratio=2.5",
                                                  "--validate",
                                                  "--percentile=99",
                                                  "--report-interval=1",
                                                  "--rand-seed=7",
                                                  "--forced-shutdown=3",
                                                  "--max-time=3",
                                                  "--num-threads=4",
                                                  "--rand-type=pareto",
                                                  "--debug"};
  static const std::string kLetters = "0123456789-=_.,KMGTkxe ron'\"\\$\n\t\x01\xc3";
  const auto below = [random](size_t count) { return (*random)() % count; };
  std::vector<std::string> words = {"fileio", "run", "--file-total-size=16M", "--file-num=4",
                                    "--file-test-mode=rndrw"};
  for (size_t i = below(6); i > 0; --i) {
    words.insert(words.begin() + static_cast<long>(below(words.size() + 1)),
                 kWords[below(kWords.size())]);
  }
  for (size_t i = below(4); i > 0 && !words.empty(); --i) {
    std::string& word = words[below(words.size())];
    const size_t at = below(word.size() + 1);
    switch (below(4)) {
      case 0:
        word.insert(at, 1, kLetters[below(kLetters.size())]);
        break;
      case 1:
        word = word.substr(0, at);
        break;
      case 2:
        if (at < word.size()) word[at] = kLetters[below(kLetters.size())];
        break;
      default:
        words.erase(words.begin() + static_cast<long>(below(words.size())));
    }
  }
  return absl::StrJoin(words, " ");
}

TEST(SysbenchScriptTest, AThousandChangedLinesAreJobsOrErrors) {
  std::mt19937_64 random(37);
  int jobs = 0;
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 100000 : 1000;
  for (int i = 0; i < rounds; ++i) {
    const std::string line = Mutated(&random);
    SCOPED_TRACE(line);
    Request request = InData();
    request.files = {{"a.sysbench", "sysbench " + line + "\n"}};
    const std::optional<FrontEnd> front_end = FindFrontEnd(request.files[0]);
    ASSERT_TRUE(front_end.has_value());
    for (const Translation& translation : {TranslationOf(line), front_end->translate(request)}) {
      if (!translation.errors.empty()) {
        for (const Message& error : translation.errors) {
          EXPECT_NE(error.text, "");
          // A command line has no lines.
          const bool has_lines = error.where.file == "a.sysbench";
          EXPECT_TRUE(!has_lines || error.where.line >= 1);
        }
        continue;
      }
      v1::JobSpec job;
      EXPECT_EQ(PlanProblems(translation, &job), "");
      for (const v1::Target& target : job.targets()) {
        EXPECT_EQ(target.file().path(), "/data/{host}/test_file.{file}");
      }
      ++jobs;
    }
  }
  EXPECT_GT(jobs, 150) << "many changes must leave something that is translated";
}

}  // namespace
}  // namespace lockstep::frontends::sysbench
