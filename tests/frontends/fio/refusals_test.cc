// Every option that a job cannot express is refused by its name and line.

#include <cstdlib>
#include <random>

#include "absl/strings/str_split.h"
#include "frontends/fio/options.h"
#include "tests/frontends/fio/translated.h"

namespace lockstep::frontends::fio {
namespace {

// fio's options as `fio --cmdhelp=all` of 3.33 lists them.
constexpr const char* kOptions[] = {"description",
                                    "name",
                                    "wait_for",
                                    "filename",
                                    "lockfile",
                                    "directory",
                                    "filename_format",
                                    "unique_filename",
                                    "opendir",
                                    "rw",
                                    "bs",
                                    "ba",
                                    "bsrange",
                                    "bssplit",
                                    "bs_unaligned",
                                    "randrepeat",
                                    "randseed",
                                    "norandommap",
                                    "ignore_error",
                                    "rw_sequencer",
                                    "ioengine",
                                    "iodepth",
                                    "iodepth_batch",
                                    "iodepth_batch_complete_min",
                                    "iodepth_batch_complete_max",
                                    "iodepth_low",
                                    "serialize_overlap",
                                    "io_submit_mode",
                                    "size",
                                    "io_size",
                                    "fill_device",
                                    "filesize",
                                    "file_append",
                                    "offset",
                                    "offset_increment",
                                    "offset_align",
                                    "number_ios",
                                    "random_generator",
                                    "random_distribution",
                                    "percentage_random",
                                    "allrandrepeat",
                                    "nrfiles",
                                    "file_service_type",
                                    "openfiles",
                                    "fallocate",
                                    "fadvise_hint",
                                    "fsync",
                                    "fdatasync",
                                    "write_barrier",
                                    "sync_file_range",
                                    "direct",
                                    "atomic",
                                    "buffered",
                                    "overwrite",
                                    "loops",
                                    "numjobs",
                                    "startdelay",
                                    "runtime",
                                    "time_based",
                                    "verify_only",
                                    "ramp_time",
                                    "clocksource",
                                    "mem",
                                    "verify",
                                    "do_verify",
                                    "verify_interval",
                                    "verify_offset",
                                    "verify_pattern",
                                    "verify_fatal",
                                    "verify_dump",
                                    "verify_async",
                                    "verify_backlog",
                                    "verify_backlog_batch",
                                    "experimental_verify",
                                    "verify_state_load",
                                    "verify_state_save",
                                    "trim_percentage",
                                    "trim_verify_zero",
                                    "trim_backlog",
                                    "trim_backlog_batch",
                                    "write_iolog",
                                    "read_iolog",
                                    "read_iolog_chunked",
                                    "replay_no_stall",
                                    "replay_redirect",
                                    "replay_scale",
                                    "replay_align",
                                    "replay_time_scale",
                                    "replay_skip",
                                    "merge_blktrace_file",
                                    "merge_blktrace_scalars",
                                    "merge_blktrace_iters",
                                    "exec_prerun",
                                    "exec_postrun",
                                    "ioscheduler",
                                    "zonemode",
                                    "zonesize",
                                    "zonecapacity",
                                    "zonerange",
                                    "zoneskip",
                                    "read_beyond_wp",
                                    "max_open_zones",
                                    "job_max_open_zones",
                                    "ignore_zone_limits",
                                    "zone_reset_threshold",
                                    "zone_reset_frequency",
                                    "lockmem",
                                    "rwmixread",
                                    "rwmixwrite",
                                    "nice",
                                    "prio",
                                    "prioclass",
                                    "thinktime",
                                    "thinktime_spin",
                                    "thinktime_blocks",
                                    "thinktime_blocks_type",
                                    "thinktime_iotime",
                                    "rate",
                                    "rate_min",
                                    "rate_process",
                                    "rate_cycle",
                                    "rate_ignore_thinktime",
                                    "rate_iops",
                                    "rate_iops_min",
                                    "max_latency",
                                    "latency_target",
                                    "latency_window",
                                    "latency_percentile",
                                    "latency_run",
                                    "invalidate",
                                    "sync",
                                    "write_hint",
                                    "create_serialize",
                                    "create_fsync",
                                    "create_on_open",
                                    "create_only",
                                    "allow_file_create",
                                    "allow_mounted_write",
                                    "pre_read",
                                    "cpumask",
                                    "cpus_allowed",
                                    "cpus_allowed_policy",
                                    "numa_cpu_nodes",
                                    "numa_mem_policy",
                                    "end_fsync",
                                    "fsync_on_close",
                                    "unlink",
                                    "unlink_each_loop",
                                    "exitall",
                                    "exit_what",
                                    "exitall_on_error",
                                    "stonewall",
                                    "new_group",
                                    "thread",
                                    "per_job_logs",
                                    "write_bw_log",
                                    "bwavgtime",
                                    "write_lat_log",
                                    "write_iops_log",
                                    "iopsavgtime",
                                    "log_entries",
                                    "log_avg_msec",
                                    "log_hist_msec",
                                    "log_hist_coarseness",
                                    "write_hist_log",
                                    "log_max_value",
                                    "log_offset",
                                    "log_prio",
                                    "log_compression",
                                    "log_compression_cpus",
                                    "log_store_compressed",
                                    "log_unix_epoch",
                                    "log_alternate_epoch",
                                    "log_alternate_epoch_clock_id",
                                    "block_error_percentiles",
                                    "group_reporting",
                                    "stats",
                                    "zero_buffers",
                                    "refill_buffers",
                                    "scramble_buffers",
                                    "buffer_pattern",
                                    "buffer_compress_percentage",
                                    "buffer_compress_chunk",
                                    "dedupe_percentage",
                                    "dedupe_mode",
                                    "dedupe_working_set_percentage",
                                    "dedupe_global",
                                    "clat_percentiles",
                                    "lat_percentiles",
                                    "slat_percentiles",
                                    "percentile_list",
                                    "significant_figures",
                                    "disk_util",
                                    "gtod_reduce",
                                    "disable_lat",
                                    "disable_clat",
                                    "disable_slat",
                                    "disable_bw_measurement",
                                    "gtod_cpu",
                                    "unified_rw_reporting",
                                    "continue_on_error",
                                    "error_dump",
                                    "profile",
                                    "cgroup",
                                    "cgroup_nodelete",
                                    "cgroup_weight",
                                    "uid",
                                    "gid",
                                    "kb_base",
                                    "unit_base",
                                    "hugepage-size",
                                    "flow_id",
                                    "flow",
                                    "flow_sleep",
                                    "steadystate",
                                    "steadystate_duration",
                                    "steadystate_ramp_time"};

TEST(FioRefusalsTest, EveryOptionOfFioHasARule) {
  for (const char* name : kOptions) EXPECT_NE(FindRule(name), nullptr) << name;
}

TEST(FioRefusalsTest, EachRefusedOptionIsNamedWithItsLineAndItsNeed) {
  int refused = 0;
  for (const char* name : kOptions) {
    const OptionRule* rule = FindRule(name);
    if (rule == nullptr || rule->fate != Fate::kRefused) continue;
    ++refused;
    const std::string line = absl::StrCat(name, "=7");
    EXPECT_EQ(ErrorsOf("[a]\nsize=1m\n" + line + "\n"),
              absl::StrCat("a.fio:3: ", line, ": cannot be translated; a job would need ",
                           rule->text, "\n"));
  }
  EXPECT_GE(refused, 65);
}

TEST(FioRefusalsTest, EachRemarkedOptionIsNamedWithItsLine) {
  for (const char* name : kOptions) {
    const OptionRule* rule = FindRule(name);
    if (rule == nullptr || rule->fate != Fate::kRemarked) continue;
    const Translation t = TranslateFio(RequestOf(absl::StrCat("[a]\nsize=1m\n", name, "=1\n")));
    EXPECT_EQ(ErrorsOf(t), "");
    EXPECT_NE(RemarksOf(t).find(absl::StrCat("a.fio:3: ", name, "=1: left out")), std::string::npos)
        << RemarksOf(t);
  }
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
