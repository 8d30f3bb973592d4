// Every option that a job cannot express is refused by its name and line.

#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "frontends/fio/options.h"
#include "tests/frontends/fio/fio_options.h"
#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

TEST(FioRefusalsTest, EveryOptionOfFioHasARule) {
  for (const char* name : kOptions) EXPECT_NE(FindRule(name), nullptr) << name;
}

TEST(FioRefusalsTest, ARuleSaysWhatBecomesOfItsOption) {
  std::set<std::string> names;
  for (const Rule& rule : AllRules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " has two rules";
    EXPECT_EQ(CanonicalName(rule.name), rule.name) << "is another name of an option";
    const bool has_text = *rule.text != '\0';
    EXPECT_EQ(has_text, rule.fate != Fate::kTranslated) << rule.name;
  }
}

TEST(FioRefusalsTest, EachRefusedOptionIsNamedWithItsLineAndItsNeed) {
  int refused = 0;
  for (const Rule& rule : AllRules()) {
    if (rule.fate != Fate::kRefused) continue;
    ++refused;
    const std::string line = absl::StrCat(rule.name, "=7");
    ASSERT_FALSE(IsIdle(rule, "7")) << line;
    EXPECT_EQ(ErrorsOf("[a]\nsize=1m\n" + line + "\n"),
              absl::StrCat("a.fio:3: ", line, ": cannot be translated; a job would need ",
                           rule.text, "\n"));
    // In [global] it is named once, however many jobs have it from there.
    EXPECT_EQ(ErrorsOf("[global]\n" + line + "\nsize=1m\n[a]\n[b]\n"),
              absl::StrCat("a.fio:2: ", line, ": cannot be translated; a job would need ",
                           rule.text, "\n"));
  }
  EXPECT_GE(refused, 75);
}

TEST(FioRefusalsTest, ARefusedOptionThatAsksForNothingIsFine) {
  for (const Rule& rule : AllRules()) {
    if (rule.fate != Fate::kRefused) continue;
    for (const absl::string_view idle : absl::StrSplit(rule.idle, ',', absl::SkipEmpty())) {
      EXPECT_EQ(ErrorsOf(absl::StrCat("[a]\nsize=1m\n", rule.name, "=", idle, "\n")), "")
          << rule.name;
    }
  }
}

TEST(FioRefusalsTest, EachRemarkedOptionIsNamedWithItsLine) {
  for (const Rule& rule : AllRules()) {
    if (rule.fate != Fate::kRemarked) continue;
    const Translation t =
        TranslateFio(RequestOf(absl::StrCat("[a]\nsize=1m\n", rule.name, "=1\n")));
    EXPECT_EQ(ErrorsOf(t), "");
    const std::string remark =
        absl::StrCat("a.fio:3: ", rule.name, "=1: left out; ", rule.text, "\n");
    EXPECT_NE(RemarksOf(t).find(remark), std::string::npos) << remark << RemarksOf(t);
  }
}

TEST(FioRefusalsTest, AnotherNameIsNamedAsItIsWritten) {
  EXPECT_EQ(ErrorsOf("[a]\nsize=1m\nss=iops:5%\n"),
            absl::StrCat("a.fio:3: ss=iops:5%: cannot be translated; a job would need ",
                         FindRule("steadystate")->text, "\n"));
}

TEST(FioRefusalsTest, AnUnknownOptionIsNamedWithItsLineAndWhatIsLikeIt) {
  EXPECT_EQ(ErrorsOf("[a]\nsize=1m\niodpeth=4\n"),
            "a.fio:3: iodpeth=4: is no option of fio; did you mean iodepth?\n");
  EXPECT_EQ(ErrorsOf("[a]\nsize=1m\nxyzzyxyzzy=4\n"),
            "a.fio:3: xyzzyxyzzy=4: is no option of fio, or one of an engine that Lockstep has "
            "not; fio's are in fio(1)\n");
}

TEST(FioRefusalsTest, ValuesThatAskForNothingAreFine) {
  for (const char* line : {"startdelay=0", "offset=0", "zonemode=none", "flow=0", "exitall=0",
                           "thinktime_spin=0", "atomic=0", "dedupe_mode=repeat"}) {
    EXPECT_EQ(ErrorsOf(absl::StrCat("[a]\nsize=1m\n", line, "\n")), "") << line;
  }
}

TEST(FioRefusalsTest, ValuesThatAJobCannotExpress) {
  for (const char* line : {"rw=read:-4k",
                           "rw=read:8k\nbsrange=4k-8k",
                           "rw=read:16m",
                           "rw=read:x",
                           "rw=randread:-8",
                           "rw=randread:8\nbssplit=4k/50:8k/50",
                           "rw=randread:8\npercentage_random=50",
                           "rw=randread:8\nrw_sequencer=bogus",
                           "rw=write:2k\nverify=crc32c",
                           "offset=10%",
                           "offset=-4k",
                           "offset=2\nbs=4k\ndirect=1",
                           "offset=2k\nverify=crc32c\nrw=write",
                           "filesize=16m\noffset=16m",
                           "rw=randrw\npercentage_random=10,50",
                           "rw=randrw\nba=4k,8k",
                           "filesize=4k-16m",
                           "filesize=4k-16m\nnrfiles=4\nio_size=1m",
                           "filesize=16m\noffset_increment=9m\nnumjobs=3\nfilename=/d/f",
                           "offset=900000t\noffset_increment=900000t\nnumjobs=900",
                           "directory=/a:/b\nnumjobs=2\noffset_increment=1m",
                           "ioengine=null\noffset=4k",
                           "dedupe_mode=bogus\nrw=write\ndedupe_percentage=10",
                           "rw=trimwrite",
                           "rw=bogus",
                           "ioengine=net",
                           "ioengine=posixaio",
                           "bs=100",
                           "bs=128m",
                           "bs=4k\ndirect=1\nbs=1000",
                           "size=50%",
                           "bssplit=4k/70:8k/70",
                           "verify=pattern",
                           "verify=bogus",
                           "rw=write\nfsync=1\nfdatasync=1",
                           "random_distribution=zipf:1.2:0.5\nrw=randread",
                           "rw=randread\nrandom_distribution=zipf:1",
                           "rw=randread\nrandom_distribution=zoned:60/10",
                           "file_service_type=zipf:1.2",
                           "nrfiles=4\nopenfiles=2",
                           "nrfiles=4\nfile_service_type=random:8",
                           "numjobs=0",
                           "numjobs=2000",
                           "iodepth=0",
                           "ioengine=mmap\ndirect=1",
                           "ramp_time=5",
                           "runtime=10us",
                           "runtime=-1",
                           "rate_process=bogus",
                           "exitall\nexit_what=bogus",
                           "prio=8",
                           "prioclass=4",
                           "startdelay=x",
                           "continue_on_error=read",
                           "filename=/d/{file}",
                           "directory=/d/{file}",
                           "filename=/d/../etc/x",
                           "directory=..",
                           "filename=-",
                           "cpus_allowed=x",
                           "mem=cudamalloc",
                           "numa_mem_policy=prefer:1",
                           "hipri",
                           "size=1000",
                           "filename_format=$jobname\nnrfiles=2",
                           "rw=write\nverify=crc32c\nzero_buffers",
                           "rw=write\nverify=crc32c\nbsrange=4k-8k",
                           "randseed=x",
                           "kb_base=7",
                           "sync=bogus\nrw=write"}) {
    const Translation t = TranslateFio(RequestOf(absl::StrCat("[a]\nsize=16m\n", line, "\n")));
    ASSERT_FALSE(t.errors.empty()) << line;
    EXPECT_GE(t.errors[0].where.line, 1) << line;
    EXPECT_FALSE(t.errors[0].where.option.empty()) << line;
  }
  EXPECT_NE(ErrorsOf("[a]\nrw=read\nfilename=/d/f\n").find("has no size"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nsize=1.5g\n").find("makes a file of 1 bytes"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]\nrw=write\nfill_fs=1\nfilename=/d/f\n").find("keeps a reserve"),
            std::string::npos);
}

TEST(FioRefusalsTest, AnEngineThatIsMissingIsTheOnlyErrorOfItsOptions) {
  EXPECT_EQ(ErrorsOf("[a]\nioengine=rbd\nrbdname=x\npool=y\nsize=1m\n"),
            "a.fio:2: ioengine=rbd: cannot be translated; a job would need the engine 'rbd'\n");
}

TEST(FioRefusalsTest, ErrorsAreAtMostTwentyAndInTheOrderOfLines) {
  std::string text = "[a]\nsize=1m\n";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "zz", 50 - i, "=1\n");
  const Translation t = TranslateFio(RequestOf(text));
  ASSERT_EQ(t.errors.size(), kMaxErrors);
  for (size_t i = 1; i < t.errors.size(); ++i) {
    EXPECT_LT(t.errors[i - 1].where.line, t.errors[i].where.line);
  }
}

constexpr char kMixed[] = R"([global]
ioengine=libaio
direct=1
iodepth=32
runtime=60
time_based
size=1g
directory=/mnt/test
[mixed]
rw=randrw
rwmixread=70
bssplit=4k/60:64k/40
numjobs=4
[log]
stonewall
rw=write
bs=8k,16k
fsync=1
nrfiles=4
verify=crc32c
[zipf]
stonewall
filename=/mnt/test/{host}/a:/mnt/test/{host}/b
rw=randread
rate_iops=1000
random_distribution=zoned:60/10:30/20:10/70
thinktime=1ms
cpus_allowed=0-3
wait_for=log
)";

std::string Mutated(std::mt19937* random) {
  static const std::vector<std::string> kLines = absl::StrSplit(kMixed, '\n');
  static const char* const kPieces[] = {"=",  "\n", ",",  ":",  "/", "-1", "0",    "99999999999",
                                        "k",  "%",  "[",  "]",  "(", ")",  "${X}", "$ncpus",
                                        "\\", "{",  "\"", "\t", ";", "#",  "g",    "\xff"};
  std::string text = kMixed;
  for (uint32_t changes = 1 + (*random)() % 5; changes > 0; --changes) {
    const size_t at = (*random)() % text.size();
    switch ((*random)() % 5) {
      case 0:
        text[at] = static_cast<char>((*random)() % 256);
        break;
      case 1:
        text.erase(at, 1 + (*random)() % 12);
        break;
      case 2:
        text.insert(at, kPieces[(*random)() % std::size(kPieces)]);
        break;
      case 3:
        text.insert(text.rfind('\n', at) + 1, kLines[(*random)() % kLines.size()] + "\n");
        break;
      default:
        text.insert(
            text.rfind('\n', at) + 1,
            absl::StrCat(kOptions[(*random)() % std::size(kOptions)], "=", (*random)() % 3, "\n"));
    }
    if (text.empty()) text = "[";
  }
  return text;
}

TEST(FioRefusalsTest, TheFileBeforeItsMutationsCanBePlanned) {
  EXPECT_EQ(RunsOf(JobOf(kMixed)).size(), 3u);
}

TEST(FioRefusalsTest, AMutatedFileIsRefusedByLineOrCanBePlanned) {
  std::mt19937 random(1);
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 100000 : 1000;
  int translated = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = Mutated(&random);
    Request request = RequestOf(text);
    request.hosts = i % 2 == 0 ? "1" : "3";
    const Translation t = TranslateFio(request);
    for (const Message& error : t.errors) EXPECT_GE(error.where.line, 1) << text;
    if (!t.errors.empty()) continue;
    ++translated;
    const v1::JobSpec job = Settled(t);
    for (const v1::Target& target : job.targets()) {
      const std::string& path = target.file().path();
      if (!target.has_file()) continue;
      EXPECT_TRUE(path[0] == '/' && (path + "/").find("/../") == std::string::npos) << text;
      EXPECT_TRUE(i % 2 == 0 || path.find("{host}") != std::string::npos) << text;
    }
    if (HasFailure()) FAIL() << "the file was\n" << text;
  }
  EXPECT_GE(translated, rounds / 10);
}

// 1,500 lines: work that grows with their number alone. It takes some 10 ms.
TEST(FioRefusalsTest, ALongFileBecomesAJob) {
  std::string text = "[global]\nsize=1m\nstonewall\ndirectory=/d\n";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&text, "[j", i, "]\nrw=randread\nbs=8k\nioengine=libaio\niodepth=4\n");
  }
  // Its files are beyond the 256 targets of a job, so all jobs have one.
  absl::StrAppend(&text, "\n");
  Request request = RequestOf("[global]\nfilename=/d/f\n" + text);
  EXPECT_EQ(RunsOf(JobOf(request)).size(), 300u);
}

}  // namespace
}  // namespace lockstep::frontends::fio
