// Reading a phase's intervals as a stream: a cursor for each table, some rows at a time, in one
// snapshot.

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// libpq holds a whole result in memory, and a phase may have millions of rows: only this many are
// fetched at once.
constexpr int kRowsAtOnce = 1000;
// The columns that every statement begins with.
constexpr char kSampled[] = "worker_index, interval, interval_class, begin_ns, end_ns, ";
// Bounds on the phase's grid are stored as NULL (AddOperations() in ingest.cc) and computed again
// here.
constexpr char kOperations[] =
    "worker_index, interval, interval_class, coalesce(begin_ns, interval_ns * interval) AS "
    "begin_ns, coalesce(end_ns, interval_ns * (interval + 1)) AS end_ns, ";

using Position = std::pair<uint32_t, uint32_t>;  // interval, worker

// The rows of one statement, in order of their positions.
class RowStream {
 public:
  RowStream(PgConnection* connection, std::string name)
      : connection_(connection), name_(std::move(name)) {}

  absl::Status Begin(const std::string& sql, const std::vector<PgParam>& parameters) {
    // Rows are read forwards only. A cursor that can go back may cost the server more (PostgreSQL,
    // DECLARE).
    auto declared = connection_->Query(
        absl::StrCat("DECLARE ", name_, " NO SCROLL CURSOR FOR ", sql), parameters);
    return declared.ok() ? Fetch() : declared.status();
  }
  bool over() const { return row_ >= rows_.rows(); }
  Position position() const {
    return {static_cast<uint32_t>(Int("interval")), static_cast<uint32_t>(Int("worker_index"))};
  }
  absl::Status Next() { return ++row_ < rows_.rows() ? absl::OkStatus() : Fetch(); }

  int64_t Int(const char* column) const { return rows_.Int(row_, column); }
  uint64_t UInt(const char* column) const { return rows_.UInt(row_, column); }
  double Real(const char* column) const { return rows_.Real(row_, column); }
  std::string Text(const char* column) const { return rows_.Text(row_, column); }
  bool Null(const char* column) const { return rows_.Null(row_, column); }

 private:
  absl::Status Fetch() {
    auto rows = connection_->Query(absl::StrCat("FETCH ", kRowsAtOnce, " FROM ", name_));
    if (!rows.ok()) return rows.status();
    rows_ = *std::move(rows);
    row_ = 0;
    return absl::OkStatus();
  }

  PgConnection* connection_;
  const std::string name_;
  PgResult rows_{nullptr};
  int row_ = 0;
};

// The rows of a sample come in order of workload and kind (Source::order), so only the last
// workload, and its last kind, can be a row's.
v1::WorkloadSample* WorkloadOf(const RowStream& row, v1::IntervalSample* sample) {
  auto* workloads = sample->mutable_workloads();
  const auto workload = static_cast<uint32_t>(row.Int("workload"));
  if (workloads->empty() || workloads->rbegin()->workload() != workload) {
    workloads->Add()->set_workload(workload);
  }
  return &*workloads->rbegin();
}

v1::OperationCounters* CountersOf(const RowStream& row, v1::WorkloadSample* workload) {
  auto* operations = workload->mutable_operations();
  const auto kind = static_cast<v1::OperationKind>(row.Int("kind"));
  if (!operations->empty() && operations->rbegin()->kind() == kind) return &*operations->rbegin();
  v1::OperationCounters* counters = operations->Add();
  counters->set_kind(kind);
  counters->set_operations(row.UInt("operations"));
  counters->set_bytes(row.UInt("bytes"));
  counters->set_errors(row.UInt("errors"));
  counters->set_latency_sum_ns(row.UInt("latency_sum_ns"));
  return counters;
}

void AddCounters(const RowStream& row, v1::IntervalSample* sample) {
  CountersOf(row, WorkloadOf(row, sample));
}

// The same columns, then a histogram for each metric.
void AddLatencies(const RowStream& row, v1::IntervalSample* sample) {
  v1::OperationCounters* counters = CountersOf(row, WorkloadOf(row, sample));
  for (const auto& [metric, column] : kHistogramColumns) {
    if (row.Null(column)) continue;
    v1::Histogram* histogram = counters->add_histograms();
    histogram->set_metric(metric);
    histogram->set_scheme(common::kHistogramScheme);
    histogram->set_buckets(absl::HexStringToBytes(row.Text(column)));
  }
}

void AddDevice(const RowStream& row, v1::IntervalSample* sample) {
  v1::DeviceSample* d = sample->add_devices();
  d->set_name(row.Text("device"));
  d->set_reads(row.UInt("reads"));
  d->set_read_merges(row.UInt("read_merges"));
  d->set_read_bytes(row.UInt("read_bytes"));
  d->set_read_time_ms(row.UInt("read_time_ms"));
  d->set_writes(row.UInt("writes"));
  d->set_write_merges(row.UInt("write_merges"));
  d->set_write_bytes(row.UInt("write_bytes"));
  d->set_write_time_ms(row.UInt("write_time_ms"));
  d->set_discards(row.UInt("discards"));
  d->set_discard_merges(row.UInt("discard_merges"));
  d->set_discard_bytes(row.UInt("discard_bytes"));
  d->set_discard_time_ms(row.UInt("discard_time_ms"));
  d->set_flushes(row.UInt("flushes"));
  d->set_flush_time_ms(row.UInt("flush_time_ms"));
  d->set_busy_time_ms(row.UInt("busy_time_ms"));
  d->set_queue_time_ms(row.UInt("queue_time_ms"));
  d->set_paths(static_cast<uint32_t>(row.UInt("paths")));
  d->set_paths_running(static_cast<uint32_t>(row.UInt("paths_running")));
  d->set_nested(row.Text("nested") == "t");
}

void AddHost(const RowStream& row, v1::IntervalSample* sample) {
  v1::HostSample* h = sample->mutable_host();
  h->set_context_switches(row.UInt("context_switches"));
  h->set_interrupts(row.UInt("interrupts"));
  h->set_run_queue(static_cast<uint32_t>(row.Int("run_queue")));
  h->set_blocked(static_cast<uint32_t>(row.Int("blocked")));
  h->set_user_ratio(row.Real("user_ratio"));
  h->set_system_ratio(row.Real("system_ratio"));
  h->set_idle_ratio(row.Real("idle_ratio"));
  h->set_iowait_ratio(row.Real("iowait_ratio"));
  h->set_steal_ratio(row.Real("steal_ratio"));
  h->set_cpu_busy_ns(row.UInt("cpu_busy_ns"));
  h->set_swap_in_pages(row.UInt("swap_in_pages"));
  h->set_swap_out_pages(row.UInt("swap_out_pages"));
  // Kernels may not tell these, and samples of earlier versions lack some.
  const auto known = [&](const char* column) { return !row.Null(column); };
  if (known("free_bytes")) h->set_free_bytes(row.UInt("free_bytes"));
  if (known("cached_bytes")) h->set_cached_bytes(row.UInt("cached_bytes"));
  if (known("dirty_bytes")) h->set_dirty_bytes(row.UInt("dirty_bytes"));
  if (known("swap_used_bytes")) h->set_swap_used_bytes(row.UInt("swap_used_bytes"));
  if (known("buffers_bytes")) h->set_buffers_bytes(row.UInt("buffers_bytes"));
  if (known("slab_reclaimable_bytes")) {
    h->set_slab_reclaimable_bytes(row.UInt("slab_reclaimable_bytes"));
  }
  if (known("writeback_bytes")) h->set_writeback_bytes(row.UInt("writeback_bytes"));
  if (known("block_in_bytes")) h->set_block_in_bytes(row.UInt("block_in_bytes"));
  if (known("block_out_bytes")) h->set_block_out_bytes(row.UInt("block_out_bytes"));
  if (known("page_bytes")) h->set_page_bytes(static_cast<uint32_t>(row.UInt("page_bytes")));
}

void AddInterface(const RowStream& row, v1::IntervalSample* sample) {
  v1::InterfaceSample* i = sample->add_interfaces();
  i->set_name(row.Text("interface"));
  i->set_received_bytes(row.UInt("received_bytes"));
  i->set_received_packets(row.UInt("received_packets"));
  i->set_received_drops(row.UInt("received_drops"));
  i->set_received_errors(row.UInt("received_errors"));
  i->set_sent_bytes(row.UInt("sent_bytes"));
  i->set_sent_packets(row.UInt("sent_packets"));
  i->set_sent_drops(row.UInt("sent_drops"));
  i->set_sent_errors(row.UInt("sent_errors"));
  if (!row.Null("receive_speed_bits_per_second")) {
    i->set_receive_speed_bits_per_second(row.UInt("receive_speed_bits_per_second"));
  }
  if (!row.Null("send_speed_bits_per_second")) {
    i->set_send_speed_bits_per_second(row.UInt("send_speed_bits_per_second"));
  }
}

void AddNfsMount(const RowStream& row, v1::IntervalSample* sample) {
  v1::NfsSample* n = sample->add_nfs();
  n->set_mount(row.Text("mount"));
  n->set_operation(row.Text("operation"));
  n->set_operations(row.UInt("operations"));
  n->set_transmissions(row.UInt("transmissions"));
  n->set_timeouts(row.UInt("timeouts"));
  n->set_sent_bytes(row.UInt("sent_bytes"));
  n->set_received_bytes(row.UInt("received_bytes"));
  n->set_queue_time_ms(row.UInt("queue_time_ms"));
  n->set_round_trip_ms(row.UInt("round_trip_ms"));
  n->set_execution_ms(row.UInt("execution_ms"));
}

void AddQuota(const RowStream& row, v1::IntervalSample* sample) {
  v1::QuotaSample* q = sample->mutable_quota();
  q->set_periods(row.UInt("periods"));
  q->set_throttled_periods(row.UInt("throttled_periods"));
  q->set_period_ns(row.UInt("period_ns"));
  q->set_throttled_time_ns(row.UInt("throttled_time_ns"));
}

// A table, and what its rows add to a sample.
struct Source {
  const char* name;
  std::set<IntervalDetail> details;
  const char* position;
  const char* columns;
  const char* table;
  const char* order;
  void (*add)(const RowStream& row, v1::IntervalSample* sample);
};

// interval_ns is the phase's. The subquery hides the other columns of phases, of which `kind` would
// be ambiguous.
constexpr char kIntervals[] =
    "interval_operations JOIN (SELECT run_id, phase, attempt, interval_ns FROM phases) p USING "
    "(run_id, phase, attempt)";

const Source kSources[] = {
    {"counters",
     {IntervalDetail::kHosts},
     kOperations,
     "workload, kind, operations, bytes, coalesce(errors, 0) AS errors, latency_sum_ns",
     kIntervals,
     ", workload, kind",
     AddCounters},
    {"latencies",
     {IntervalDetail::kLatencies, IntervalDetail::kTimeline},
     kOperations,
     "workload, kind, operations, bytes, coalesce(errors, 0) AS errors, latency_sum_ns, "
     "encode(service_time, "
     "'hex') AS service_time, encode(response_time, 'hex') AS response_time, "
     "encode(submission_latency, 'hex') AS submission_latency",
     kIntervals,
     ", workload, kind",
     AddLatencies},
    {"devices",
     {IntervalDetail::kHosts, IntervalDetail::kTimeline},
     kSampled,
     "device, reads, read_merges, read_bytes, read_time_ms, writes, write_merges, write_bytes, "
     "write_time_ms, discards, discard_merges, discard_bytes, discard_time_ms, flushes, "
     "flush_time_ms, busy_time_ms, queue_time_ms, coalesce(paths, 0) AS paths, "
     "coalesce(paths_running, 0) AS paths_running, coalesce(nested, false) AS nested",
     "device_samples",
     ", device",
     AddDevice},
    {"hosts",
     {IntervalDetail::kHosts},
     kSampled,
     "context_switches, interrupts, run_queue, blocked, user_ratio, system_ratio, idle_ratio, "
     "iowait_ratio, steal_ratio, cpu_busy_ns, swap_in_pages, swap_out_pages, free_bytes, "
     "cached_bytes, dirty_bytes, swap_used_bytes, buffers_bytes, slab_reclaimable_bytes, "
     "writeback_bytes, block_in_bytes, block_out_bytes, page_bytes",
     "host_samples",
     "",
     AddHost},
    {"interfaces",
     {IntervalDetail::kHosts},
     kSampled,
     "interface, received_bytes, received_packets, received_drops, received_errors, sent_bytes, "
     "sent_packets, sent_drops, sent_errors, receive_speed_bits_per_second, "
     "send_speed_bits_per_second",
     "interface_samples",
     ", interface",
     AddInterface},
    {"nfs",
     {IntervalDetail::kHosts},
     kSampled,
     "mount, operation, operations, transmissions, timeouts, sent_bytes, received_bytes, "
     "queue_time_ms, round_trip_ms, execution_ms",
     "nfs_samples",
     ", mount, operation",
     AddNfsMount},
    {"quotas",
     {IntervalDetail::kHosts},
     kSampled,
     "periods, throttled_periods, coalesce(period_ns, 0) AS period_ns, throttled_time_ns",
     "quota_samples",
     "",
     AddQuota},
};

struct OpenSource {
  const Source* source;
  RowStream rows;
};

absl::Status OpenSources(PgConnection* connection, const v1::PhaseId& phase, IntervalDetail detail,
                         std::vector<OpenSource>* open) {
  const std::vector<PgParam> key = {phase.run_id(), absl::StrCat(phase.phase()),
                                    absl::StrCat(phase.attempt())};
  for (const Source& source : kSources) {
    if (!source.details.contains(detail)) continue;
    open->push_back({&source, RowStream(connection, source.name)});
    const std::string sql =
        absl::StrCat("SELECT ", source.position, source.columns, " FROM ", source.table,
                     " WHERE run_id = $1 AND phase = $2 AND attempt = $3 ORDER BY interval, ",
                     "worker_index", source.order);
    if (absl::Status status = open->back().rows.Begin(sql, key); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Every row at `position`, table by table, as one sample.
absl::Status ReadSample(const Position& position, std::vector<OpenSource>* open,
                        v1::IntervalSample* sample) {
  sample->set_interval(position.first);
  for (OpenSource& from : *open) {
    while (!from.rows.over() && from.rows.position() == position) {
      sample->set_interval_class(static_cast<v1::IntervalClass>(from.rows.Int("interval_class")));
      sample->set_begin_ns(from.rows.Int("begin_ns"));
      sample->set_end_ns(from.rows.Int("end_ns"));
      from.source->add(from.rows, sample);
      if (absl::Status status = from.rows.Next(); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadIntervalsOf(PgConnection* connection, const v1::PhaseId& phase,
                             IntervalDetail detail, const TakeInterval& take) {
  std::vector<OpenSource> open;
  if (absl::Status status = OpenSources(connection, phase, detail, &open); !status.ok()) {
    return status;
  }
  while (true) {
    // A worker may lack the rows of one table in an interval, so that no table alone tells which
    // sample is next.
    std::optional<Position> position;
    for (const OpenSource& from : open) {
      if (!from.rows.over() && (!position || from.rows.position() < *position))
        position = from.rows.position();
    }
    // A cursor lasts until its transaction ends. ImportRun() reads several phases in one, and each
    // declares cursors of the same names.
    if (!position) return connection->Execute("CLOSE ALL");
    v1::IntervalSample sample;
    if (absl::Status status = ReadSample(*position, &open, &sample); !status.ok()) return status;
    if (absl::Status status = take(position->second, sample); !status.ok()) return status;
  }
}

absl::Status StreamIntervals(PgConnection* connection, const v1::PhaseId& phase,
                             IntervalDetail detail, const TakeInterval& take) {
  // One snapshot covers all tables: a batch that is committed between two statements would be in
  // only one of them. All rows are read, while for a cursor the planner prefers plans that find the
  // first tenth quickly (cursor_tuple_fraction); work_mem is for the sort.
  if (absl::Status status = connection->Execute(
          "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL cursor_tuple_fraction = 1; "
          "SET LOCAL work_mem = '16MB'");
      !status.ok()) {
    return status;
  }
  const absl::Status status = ReadIntervalsOf(connection, phase, detail, take);
  const absl::Status ended = connection->Execute(status.ok() ? "COMMIT" : "ROLLBACK");
  return status.ok() ? ended : status;
}

}  // namespace lockstep::storage
