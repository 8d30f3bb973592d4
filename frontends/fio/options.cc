#include "frontends/fio/options.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace lockstep::frontends::fio {
namespace {

constexpr char kFigures[] =
    "reports have every figure of each workload, host and thread; lockstep export gives more";
constexpr char kHistory[] = "the store keeps every interval of each host; see lockstep export";
constexpr char kAccounting[] = "the worker's own measurement is used";
constexpr char kLayout[] = "the prepare phase lays out the files";
constexpr char kAllocation[] =
    "the prepare phase allocates files that are only written, and no write makes one longer";
constexpr char kZones[] = "zones of zoned devices";
constexpr char kSearch[] = "a search for the load that keeps a latency";
constexpr char kReplay[] = "the replay of a recorded trace";
constexpr char kTrimCheck[] = "trims while data is verified";
constexpr char kBackground[] = "checks of blocks while others are still written";
constexpr char kCommands[] = "commands on the hosts, which a job never runs";
constexpr char kSteady[] = "fio's criterion for a steady state; a job has until_steady";
constexpr char kReadBack[] =
    "a verify phase reads in random order after random writes that visit each block once, "
    "otherwise from start to end";
constexpr char kHarness[] = "the worker decides how it does this";

constexpr Rule kRules[] = {
    // The load itself.
    {"rw", Fate::kTranslated, ""},
    {"bs", Fate::kTranslated, ""},
    {"ba", Fate::kTranslated, ""},
    {"bsrange", Fate::kTranslated, ""},
    {"bssplit", Fate::kTranslated, ""},
    {"rwmixread", Fate::kTranslated, ""},
    {"rwmixwrite", Fate::kTranslated, ""},
    {"percentage_random", Fate::kTranslated, ""},
    {"rw_sequencer", Fate::kTranslated, ""},
    {"random_distribution", Fate::kTranslated, ""},
    {"norandommap", Fate::kTranslated, ""},
    {"randrepeat", Fate::kTranslated, ""},
    {"allrandrepeat", Fate::kTranslated, ""},
    {"randseed", Fate::kTranslated, ""},
    {"ioengine", Fate::kTranslated, ""},
    {"iodepth", Fate::kTranslated, ""},
    {"iodepth_batch", Fate::kTranslated, ""},
    {"iodepth_batch_complete_min", Fate::kTranslated, ""},
    {"direct", Fate::kTranslated, ""},
    {"buffered", Fate::kTranslated, ""},
    {"numjobs", Fate::kTranslated, ""},
    {"loops", Fate::kTranslated, ""},
    {"number_ios", Fate::kTranslated, ""},
    {"io_size", Fate::kTranslated, ""},
    {"fsync", Fate::kTranslated, ""},
    {"fdatasync", Fate::kTranslated, ""},
    {"sync_file_range", Fate::kTranslated, ""},
    {"end_fsync", Fate::kTranslated, ""},
    {"fsync_on_close", Fate::kTranslated, ""},
    {"sync", Fate::kTranslated, ""},
    {"rate", Fate::kTranslated, ""},
    {"rate_iops", Fate::kTranslated, ""},
    {"rate_process", Fate::kTranslated, ""},
    {"io_submit_mode", Fate::kTranslated, ""},
    {"rate_min", Fate::kTranslated, ""},
    {"rate_iops_min", Fate::kTranslated, ""},
    {"rate_cycle", Fate::kTranslated, ""},
    {"prio", Fate::kTranslated, ""},
    {"prioclass", Fate::kTranslated, ""},
    {"cmdprio_percentage", Fate::kTranslated, ""},
    {"cmdprio_bssplit", Fate::kTranslated, ""},
    {"cmdprio_class", Fate::kTranslated, ""},
    {"cmdprio", Fate::kTranslated, ""},
    {"thinktime", Fate::kTranslated, ""},
    {"flow", Fate::kTranslated, ""},
    {"flow_id", Fate::kTranslated, ""},
    {"thinktime_blocks", Fate::kTranslated, ""},
    {"verify", Fate::kTranslated, ""},
    {"do_verify", Fate::kTranslated, ""},
    {"zero_buffers", Fate::kTranslated, ""},
    {"refill_buffers", Fate::kTranslated, ""},
    {"buffer_compress_percentage", Fate::kTranslated, ""},
    {"dedupe_percentage", Fate::kTranslated, ""},
    {"dedupe_mode", Fate::kTranslated, ""},
    {"dedupe_working_set_percentage", Fate::kTranslated, ""},
    {"dedupe_global", Fate::kTranslated, ""},
    {"continue_on_error", Fate::kTranslated, ""},
    {"cpus_allowed", Fate::kTranslated, ""},
    {"numa_mem_policy", Fate::kTranslated, ""},
    {"numa_cpu_nodes", Fate::kTranslated, ""},
    {"mem", Fate::kTranslated, ""},
    {"hipri", Fate::kTranslated, ""},
    {"sqthread_poll", Fate::kTranslated, ""},
    {"fixedbufs", Fate::kTranslated, ""},
    {"registerfiles", Fate::kTranslated, ""},
    {"invalidate", Fate::kTranslated, ""},
    {"ioscheduler", Fate::kTranslated, ""},
    // Files.
    {"filename", Fate::kTranslated, ""},
    {"directory", Fate::kTranslated, ""},
    {"filename_format", Fate::kTranslated, ""},
    {"nrfiles", Fate::kTranslated, ""},
    {"openfiles", Fate::kTranslated, ""},
    {"file_service_type", Fate::kTranslated, ""},
    {"size", Fate::kTranslated, ""},
    {"filesize", Fate::kTranslated, ""},
    {"offset", Fate::kTranslated, ""},
    {"offset_increment", Fate::kTranslated, ""},
    {"fill_device", Fate::kTranslated, ""},
    {"zonemode", Fate::kTranslated, ""},
    {"zonesize", Fate::kTranslated, ""},
    {"zonerange", Fate::kTranslated, ""},
    {"zoneskip", Fate::kTranslated, ""},
    {"unlink", Fate::kTranslated, ""},
    {"overwrite", Fate::kTranslated, ""},
    // Their order.
    {"name", Fate::kTranslated, ""},
    {"description", Fate::kTranslated, ""},
    {"startdelay", Fate::kTranslated, ""},
    {"runtime", Fate::kTranslated, ""},
    {"exitall", Fate::kTranslated, ""},
    {"exit_what", Fate::kTranslated, ""},
    {"ramp_time", Fate::kTranslated, ""},
    {"time_based", Fate::kTranslated, ""},
    {"stonewall", Fate::kTranslated, ""},
    {"wait_for", Fate::kTranslated, ""},
    {"kb_base", Fate::kTranslated, ""},
    {"new_group", Fate::kTranslated, ""},
    {"group_reporting", Fate::kRemarked, "the report has the sums of each workload"},
    // Output, and how fio measures.
    {"thread", Fate::kRemarked, "clones are threads of the worker"},
    {"gtod_reduce", Fate::kRemarked, kAccounting},
    {"gtod_cpu", Fate::kRemarked, kAccounting},
    {"clocksource", Fate::kRemarked, kAccounting},
    {"disable_lat", Fate::kRemarked, kAccounting},
    {"disable_clat", Fate::kRemarked, kAccounting},
    {"disable_slat", Fate::kRemarked, kAccounting},
    {"disable_bw_measurement", Fate::kRemarked, kAccounting},
    {"clat_percentiles", Fate::kRemarked, kFigures},
    {"lat_percentiles", Fate::kRemarked, kFigures},
    {"slat_percentiles", Fate::kRemarked, kFigures},
    {"percentile_list", Fate::kRemarked, kFigures},
    {"significant_figures", Fate::kRemarked, kFigures},
    {"unified_rw_reporting", Fate::kRemarked, kFigures},
    {"disk_util", Fate::kRemarked, kFigures},
    {"stats", Fate::kRemarked, kFigures},
    {"block_error_percentiles", Fate::kRemarked, kFigures},
    {"write_bw_log", Fate::kRemarked, kHistory},
    {"write_lat_log", Fate::kRemarked, kHistory},
    {"write_iops_log", Fate::kRemarked, kHistory},
    {"write_hist_log", Fate::kRemarked, kHistory},
    {"bwavgtime", Fate::kRemarked, kHistory},
    {"iopsavgtime", Fate::kRemarked, kHistory},
    {"log_entries", Fate::kRemarked, kHistory},
    {"log_avg_msec", Fate::kRemarked, kHistory},
    {"log_hist_msec", Fate::kRemarked, kHistory},
    {"log_hist_coarseness", Fate::kRemarked, kHistory},
    {"log_max_value", Fate::kRemarked, kHistory},
    {"log_prio", Fate::kRemarked, kHistory},
    {"log_compression", Fate::kRemarked, kHistory},
    {"log_compression_cpus", Fate::kRemarked, kHistory},
    {"log_store_compressed", Fate::kRemarked, kHistory},
    {"log_unix_epoch", Fate::kRemarked, kHistory},
    {"log_alternate_epoch", Fate::kRemarked, kHistory},
    {"log_alternate_epoch_clock_id", Fate::kRemarked, kHistory},
    {"per_job_logs", Fate::kRemarked, kHistory},
    {"log_offset", Fate::kRemarked, "figures are of intervals; single I/Os have no place in them",
     "0"},
    {"error_dump", Fate::kRemarked, "the first failed I/O of each thread is an event"},
    {"unit_base", Fate::kRemarked, "reports have MiB/s and MB/s"},
    {"verify_dump", Fate::kRemarked, "blocks that are wrong are always saved"},
    {"verify_fatal", Fate::kRemarked, "every wrong block is counted, and the run fails"},
    {"verify_async", Fate::kRemarked, "the thread that reads a block checks it"},
    {"verify_async_cpus", Fate::kRemarked, "the thread that reads a block checks it"},
    {"verifysort", Fate::kRemarked, kReadBack},
    {"verifysort_nr", Fate::kRemarked, kReadBack},
    {"experimental_verify", Fate::kRemarked, "the store knows which blocks were written"},
    {"verify_state_save", Fate::kRemarked, "the store knows which blocks were written"},
    // Lockstep reaches the same effect in another way.
    {"fallocate", Fate::kRemarked, kAllocation},
    {"create_serialize", Fate::kRemarked, kLayout},
    {"create_fsync", Fate::kRemarked, kLayout},
    {"create_on_open", Fate::kRemarked, kLayout},
    {"allow_file_create", Fate::kRemarked, kLayout},
    {"unique_filename", Fate::kRemarked, "{host} in a path makes it a host's own"},
    {"lockfile", Fate::kRefused, "locks on files", "none"},
    {"allow_mounted_write", Fate::kRemarked,
     "a file gives no consent: the worker and the person who runs the job do"},
    {"softrandommap", Fate::kRemarked, "the order needs no memory that could be missing"},
    {"random_generator", Fate::kRemarked, "the order has Lockstep's own generator"},
    {"scramble_buffers", Fate::kRemarked, "every block that is written differs"},
    {"iodepth_batch_complete_max", Fate::kRemarked, kHarness},
    {"nonvectored", Fate::kRemarked, kHarness},
    {"userspace_reap", Fate::kRemarked, kHarness},
    {"lockmem", Fate::kRemarked, kHarness},
    {"hugepage-size", Fate::kRemarked, kHarness},
    {"iomem_align", Fate::kRemarked, kHarness},
    {"cpus_allowed_policy", Fate::kRemarked, "threads run on the processors in turn (split)"},
    {"rate_ignore_thinktime", Fate::kRemarked, "a rate limit counts pauses as time"},
    {"thinktime_blocks_type", Fate::kRemarked, "I/Os are counted as they complete"},
    {"fadvise_hint", Fate::kRemarked, "the kernel gets no hints"},
    {"max_latency", Fate::kRefused, "a limit of the latency of one I/O; abort_if has one of p99",
     "0"},
    {"bs_unaligned", Fate::kRefused, "block sizes of any number of bytes", "0"},
    {"bs_is_seq_rand", Fate::kRefused, "block sizes by the order of I/Os", "0"},
    // Missing capabilities.
    {"offset_align", Fate::kRefused, "an alignment of an offset that is a percentage", "0"},
    {"file_append", Fate::kRefused, "files that grow behind their end", "0"},
    {"ignore_error", Fate::kRefused, "errors that are tolerated by their number"},
    {"opendir", Fate::kRefused, "targets that are found on the hosts"},
    {"filetype", Fate::kRefused, "targets of a type that their path does not tell"},
    {"latency_target", Fate::kRefused, kSearch, "0"},
    {"latency_window", Fate::kRefused, kSearch, "0"},
    {"latency_percentile", Fate::kRefused, kSearch, "100,100.0"},
    {"latency_run", Fate::kRefused, kSearch, "0"},
    {"flow_sleep", Fate::kRemarked, "a workload looks every 20 us whether it may go on"},
    {"exitall_on_error", Fate::kRefused, "workloads that end with the first that fails", "0"},
    {"steadystate", Fate::kRefused, kSteady},
    {"steadystate_duration", Fate::kRefused, kSteady, "0"},
    {"steadystate_ramp_time", Fate::kRefused, kSteady, "0"},
    {"zonecapacity", Fate::kRefused, kZones, "0"},
    {"read_beyond_wp", Fate::kRefused, kZones, "0"},
    {"max_open_zones", Fate::kRefused, kZones, "0"},
    {"job_max_open_zones", Fate::kRefused, kZones, "0"},
    {"ignore_zone_limits", Fate::kRefused, kZones, "0"},
    {"zone_reset_threshold", Fate::kRefused, kZones, "0"},
    {"zone_reset_frequency", Fate::kRefused, kZones, "0"},
    {"nice", Fate::kRefused, "a priority of processes", "0"},
    {"cmdprio_hint", Fate::kRefused, "hints beside a priority"},
    {"read_iolog", Fate::kRefused, kReplay},
    {"read_iolog_chunked", Fate::kRefused, kReplay},
    {"replay_no_stall", Fate::kRefused, kReplay},
    {"replay_redirect", Fate::kRefused, kReplay},
    {"replay_scale", Fate::kRefused, kReplay},
    {"replay_align", Fate::kRefused, kReplay},
    {"replay_time_scale", Fate::kRefused, kReplay},
    {"replay_skip", Fate::kRefused, kReplay},
    {"merge_blktrace_file", Fate::kRefused, kReplay},
    {"merge_blktrace_scalars", Fate::kRefused, kReplay},
    {"merge_blktrace_iters", Fate::kRefused, kReplay},
    {"write_iolog", Fate::kRefused, "a record of every I/O"},
    {"trim_percentage", Fate::kRefused, kTrimCheck, "0"},
    {"trim_verify_zero", Fate::kRefused, kTrimCheck, "0"},
    {"trim_backlog", Fate::kRefused, kTrimCheck, "0"},
    {"trim_backlog_batch", Fate::kRefused, kTrimCheck, "0"},
    {"verify_backlog", Fate::kRefused, kBackground, "0"},
    {"verify_backlog_batch", Fate::kRefused, kBackground, "0"},
    {"verify_interval", Fate::kRefused, "checksums of parts of a block", "0"},
    {"verify_offset", Fate::kRefused, "block headers elsewhere than at the start", "0"},
    {"verify_pattern", Fate::kRefused, "a pattern as the content of blocks"},
    {"verify_only", Fate::kRefused, "checks of what fio has written", "0"},
    {"verify_state_load", Fate::kRefused, "the state that fio has saved", "0"},
    {"buffer_pattern", Fate::kRefused, "a pattern as the content of blocks"},
    {"buffer_compress_chunk", Fate::kRefused, "the size of parts that compress", "0,512"},
    {"exec_prerun", Fate::kRefused, kCommands},
    {"exec_postrun", Fate::kRefused, kCommands},
    {"atomic", Fate::kRefused, "atomic writes", "0"},
    {"write_barrier", Fate::kRefused, "barriers between writes", "0"},
    {"write_hint", Fate::kRefused, "hints on the lifetime of data", "none"},
    {"pre_read", Fate::kRefused, "a phase that reads the files beforehand", "0"},
    {"create_only", Fate::kRefused, "a job that only lays out files; keep its prepare phase", "0"},
    {"unlink_each_loop", Fate::kRefused, "new files for each pass", "0"},
    {"thinktime_spin", Fate::kRefused, "pauses that use the processor", "0"},
    {"thinktime_iotime", Fate::kRefused, "pauses after a while of I/O", "0"},
    {"iodepth_low", Fate::kRefused, "a depth that is filled again from below", "0"},
    {"serialize_overlap", Fate::kRefused, "an order of I/Os that overlap", "0"},
    {"cpumask", Fate::kRefused, "processors as a mask; write cpus_allowed"},
    {"sqthread_poll_cpu", Fate::kRefused, "the processor of the thread that submits"},
    {"uncached", Fate::kRefused, "uncached buffered I/O", "0"},
    {"nowait", Fate::kRefused, "I/Os that fail in place of waiting (RWF_NOWAIT)", "0"},
    {"force_async", Fate::kRefused, "I/Os that are made asynchronous", "0"},
    {"profile", Fate::kRefused, "the built-in profiles of fio"},
    {"cgroup", Fate::kRefused, "control groups"},
    {"cgroup_weight", Fate::kRefused, "control groups", "0"},
    {"cgroup_nodelete", Fate::kRefused, "control groups", "0"},
    {"hipri_percentage", Fate::kRefused, "a share of I/Os whose completion is polled", "100"},
    {"thp", Fate::kRefused, "huge pages of a mapped file", "0"},
    {"cmd_type", Fate::kRefused, "commands of a device in place of reads and writes"},
    {"initiator", Fate::kRefused, "a name of the initiator for each job"},
    {"uid", Fate::kRefused, "another user for the I/O"},
    {"gid", Fate::kRefused, "another group for the I/O"},
};

struct Alias {
  const char* alias;
  const char* name;
};
constexpr Alias kAliases[] = {
    {"readwrite", "rw"},
    {"blocksize", "bs"},
    {"blockalign", "ba"},
    {"blocksize_range", "bsrange"},
    {"blocksize_unaligned", "bs_unaligned"},
    {"iodepth_batch_submit", "iodepth_batch"},
    {"iodepth_batch_complete", "iodepth_batch_complete_min"},
    {"io_limit", "io_size"},
    {"fill_fs", "fill_device"},
    {"fileoffset", "offset"},
    {"nr_files", "nrfiles"},
    {"timeout", "runtime"},
    {"iomem", "mem"},
    {"ratemin", "rate_min"},
    {"ratecycle", "rate_cycle"},
    {"wait_for_previous", "stonewall"},
    {"disable_bw", "disable_bw_measurement"},
    {"ss", "steadystate"},
    {"ss_dur", "steadystate_duration"},
    {"ss_ramp", "steadystate_ramp_time"},
};

}  // namespace

absl::Span<const Rule> AllRules() { return kRules; }

const Rule* FindRule(absl::string_view name) {
  static const auto* const kByName = [] {
    auto* const by_name = new absl::flat_hash_map<absl::string_view, const Rule*>();
    for (const Rule& rule : kRules) by_name->emplace(rule.name, &rule);
    return by_name;
  }();
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

std::string NearestOption(absl::string_view name) {
  // Two letters that are swapped are two changes.
  size_t least = std::min<size_t>(3, 1 + name.size() / 3);
  const std::string wanted(name);
  std::string nearest;
  const auto compare = [&](const char* known) {
    const size_t distance = common::EditDistance(wanted, known);
    if (distance >= least) return;
    least = distance;
    nearest = known;
  };
  for (const Rule& rule : kRules) compare(rule.name);
  for (const Alias& alias : kAliases) compare(alias.alias);
  return nearest;
}

std::string CanonicalName(absl::string_view name) {
  for (const Alias& alias : kAliases) {
    if (name == alias.alias) return alias.name;
  }
  return std::string(name);
}

bool IsIdle(const Rule& rule, absl::string_view value) {
  for (const absl::string_view idle : absl::StrSplit(rule.idle, ',', absl::SkipEmpty())) {
    if (value == idle) return true;
  }
  return false;
}

}  // namespace lockstep::frontends::fio
