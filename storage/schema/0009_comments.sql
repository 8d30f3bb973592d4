-- What everything is, for \d+ and for tools that read comments.

COMMENT ON SCHEMA lockstep IS
    'Lockstep''s results; docs/sql.md and docs/sql-cookbook.md say how to ask';
COMMENT ON TYPE histogram IS
    'Counts by bucket as one number, the sum of count * 10^(16 * bucket): numbers add up bucket '
    'by bucket';
COMMENT ON TABLE controller_epoch IS 'The active controller';
COMMENT ON TABLE controller_lock IS 'What the active controller locks';
COMMENT ON TABLE schema_migrations IS 'Migrations that were run';
COMMENT ON TABLE hosts IS 'Machines';
COMMENT ON TABLE workers IS 'Workers that ever attached';
COMMENT ON TABLE devices IS 'Block devices as hosts registered them';
COMMENT ON TABLE runs IS 'Runs and their jobs';
COMMENT ON TABLE run_workers IS 'Who took part in a run';
COMMENT ON TABLE run_targets IS 'Each worker''s targets, and what lies underneath';
COMMENT ON TABLE environment_facts IS 'Facts about the hosts of a run';
COMMENT ON TABLE events IS 'What happened to a run, or to the fleet';
COMMENT ON TABLE phases IS 'Attempts of phases';
COMMENT ON TABLE workloads IS 'Workloads of phases';
COMMENT ON TABLE cursors IS 'How far each worker''s delivery has been committed';
COMMENT ON TABLE interval_operations IS
    'What a worker did in an interval, by workload and kind; partitioned by month';
COMMENT ON TABLE device_samples IS '/proc/diskstats over an interval; partitioned by month';
COMMENT ON TABLE host_samples IS 'vmstat over an interval; partitioned by month';
COMMENT ON TABLE worker_results IS
    'Each worker''s result of a phase, without histograms and threads';
COMMENT ON TABLE thread_results IS 'What each thread did';
COMMENT ON TABLE phase_operations IS 'What a worker did in a phase, by workload, class and kind';
COMMENT ON TABLE latency_rollups IS 'Histograms of ten seconds over all workers';
COMMENT ON TABLE phase_figures IS
    'The report''s figures: of the fleet (worker_index NULL) and of each host, of a workload or '
    'of all (empty), of a kind or of all I/Os (total)';
COMMENT ON TABLE phase_verdicts IS 'The report''s verdicts on a phase';
COMMENT ON VIEW run_overview IS 'Runs';
COMMENT ON VIEW phase_overview IS 'Phases (the last attempt of each), and the verdicts on them';
COMMENT ON VIEW phase_summary IS
    'What each phase with load came to over the whole fleet: for trends';
COMMENT ON VIEW measured_seconds IS 'How long each worker measured';
COMMENT ON VIEW host_operations IS
    'What every host did, by workload and kind of operation, syncs too';
COMMENT ON VIEW host_throughput IS 'Throughput of every host, by workload and kind of I/O';
COMMENT ON VIEW phase_latency_all IS 'Latency of every kind and metric, merged over hosts';
COMMENT ON VIEW phase_latency IS 'Latency of I/Os, merged over hosts, as the report gives it';
COMMENT ON VIEW host_timeline_all IS
    'Throughput of every interval and host, ramp and drain included';
COMMENT ON VIEW host_timeline IS 'Throughput of every measured interval and host';
COMMENT ON VIEW interval_latency IS 'Latencies of every measured interval and host';
COMMENT ON VIEW rollup_latency IS 'Latencies of ten seconds of the whole fleet';
COMMENT ON VIEW phase_fairness IS 'Fairness over the hosts of each phase';
COMMENT ON VIEW device_statistics IS 'iostat -x over the measured time of a phase';
COMMENT ON VIEW thread_time IS 'Where the threads'' time went';
COMMENT ON VIEW verification IS 'What verification found';
COMMENT ON VIEW phase_attempts IS 'Every attempt of every phase';
COMMENT ON VIEW lost_workers IS 'Workers that were given up, and why';
COMMENT ON VIEW run_environment IS 'Facts about the hosts of a run';
COMMENT ON FUNCTION interface_version() IS 'Version of the views and functions';
COMMENT ON FUNCTION last_run() IS 'The run that was submitted last';
COMMENT ON FUNCTION class_name(integer) IS 'ramp, measured or drain';
COMMENT ON FUNCTION kind_name(integer) IS 'read, write, trim or fsync';
COMMENT ON FUNCTION metric_name(integer) IS 'service time, response time or submission latency';
COMMENT ON FUNCTION hist_from_buckets(integer[], bigint[]) IS
    'The histogram of these buckets and their counts';
COMMENT ON FUNCTION hist_decode(bytea) IS 'The histogram of an interval''s bytes';
COMMENT ON FUNCTION hist_count(numeric) IS 'How many values are in the histogram';
COMMENT ON FUNCTION hist_bucket(double precision) IS 'The bucket of a latency in nanoseconds';
COMMENT ON FUNCTION hist_low(integer) IS 'The smallest latency of a bucket, nanoseconds';
COMMENT ON FUNCTION hist_midpoint(integer) IS
    'What a bucket stands for: its midpoint, nanoseconds; within 0.8 % of every latency in it';
COMMENT ON FUNCTION hist_fields(numeric) IS 'Occupied buckets and their counts';
COMMENT ON FUNCTION hist_buckets(numeric) IS
    'Occupied buckets in order: from low_ns up to, not including, high_ns';
COMMENT ON FUNCTION hist_percentiles(numeric, double precision[]) IS
    'The latencies at these percentiles, nanoseconds, in one pass';
COMMENT ON FUNCTION hist_percentile(numeric, double precision) IS
    'The latency at a percentile (0 to 100), nanoseconds: midpoint of the bucket with the value '
    'of that rank';
COMMENT ON FUNCTION hist_mean(numeric) IS 'Mean latency, nanoseconds, by midpoints';
COMMENT ON FUNCTION hist_cdf(numeric) IS 'Share of the values in each bucket and below it';
COMMENT ON FUNCTION hist_share_above(numeric, double precision) IS
    'Share of the values in buckets above the one of latency_ns';
COMMENT ON FUNCTION phase_series(uuid, integer, double precision) IS
    'The fleet over time: the measured intervals of a phase in steps of step_seconds';
COMMENT ON FUNCTION jain_step(double precision[], double precision) IS 'Part of jain()';
COMMENT ON FUNCTION jain_combine(double precision[], double precision[]) IS 'Part of jain()';
COMMENT ON FUNCTION jain_final(double precision[]) IS 'Part of jain()';
COMMENT ON FUNCTION guard_reader(integer) IS
    'Puts the reading role back and ends what takes it too long';
COMMENT ON FUNCTION ensure_partitions(timestamp with time zone, timestamp with time zone) IS
    'Makes the partitions of the months between two instants';
COMMENT ON AGGREGATE hist_merge(numeric) IS 'Adds histograms up, exactly, bucket by bucket';
COMMENT ON AGGREGATE jain(double precision) IS
    'Jain''s index, (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one takes all';

-- A column of one name means one thing wherever it is.
DO $$
DECLARE
  named record;
BEGIN
  FOR named IN
    SELECT c.relname, c.relkind, a.attname, d.meaning
    FROM (VALUES
      ('applied_at', 'when the migration was run'),
      ('at', 'when it happened'),
      ('attempt', 'attempt of the phase, from 1'),
      ('begin_ns', 'begin, nanoseconds from T'),
      ('begin_seconds', 'begin, seconds from T'),
      ('blocked', 'tasks that waited for I/O, at the end of the interval'),
      ('boot_id', 'the kernel: its boot_id'),
      ('busy_ratio', 'share of the time in which the device had a request'),
      ('busy_time_ms', 'time with a request, milliseconds'),
      ('bytes', 'bytes moved by completed operations'),
      ('bytes_per_second', 'bytes per second'),
      ('cached_bytes', 'page cache at the end of the interval, bytes'),
      ('certificate', 'name in the certificate that it belongs to; empty without TLS'),
      ('checked', 'blocks that were checked'),
      ('class', 'ramp, measured or drain'),
      ('clock_bound_ns', 'bound of clock_offset_ns'),
      ('clock_offset_ns', 'worker''s monotonic clock minus the controller''s, when T was '
          'committed'),
      ('context_switches', 'context switches in the interval'),
      ('corrupt', 'blocks whose checksum was wrong'),
      ('cpu_busy_ns', 'processor time over all processors, nanoseconds'),
      ('cpu_model', 'model of the processor'),
      ('cpu_time_ns', 'on a processor, nanoseconds'),
      ('cpus', 'processors'),
      ('degraded', 'workers were lost: the figures are of those that remained'),
      ('device', 'the device''s name on that host'),
      ('digest', 'MD5 of the migration'),
      ('dirty_bytes', 'bytes that wait for write-back, at the end of the interval'),
      ('discard_bytes', 'bytes discarded'),
      ('discard_merges', 'discards merged'),
      ('discard_time_ms', 'time of all discards, milliseconds'),
      ('discards', 'discards'),
      ('end_ns', 'end, nanoseconds from T'),
      ('end_of_load', 'the interval at whose end the load was ended on all hosts, before its time'),
      ('ended_at', 'when it ended'),
      ('ending_reason', 'why the run is going to end so'),
      ('ending_state', 'how the run is going to end; empty while all is well'),
      ('epoch', 'raised by every controller that becomes active'),
      ('error', 'why the worker failed; empty when it did not'),
      ('errors', 'operations that failed'),
      ('execution_seconds', 'from first submission to last completion, seconds'),
      ('execution_time_ns', 'from first submission to last completion, nanoseconds'),
      ('figures', 'PhaseFigures: what later phases may go by'),
      ('figures_version', 'the version of the figures that are kept; 0: none yet'),
      ('filesystem', 'type of the file system'),
      ('first_seen', 'when it was first seen'),
      ('flush_time_ms', 'time of all flushes, milliseconds'),
      ('flushes', 'flushes'),
      ('flushes_per_second', 'flushes per second'),
      ('free_bytes', 'free memory at the end of the interval, bytes'),
      ('fsync_time_ns', 'in syncs, nanoseconds'),
      ('go_at', 'T by the controller''s wall clock'),
      ('go_ns', 'T by the controller''s monotonic clock, nanoseconds'),
      ('hello', 'Hello: what the planner goes by'),
      ('hold_ns', 'for so long its targets are held after a restart; NULL when they are not'),
      ('holder', 'which controller is active'),
      ('host', 'the host''s name then'),
      ('host_id', 'the host'),
      ('hosts', 'how many hosts'),
      ('identity', 'identity of the device, as lockstep devices prints it'),
      ('idle_ratio', 'share of the processors'' time'),
      ('in_fsync', 'share of its time in syncs'),
      ('in_io', 'share of its time waiting for completions'),
      ('inspection', 'Inspection: targets and the devices underneath'),
      ('interrupts', 'interrupts in the interval'),
      ('interval', 'number of the interval, from 0 at T'),
      ('interval_class', '1 ramp, 2 measured, 3 drain'),
      ('interval_ns', 'length of an interval, nanoseconds'),
      ('invalid', 'the figures must not be used'),
      ('invalid_reason', 'why not; empty when they may be'),
      ('involuntary_context_switches', 'involuntary context switches'),
      ('iops', 'I/Os per second over the window in which all hosts measured; of an interval, over '
          'its length'),
      ('iowait_ratio', 'share of the processors'' time'),
      ('is_io', 'false for syncs'),
      ('is_reported', 'true for the metric that the report gives'),
      ('jain_iops', 'Jain''s index of IOPS over hosts'),
      ('job', 'the job''s name'),
      ('job_phase', 'index of the phase in the job'),
      ('kernel', 'the kernel''s release'),
      ('kind', 'what it is: of an operation read, write, trim, fsync or total (in tables 1, 2, 3, '
          '4); of a phase prepare, run, …'),
      ('labels', 'labels of the run or the worker'),
      ('last_seen', 'when it was last seen'),
      ('latencies', 'histogram; read it with hist_percentile() and the other hist_ functions'),
      ('latency_max_ns', 'largest latency, nanoseconds'),
      ('latency_min_ns', 'smallest latency, nanoseconds'),
      ('latency_sum_ns', 'sum of the latencies, nanoseconds'),
      ('limited_by', 'what limited the workloads'),
      ('lost', 'why the worker was given up; NULL while it takes part'),
      ('max_ms', 'largest latency, milliseconds'),
      ('max_ns', 'largest latency, nanoseconds'),
      ('max_over_min', 'largest host''s IOPS over the smallest''s'),
      ('max_over_min_iops', 'largest host''s IOPS over the smallest''s'),
      ('mean_ms', 'mean latency, milliseconds'),
      ('mean_ns', 'mean latency, nanoseconds'),
      ('memory_bytes', 'memory, bytes'),
      ('message', 'what happened, in words'),
      ('metric', 'what the latencies are of: service time, response time or submission latency '
          '(in tables 1, 2, 3)'),
      ('mib_per_second', 'MiB per second'),
      ('min_ns', 'smallest latency, nanoseconds'),
      ('mismatches', 'the first mismatches'),
      ('misplaced', 'blocks that belong elsewhere'),
      ('model', 'model of the device'),
      ('name', 'its name'),
      ('never_written', 'blocks without a header'),
      ('not_checkable', 'blocks that could not be checked'),
      ('only_row', 'true'),
      ('operations', 'completed operations of the measured time; in tables, of the row'),
      ('os', 'operating system'),
      ('outcome', 'why it ended so'),
      ('owner', 'who submitted it'),
      ('p50_ms', '50th percentile of the latency, milliseconds'),
      ('p50_ns', '50th percentile of the latency, nanoseconds'),
      ('p90_ms', '90th percentile of the latency, milliseconds'),
      ('p90_ns', '90th percentile of the latency, nanoseconds'),
      ('p95_ms', '95th percentile of the latency, milliseconds'),
      ('p95_ns', '95th percentile of the latency, nanoseconds'),
      ('p9999_ms', '99.99th percentile of the latency, milliseconds'),
      ('p9999_ns', '99.99th percentile of the latency, nanoseconds'),
      ('p999_ms', '99.9th percentile of the latency, milliseconds'),
      ('p999_ns', '99.9th percentile of the latency, nanoseconds'),
      ('p99_max_over_min', 'largest host''s p99 over the smallest''s'),
      ('p99_ms', '99th percentile of the latency, milliseconds'),
      ('p99_ns', '99th percentile of the latency, nanoseconds'),
      ('path', 'path of the target on that host'),
      ('per_second', 'operations per second over the window in which all hosts measured'),
      ('phase', 'number of the phase in the run, from 0'),
      ('phase_name', 'the phase''s name'),
      ('point', 'the point of a sweep: field to value'),
      ('processor', 'share of its time on a processor'),
      ('queue_size', 'requests in the queue, mean (aqu-sz)'),
      ('queue_time_ms', 'sum over requests of their time in the queue, milliseconds'),
      ('ramp_ns', 'length of the ramp, nanoseconds'),
      ('rate_time_ns', 'waiting for the rate, nanoseconds'),
      ('read_await_ms', 'mean time of a read, milliseconds'),
      ('read_bytes', 'bytes read'),
      ('read_merges', 'reads merged'),
      ('read_mib_per_second', 'MiB read per second'),
      ('read_time_ms', 'time of all reads, milliseconds'),
      ('reads', 'reads completed by the device'),
      ('reads_per_second', 'reads per second'),
      ('reason', 'why'),
      ('remarks', 'the report''s remarks'),
      ('report', 'the report, as it was before the samples of the run were pruned'),
      ('response_time', 'histogram from the intended start to completion; NULL in a closed loop'),
      ('result', 'PhaseResult without histograms and threads'),
      ('rotational', 'whether it is a disk that turns'),
      ('run_id', 'the run'),
      ('run_queue', 'tasks that ran or waited for a processor, at the end of the interval'),
      ('samples_pruned_at', 'when the samples of its intervals were pruned'),
      ('scheduler', 'I/O scheduler'),
      ('seconds', 'length, seconds'),
      ('seed', 'seed of everything random'),
      ('sequence', 'the next item to be delivered'),
      ('service_time', 'histogram from submission to completion'),
      ('severity', 'info, warning or error'),
      ('short_transfers', 'I/Os that moved fewer bytes than asked for'),
      ('since', 'since when'),
      ('size_bytes', 'size, bytes'),
      ('skip_cleanup', 'the run ends without its cleanup phases'),
      ('source', 'the job file as submitted'),
      ('spec', 'protobuf''s JSON of what was asked for'),
      ('stale', 'blocks with earlier content'),
      ('start_skew_bound_ns', 'bound of start_skew_ns'),
      ('start_skew_ns', 'spread of the observed starts, nanoseconds'),
      ('started_at', 'when it began'),
      ('state', 'queued, running, done, failed, aborted, cancelled; of an attempt also arming and '
          'void'),
      ('steal_ratio', 'share of the processors'' time'),
      ('step', 'the point of the phase''s curve'),
      ('store_id', 'the store'),
      ('stored_at', 'when it was stored: the order of events'),
      ('submission_latency',
          'histogram of the time in the submission call; NULL where it is not recorded'),
      ('submitted_at', 'when it was submitted: the order of runs'),
      ('summary', 'RunSummary'),
      ('swap_in_pages', 'pages swapped in'),
      ('swap_out_pages', 'pages swapped out'),
      ('system_ratio', 'share of the processors'' time'),
      ('target', 'index of the target in the job'),
      ('think_time_ns', 'pausing as the job says, nanoseconds'),
      ('thinking', 'share of its time pausing as the job says'),
      ('thread', 'number of the thread on its worker'),
      ('torn', 'blocks of two generations'),
      ('user_ratio', 'share of the processors'' time'),
      ('value', 'its value'),
      ('variation', 'coefficient of variation of IOPS over hosts'),
      ('version', 'version'),
      ('voluntary_context_switches', 'voluntary context switches'),
      ('wait_time_ns', 'waiting for completions, nanoseconds'),
      ('waiting_for_rate', 'share of its time waiting for its rate'),
      ('window_begin', 'begin of the window in which all hosts measured, seconds from T'),
      ('window_end', 'end of that window, seconds from T'),
      ('worker_id', 'the worker'),
      ('worker_index', 'number of the worker in the run'),
      ('workers', 'workers of the run'),
      ('workers_lost', 'workers without a result in the phase'),
      ('workload', 'the workload''s name; in tables, its index in the phase'),
      ('write_await_ms', 'mean time of a write, milliseconds'),
      ('write_bytes', 'bytes written'),
      ('write_merges', 'writes merged'),
      ('write_mib_per_second', 'MiB written per second'),
      ('write_time_ms', 'time of all writes, milliseconds'),
      ('writes', 'writes completed by the device'),
      ('writes_per_second', 'writes per second')) AS d(name, meaning)
    JOIN pg_attribute a ON a.attname = d.name AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'lockstep'::regnamespace AND
        c.relkind IN ('r', 'p', 'v')
    WHERE col_description(a.attrelid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN lockstep.%I.%I IS %L', named.relname, named.attname,
        named.meaning);
  END LOOP;
END $$;
