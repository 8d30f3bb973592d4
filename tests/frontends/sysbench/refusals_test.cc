// Refused options, by their names.

#include <utility>

#include "absl/strings/match.h"
#include "frontends/sysbench/options.h"
#include "tests/frontends/sysbench/translated.h"

namespace lockstep::frontends::sysbench {
namespace {

TEST(SysbenchRefusalsTest, OptionsWithoutACounterpart) {
  for (const char* option :
       {"--report-checkpoints=1,2", "--debug", "--debug=on", "--help", "--version",
        "--config-file=a", "--verbosity=5", "--verbosity=0", "--histogram", "--histogram=true",
        "--db-driver=pgsql", "--db-ps-mode=disable", "--db-debug", "--mysql-host=a",
        "--mysql-dry-run", "--pgsql-port=5"}) {
    const std::string errors = ErrorsOf(absl::StrCat("--file-test-mode=rndrd ", option));
    EXPECT_TRUE(absl::StartsWith(errors, absl::StrCat(option, ": cannot be translated: ")))
        << errors;
  }
  EXPECT_EQ(ErrorsOf("--file-test-mode=rndrd --debug=off --histogram=0 --verbosity=3"), "");
}

// What is said about a word of a script, which stands on its second line.
Translation WithWord(const std::string& word) {
  Request request = InData();
  request.files = {{"a.sh", absl::StrCat("sysbench --file-num=4 --file-total-size=16M \\\n"
                                         "  --file-test-mode=rndrd ",
                                         word, " \\\n  fileio run\n")}};
  const auto front_end = FindFrontEnd(request.files[0]);
  if (!front_end) ADD_FAILURE() << request.files[0].text;
  return front_end ? Translate(*front_end, request) : Translation();
}
// A value that is not the option's default.
std::string WordOf(const OptionRule& rule) {
  return absl::StrCat("--", rule.name, rule.kind == Kind::kFlag ? "=on" : "=7");
}

TEST(SysbenchRefusalsTest, EachRefusedOptionIsNamedWithItsLineAndReason) {
  int refused = 0;
  for (const OptionRule& rule : Rules()) {
    if (rule.fate != Fate::kRefused) continue;
    ++refused;
    EXPECT_NE(*rule.text, '\0') << rule.name;
    const std::string word = WordOf(rule);
    EXPECT_EQ(TextOf(WithWord(word).errors),
              absl::StrCat("a.sh:2: ", word, ": cannot be translated: ", rule.text, "\n"));
  }
  EXPECT_GE(refused, 10);
}

TEST(SysbenchRefusalsTest, EachRemarkedOptionIsNamedWithItsLine) {
  int remarked = 0;
  for (const OptionRule& rule : Rules()) {
    if (rule.fate != Fate::kRemarked) continue;
    ++remarked;
    EXPECT_NE(*rule.text, '\0') << rule.name;
    const std::string word = WordOf(rule);
    const Translation translation = WithWord(word);
    EXPECT_EQ(TextOf(translation.errors), "");
    const std::string remark = absl::StrCat("a.sh:2: ", word, ": left out; ", rule.text, "\n");
    EXPECT_TRUE(absl::StrContains(TextOf(translation.remarks), remark))
        << remark << TextOf(translation.remarks);
  }
  EXPECT_GE(remarked, 5);
}

TEST(SysbenchRefusalsTest, AnUnknownOptionIsNamedWithItsLine) {
  EXPECT_EQ(TextOf(WithWord("--thread=7").errors),
            "a.sh:2: --thread=7: is no option of sysbench 1.0's fileio, which takes no "
            "abbreviations: write --threads or --thread-stack-size\n");
}

// Values that sysbench 1.0 refuses, or takes for something that no one means.
TEST(SysbenchRefusalsTest, ValuesThatSysbenchRefuses) {
  for (const char* option : {"--threads=0",
                             "--threads=-2",
                             "--threads=1k",
                             "--threads=2000",
                             "--threads=x",
                             "--threads",
                             "--events=-1",
                             "--events=1G",
                             "--time=-1",
                             "--time=1.5",
                             "--time=0",
                             "--rate=-1",
                             "--rate=1.5",
                             "--report-interval=-1",
                             "--percentile=101",
                             "--percentile=-1",
                             "--percentile=50.5",
                             "--forced-shutdown=x",
                             "--forced-shutdown=0",
                             "--rand-type=zipfian",
                             "--rand-seed=-1",
                             "--validate=maybe",
                             "--file-num=0",
                             "--file-num=3.7",
                             "--file-num=2k",
                             "--file-num=",
                             "--file-num=70000",
                             "--file-block-size=0",
                             "--file-block-size=-5",
                             "--file-block-size=100",
                             "--file-block-size=128M",
                             "--file-block-size=8M",
                             "--file-total-size=0",
                             "--file-total-size=3X",
                             "--file-total-size=0x300000",
                             "--file-total-size=8000",
                             "--file-total-size=9999999T",
                             "--file-io-mode=foo",
                             "--file-async-backlog=0 --file-io-mode=async",
                             "--file-async-backlog=5000 --file-io-mode=async",
                             "--file-extra-flags=foo",
                             "--file-fsync-freq=-1",
                             "--file-fsync-all=",
                             "--file-fsync-end=yes",
                             "--file-fsync-mode=foo",
                             "--file-merged-requests=-1",
                             "--file-rw-ratio=-1",
                             "--file-rw-ratio=abc",
                             "--file-rw-ratio=inf"}) {
    const std::string errors = ErrorsOf(absl::StrCat("--file-test-mode=rndrd ", option));
    const std::string first = std::string(option).substr(0, std::string(option).find(' '));
    EXPECT_TRUE(absl::StartsWith(errors, first + ": ")) << option << "\n" << errors;
  }
}

TEST(SysbenchRefusalsTest, CombinationsThatJobsDoNotHave) {
  for (const char* options :
       {"--file-io-mode=mmap --file-test-mode=seqwr",
        "--file-extra-flags=direct --file-test-mode=rndrd --file-io-mode=mmap",
        "--file-extra-flags=direct --file-test-mode=rndrd --file-block-size=1000",
        "--validate --file-test-mode=rndrd", "--validate --file-test-mode=seqrd",
        "--validate --file-test-mode=rndrw --file-block-size=1000",
        "--file-rw-ratio=0.00001 --file-test-mode=rndrw",
        "--file-rw-ratio=1000000 --file-test-mode=rndrw",
        "--file-merged-requests=1000 --file-test-mode=seqrd --file-block-size=1M"}) {
    const std::string errors = ErrorsOf(options);
    const std::string first = std::string(options).substr(0, std::string(options).find(' '));
    EXPECT_TRUE(absl::StartsWith(errors, first + ": ")) << options << "\n" << errors;
  }
}

TEST(SysbenchRefusalsTest, WordsThatAreNoOption) {
  for (const auto& [line, error] : {
           std::pair("fileio run run --file-test-mode=rndrd",
                     "run: is no command-line argument of sysbench; a value stands behind a =\n"),
           {"fileio --file-test-mode rndrd run",
            "run: is no command-line argument of sysbench; a value stands behind a =\n"},
           {"fileio bogus", "bogus: is none of prepare, run and cleanup\n"},
           {"fileio help", "help: is none of prepare, run and cleanup\n"},
           {"fileio", "sysbench: the test 'fileio' has no command: prepare, run or cleanup\n"},
           {"",
            "sysbench: names no test: write `fileio prepare`, `fileio run` or `fileio "
            "cleanup`\n"},
           {"cpu run", "sysbench: 'cpu' is no test of storage; Lockstep has fileio\n"},
           {"oltp.lua run", "sysbench: 'oltp.lua' is no test of storage; Lockstep has fileio\n"},
       }) {
    EXPECT_EQ(TextOf(TranslationOf(line).errors), error) << line;
  }
}

// sysbench would take its working directory. Here nothing is guessed.
TEST(SysbenchRefusalsTest, TheDirectoryMustBeNamed) {
  for (const auto& [directory, error] :
       {std::pair("", "--directory: is missing: "),
        {"data", "--directory: must begin with /\n"},
        {"/a/../b", "--directory: has .. in it; write it out\n"},
        {"/a{file}", "--directory: may have {host} in it, no other name\n"}}) {
    Request request;
    request.directory = directory;
    const std::string errors = TextOf(RunOf("--file-test-mode=rndrd", request).errors);
    EXPECT_TRUE(absl::StartsWith(errors, error)) << errors;
  }
  Request request = InData();
  request.directory = "/mnt/{host}/";
  EXPECT_EQ(JobOf(RunOf("--file-test-mode=rndrd", request)).targets(0).file().path(),
            "/mnt/{host}/test_file.{file}");
  request = InData("a b");
  EXPECT_EQ(TextOf(RunOf("--file-test-mode=rndrd", request).errors),
            "--hosts: is neither a number of hosts nor names: write 4, or node[1-8],db1\n");
}

}  // namespace
}  // namespace lockstep::frontends::sysbench
