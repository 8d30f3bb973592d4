#pragma once

namespace lockstep::frontends::fio {

// fio's options as `fio --cmdhelp=all` of 3.33 lists them. The test of the programs
// (test_frontend_options.py) asks the fio that is installed.
// clang-format off
inline constexpr const char* kOptions[] = {
    "description", "name", "wait_for", "filename", "lockfile", "directory", "filename_format",
    "unique_filename", "opendir", "rw", "bs", "ba", "bsrange", "bssplit", "bs_unaligned",
    "randrepeat", "randseed", "norandommap", "ignore_error", "rw_sequencer", "ioengine", "iodepth",
    "iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low",
    "serialize_overlap", "io_submit_mode", "size", "io_size", "fill_device", "filesize",
    "file_append", "offset", "offset_increment", "offset_align", "number_ios", "random_generator",
    "random_distribution", "percentage_random", "allrandrepeat", "nrfiles", "file_service_type",
    "openfiles", "fallocate", "fadvise_hint", "fsync", "fdatasync", "write_barrier",
    "sync_file_range", "direct", "atomic", "buffered", "overwrite", "loops", "numjobs",
    "startdelay", "runtime", "time_based", "verify_only", "ramp_time", "clocksource", "mem",
    "verify", "do_verify", "verify_interval", "verify_offset", "verify_pattern", "verify_fatal",
    "verify_dump", "verify_async", "verify_backlog", "verify_backlog_batch", "experimental_verify",
    "verify_state_load", "verify_state_save", "trim_percentage", "trim_verify_zero", "trim_backlog",
    "trim_backlog_batch", "write_iolog", "read_iolog", "read_iolog_chunked", "replay_no_stall",
    "replay_redirect", "replay_scale", "replay_align", "replay_time_scale", "replay_skip",
    "merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters", "exec_prerun",
    "exec_postrun", "ioscheduler", "zonemode", "zonesize", "zonecapacity", "zonerange", "zoneskip",
    "read_beyond_wp", "max_open_zones", "job_max_open_zones", "ignore_zone_limits",
    "zone_reset_threshold", "zone_reset_frequency", "lockmem", "rwmixread", "rwmixwrite", "nice",
    "prio", "prioclass", "thinktime", "thinktime_spin", "thinktime_blocks", "thinktime_blocks_type",
    "thinktime_iotime", "rate", "rate_min", "rate_process", "rate_cycle", "rate_ignore_thinktime",
    "rate_iops", "rate_iops_min", "max_latency", "latency_target", "latency_window",
    "latency_percentile", "latency_run", "invalidate", "sync", "write_hint", "create_serialize",
    "create_fsync", "create_on_open", "create_only", "allow_file_create", "allow_mounted_write",
    "pre_read", "cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes",
    "numa_mem_policy", "end_fsync", "fsync_on_close", "unlink", "unlink_each_loop", "exitall",
    "exit_what", "exitall_on_error", "stonewall", "new_group", "thread", "per_job_logs",
    "write_bw_log", "bwavgtime", "write_lat_log", "write_iops_log", "iopsavgtime", "log_entries",
    "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "write_hist_log", "log_max_value",
    "log_offset", "log_prio", "log_compression", "log_compression_cpus", "log_store_compressed",
    "log_unix_epoch", "log_alternate_epoch", "log_alternate_epoch_clock_id",
    "block_error_percentiles", "group_reporting", "stats", "zero_buffers", "refill_buffers",
    "scramble_buffers", "buffer_pattern", "buffer_compress_percentage", "buffer_compress_chunk",
    "dedupe_percentage", "dedupe_mode", "dedupe_working_set_percentage", "dedupe_global",
    "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list",
    "significant_figures", "disk_util", "gtod_reduce", "disable_lat", "disable_clat",
    "disable_slat", "disable_bw_measurement", "gtod_cpu", "unified_rw_reporting",
    "continue_on_error", "error_dump", "profile", "cgroup", "cgroup_nodelete", "cgroup_weight",
    "uid", "gid", "kb_base", "unit_base", "hugepage-size", "flow_id", "flow", "flow_sleep",
    "steadystate", "steadystate_duration", "steadystate_ramp_time"};
// clang-format on

}  // namespace lockstep::frontends::fio
