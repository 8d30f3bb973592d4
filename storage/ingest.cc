#include "storage/ingest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"
#include "measure/result_stats.h"
#include "storage/pg_store.h"
#include "storage/sql_histogram.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

using PhaseKey = std::tuple<std::string, uint32_t, uint32_t>;  // run, phase, attempt
using Lengths = std::map<PhaseKey, int64_t>;                   // of an interval, nanoseconds

PhaseKey PhaseKeyOf(const v1::PhaseId& id) { return {id.run_id(), id.phase(), id.attempt()}; }

// Moves every cursor, and finds out whether all were where they had to be. Returns how long the
// phases' intervals are.
absl::StatusOr<Lengths> MoveCursors(PgConnection* connection,
                                    const std::vector<IngestBatch>& batches) {
  std::vector<std::string> runs, phases, attempts, workers, from, to;
  for (const IngestBatch& batch : batches) {
    runs.push_back(batch.phase.run_id());
    phases.push_back(absl::StrCat(batch.phase.phase()));
    attempts.push_back(absl::StrCat(batch.phase.attempt()));
    workers.push_back(absl::StrCat(batch.worker_index));
    from.push_back(absl::StrCat(batch.first_sequence));
    to.push_back(absl::StrCat(batch.first_sequence + batch.items.size()));
  }
  const auto list = [](const std::vector<std::string>& items) {
    return absl::StrCat("{", absl::StrJoin(items, ","), "}");
  };
  // One statement moves all cursors. The condition on the old sequence makes a repeated or
  // reordered batch move nothing, and the row locks order two transactions on one worker. An UPDATE
  // changes a row once, so the caller joins a worker's batches into one.
  auto moved = connection->Query(
      "UPDATE cursors c SET sequence = v.next FROM unnest($1::uuid[], $2::int[], $3::int[], "
      "$4::int[], $5::bigint[], $6::bigint[]) "
      "AS v(run_id, phase, attempt, worker_index, first, next) JOIN phases p USING (run_id, phase, "
      "attempt) WHERE c.run_id = v.run_id AND c.phase = v.phase AND c.attempt = v.attempt "
      "AND c.worker_index = v.worker_index AND c.sequence = v.first "
      "RETURNING c.run_id, c.phase, c.attempt, p.interval_ns",
      {list(runs), list(phases), list(attempts), list(workers), list(from), list(to)});
  if (!moved.ok()) return moved.status();
  // The caller's transaction ends with this error: of a group with one batch out of place nothing
  // is stored.
  if (moved->affected() != static_cast<int64_t>(batches.size())) {
    return absl::FailedPreconditionError(
        "a worker's samples do not continue where the last ones ended");
  }
  Lengths lengths;
  for (int i = 0; i < moved->rows(); ++i) {
    lengths[{moved->Text(i, "run_id"), static_cast<uint32_t>(moved->Int(i, "phase")),
             static_cast<uint32_t>(moved->Int(i, "attempt"))}] = moved->Int(i, "interval_ns");
  }
  return lengths;
}

const std::string* BucketsOf(const v1::OperationCounters& counters, v1::Metric metric) {
  for (const v1::Histogram& h : counters.histograms()) {
    if (h.metric() == metric) return &h.buckets();
  }
  return nullptr;
}

constexpr v1::Metric kMetrics[] = {v1::METRIC_SERVICE_TIME, v1::METRIC_RESPONSE_TIME,
                                   v1::METRIC_SUBMISSION_LATENCY};

CopyRows& Key(CopyRows* rows, const IngestBatch& batch) {
  return rows->Add(batch.phase.run_id())
      .Add(batch.phase.phase())
      .Add(batch.phase.attempt())
      .Add(batch.worker_index);
}

// When an interval began, as a column takes it. Hosts sample in lockstep, so the last text is often
// the next one, too, and is not formatted again.
class Started {
 public:
  const std::string& Of(const IngestBatch& batch, const v1::IntervalSample& sample) {
    const int64_t at_ns = batch.go_wall_ns + sample.begin_ns();
    if (text_.empty() || at_ns != at_ns_) text_ = Utc(at_ns);
    at_ns_ = at_ns;
    return text_;
  }

 private:
  int64_t at_ns_ = 0;
  std::string text_;
};

CopyRows& SampleKey(CopyRows* rows, const IngestBatch& batch, const v1::IntervalSample& sample,
                    const std::string& started) {
  return Key(&rows->Add(started), batch)
      .Add(sample.interval())
      .Add(sample.interval_class())
      .Add(sample.begin_ns())
      .Add(sample.end_ns());
}

// Each appends a table's rows of one item.

void AddOperations(const IngestBatch& batch, int64_t interval_ns, const v1::IntervalSample& sample,
                   const std::string& started, uint32_t workload, const v1::OperationCounters& c,
                   CopyRows* rows) {
  // Most intervals lie on the phase's grid, and readers compute such bounds from the interval's
  // length (kOperations in intervals.cc). A NULL costs one bit of a row, a bigint eight bytes:
  // hence also NULL for no errors.
  const int64_t begin = int64_t{sample.interval()} * interval_ns;
  const bool regular = sample.begin_ns() == begin && sample.end_ns() == begin + interval_ns;
  rows->Add(batch.phase.run_id())
      .Add(started)
      .Add(c.operations())
      .Add(c.bytes())
      // The column is a bigint. A sum of more than 292 years, which only a broken worker sends, is
      // cut: an error would refuse the whole batch.
      .Add(std::min<uint64_t>(c.latency_sum_ns(), std::numeric_limits<int64_t>::max()))
      .Add(sample.interval())
      .Add(batch.worker_index)
      .Add(batch.phase.phase())
      .Add(batch.phase.attempt())
      .Add(workload)
      .Add(sample.interval_class())
      .Add(c.kind())
      .AddUnless(c.errors() == 0, c.errors())
      .AddUnless(c.short_transfers() == 0, c.short_transfers())
      .AddUnless(regular, sample.begin_ns())
      .AddUnless(regular, sample.end_ns());
  for (const v1::Metric metric : kMetrics) {
    const std::string* buckets = BucketsOf(c, metric);
    buckets == nullptr ? rows->AddNull() : rows->AddBytes(*buckets);
  }
  rows->EndRow();
}

void AddInterval(const IngestBatch& batch, int64_t interval_ns, const v1::IntervalSample& sample,
                 const std::string& started, CopyRows* rows) {
  static const auto* const kNone = [] {
    auto* none = new v1::OperationCounters;
    none->set_kind(v1::OPERATION_KIND_READ);
    return none;
  }();
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    for (const v1::OperationCounters& c : workload.operations()) {
      AddOperations(batch, interval_ns, sample, started, workload.workload(), c, rows);
    }
    // An interval without any I/O is a row of zeros, not a gap.
    if (workload.operations().empty()) {
      AddOperations(batch, interval_ns, sample, started, workload.workload(), *kNone, rows);
    }
  }
}

void AddDevices(const IngestBatch& batch, const v1::IntervalSample& sample,
                const std::string& started, CopyRows* rows) {
  for (const v1::DeviceSample& d : sample.devices()) {
    SampleKey(rows, batch, sample, started)
        .Add(d.name())
        .Add(d.reads())
        .Add(d.read_merges())
        .Add(d.read_bytes())
        .Add(d.read_time_ms())
        .Add(d.writes())
        .Add(d.write_merges())
        .Add(d.write_bytes())
        .Add(d.write_time_ms())
        .Add(d.discards())
        .Add(d.discard_merges())
        .Add(d.discard_bytes())
        .Add(d.discard_time_ms())
        .Add(d.flushes())
        .Add(d.flush_time_ms())
        .Add(d.busy_time_ms())
        .Add(d.queue_time_ms())
        .AddUnless(d.paths() == 0, d.paths())
        .AddUnless(d.paths() == 0, d.paths_running())
        .Add(d.nested() ? "t" : "f")
        .EndRow();
  }
}

void AddHost(const IngestBatch& batch, const v1::IntervalSample& sample, const std::string& started,
             CopyRows* rows) {
  if (!sample.has_host()) return;
  const v1::HostSample& h = sample.host();
  SampleKey(rows, batch, sample, started)
      .Add(h.context_switches())
      .Add(h.interrupts())
      .Add(h.run_queue())
      .Add(h.blocked())
      .Add(h.user_ratio())
      .Add(h.system_ratio())
      .Add(h.idle_ratio())
      .Add(h.iowait_ratio())
      .Add(h.steal_ratio())
      .Add(h.swap_in_pages())
      .Add(h.swap_out_pages())
      .AddUnless(!h.has_free_bytes(), h.free_bytes())
      .AddUnless(!h.has_cached_bytes(), h.cached_bytes())
      .AddUnless(!h.has_dirty_bytes(), h.dirty_bytes())
      .Add(h.cpu_busy_ns())
      .AddUnless(!h.has_swap_used_bytes(), h.swap_used_bytes())
      .AddUnless(!h.has_buffers_bytes(), h.buffers_bytes())
      .AddUnless(!h.has_slab_reclaimable_bytes(), h.slab_reclaimable_bytes())
      .AddUnless(!h.has_writeback_bytes(), h.writeback_bytes())
      .AddUnless(!h.has_block_in_bytes(), h.block_in_bytes())
      .AddUnless(!h.has_block_out_bytes(), h.block_out_bytes())
      .AddUnless(!h.has_page_bytes(), h.page_bytes())
      .EndRow();
}

void AddInterfaces(const IngestBatch& batch, const v1::IntervalSample& sample,
                   const std::string& started, CopyRows* rows) {
  for (const v1::InterfaceSample& i : sample.interfaces()) {
    SampleKey(rows, batch, sample, started)
        .Add(i.name())
        .Add(i.received_bytes())
        .Add(i.received_packets())
        .Add(i.received_drops())
        .Add(i.received_errors())
        .Add(i.sent_bytes())
        .Add(i.sent_packets())
        .Add(i.sent_drops())
        .Add(i.sent_errors())
        .AddUnless(!i.has_receive_speed_bits_per_second(), i.receive_speed_bits_per_second())
        .AddUnless(!i.has_send_speed_bits_per_second(), i.send_speed_bits_per_second())
        .EndRow();
  }
}

void AddNfsMounts(const IngestBatch& batch, const v1::IntervalSample& sample,
                  const std::string& started, CopyRows* rows) {
  for (const v1::NfsSample& n : sample.nfs()) {
    SampleKey(rows, batch, sample, started)
        .Add(n.mount())
        .Add(n.operation())
        .Add(n.operations())
        .Add(n.transmissions())
        .Add(n.timeouts())
        .Add(n.sent_bytes())
        .Add(n.received_bytes())
        .Add(n.queue_time_ms())
        .Add(n.round_trip_ms())
        .Add(n.execution_ms())
        .EndRow();
  }
}

void AddQuota(const IngestBatch& batch, const v1::IntervalSample& sample,
              const std::string& started, CopyRows* rows) {
  if (!sample.has_quota()) return;
  const v1::QuotaSample& q = sample.quota();
  SampleKey(rows, batch, sample, started)
      .Add(q.periods())
      .Add(q.throttled_periods())
      .AddUnless(q.period_ns() == 0, q.period_ns())
      .Add(q.throttled_time_ns())
      .EndRow();
}

absl::Status AddPhaseOperations(const IngestBatch& batch, uint32_t workload,
                                v1::IntervalClass interval_class, const v1::OperationCounters& c,
                                CopyRows* rows) {
  Key(rows, batch)
      .Add(workload)
      .Add(interval_class)
      .Add(c.kind())
      .Add(c.operations())
      .Add(c.bytes())
      .Add(c.errors())
      .Add(c.short_transfers())
      .Add(c.latency_sum_ns())
      .Add(c.latency_min_ns())
      .Add(c.latency_max_ns());
  for (const v1::Metric metric : kMetrics) {
    const std::string* buckets = BucketsOf(c, metric);
    if (buckets == nullptr) {
      rows->AddNull();
      continue;
    }
    // SQL merges the histograms of phases by adding numbers. Those of intervals, which are many
    // more, keep the smaller encoding of the wire.
    const auto number = HistogramNumber(*buckets);
    if (!number.ok()) return number.status();
    rows->Add(*number);
  }
  rows->EndRow();
  return absl::OkStatus();
}

void AddThreads(const IngestBatch& batch, const v1::PhaseResult& result, CopyRows* rows) {
  for (const v1::ThreadResult& t : result.threads()) {
    Key(rows, batch)
        .Add(t.workload())
        .Add(t.thread())
        .Add(t.operations())
        .Add(t.bytes())
        .Add(t.errors())
        .Add(t.execution_time_ns())
        .Add(t.wait_time_ns())
        .Add(t.fsync_time_ns())
        .Add(t.rate_time_ns())
        .Add(t.cpu_time_ns())
        .Add(t.voluntary_context_switches())
        .Add(t.involuntary_context_switches())
        .Add(t.think_time_ns())
        .EndRow();
  }
}

// The result without what has tables of its own.
absl::Status AddRest(const IngestBatch& batch, const v1::PhaseResult& result, CopyRows* rows) {
  v1::PhaseResult rest = result;
  rest.clear_threads();
  for (v1::WorkloadResult& workload : *rest.mutable_workloads()) {
    for (const v1::IntervalClass interval_class : measure::kIntervalClasses) {
      measure::MutableCountersOf(&workload, interval_class)->Clear();
    }
  }
  // JSON, so that SQL can reach into it; a column for each field would be a migration for each.
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(rest, &json).ok()) {
    return absl::InvalidArgumentError("a result that is not valid UTF-8");
  }
  Key(rows, batch).Add(result.error()).Add(json).EndRow();
  return absl::OkStatus();
}

absl::Status AddCounters(const IngestBatch& batch, const v1::PhaseResult& result, CopyRows* rows) {
  for (const v1::WorkloadResult& workload : result.workloads()) {
    for (const v1::IntervalClass interval_class : measure::kIntervalClasses) {
      for (const v1::OperationCounters& c : measure::CountersOf(workload, interval_class)) {
        const absl::Status status =
            AddPhaseOperations(batch, workload.workload(), interval_class, c, rows);
        if (!status.ok()) return status;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AddBlockWrites(const IngestBatch& batch, const v1::DeliveryItem& item,
                            CopyRows* rows) {
  if (!item.has_block_writes()) return absl::OkStatus();
  // `item` is an element of batch.items, and its place there makes its sequence number. A copy of
  // it would not do.
  const auto number = static_cast<uint64_t>(&item - batch.items.data());
  Key(rows, batch)
      .Add(batch.first_sequence + number)
      // SQL has no unsigned 64-bit integers: the key's bits are stored, and block_writes.cc casts
      // them back.
      .Add(static_cast<int64_t>(item.block_writes().target_key()))
      .Add(item.block_writes().block_size_bytes())
      .AddBytes(item.block_writes().runs());
  for (const int64_t wall_ns :
       {item.block_writes().from_wall_ns(), item.block_writes().until_wall_ns()}) {
    wall_ns <= 0 ? rows->AddNull() : rows->Add(Utc(wall_ns));
  }
  rows->EndRow();
  return absl::OkStatus();
}

// Tables with the columns that their rows have here: a store whose schema is newer may have more.
constexpr char kIntervalOperations[] =
    "interval_operations (run_id, started_at, operations, bytes, latency_sum_ns, interval, "
    "worker_index, phase, attempt, workload, interval_class, kind, errors, short_transfers, "
    "begin_ns, end_ns, service_time, response_time, submission_latency)";
constexpr char kDeviceSamples[] =
    "device_samples (started_at, run_id, phase, attempt, worker_index, interval, "
    "interval_class, begin_ns, end_ns, device, reads, read_merges, read_bytes, read_time_ms, "
    "writes, write_merges, write_bytes, write_time_ms, discards, discard_merges, "
    "discard_bytes, discard_time_ms, flushes, flush_time_ms, busy_time_ms, queue_time_ms, "
    "paths, paths_running, nested)";
constexpr char kHostSamples[] =
    "host_samples (started_at, run_id, phase, attempt, worker_index, interval, "
    "interval_class, begin_ns, end_ns, context_switches, interrupts, run_queue, blocked, "
    "user_ratio, system_ratio, idle_ratio, iowait_ratio, steal_ratio, swap_in_pages, "
    "swap_out_pages, free_bytes, cached_bytes, dirty_bytes, cpu_busy_ns, swap_used_bytes, "
    "buffers_bytes, slab_reclaimable_bytes, writeback_bytes, block_in_bytes, block_out_bytes, "
    "page_bytes)";
constexpr char kInterfaceSamples[] =
    "interface_samples (started_at, run_id, phase, attempt, worker_index, interval, "
    "interval_class, begin_ns, end_ns, interface, received_bytes, received_packets, "
    "received_drops, received_errors, sent_bytes, sent_packets, sent_drops, sent_errors, "
    "receive_speed_bits_per_second, send_speed_bits_per_second)";
constexpr char kNfsSamples[] =
    "nfs_samples (started_at, run_id, phase, attempt, worker_index, interval, interval_class, "
    "begin_ns, end_ns, mount, operation, operations, transmissions, timeouts, sent_bytes, "
    "received_bytes, queue_time_ms, round_trip_ms, execution_ms)";
constexpr char kQuotaSamples[] =
    "quota_samples (started_at, run_id, phase, attempt, worker_index, interval, interval_class, "
    "begin_ns, end_ns, periods, throttled_periods, period_ns, throttled_time_ns)";
constexpr char kBlockWrites[] =
    "block_writes (run_id, phase, attempt, worker_index, sequence, target_key, block_size_bytes, "
    "runs, written_from, written_until)";
constexpr char kWorkerResults[] =
    "worker_results (run_id, phase, attempt, worker_index, error, result)";
constexpr char kPhaseOperations[] =
    "phase_operations (run_id, phase, attempt, worker_index, workload, interval_class, kind, "
    "operations, bytes, errors, short_transfers, latency_sum_ns, latency_min_ns, "
    "latency_max_ns, service_time, response_time, submission_latency)";
constexpr char kThreadResults[] =
    "thread_results (run_id, phase, attempt, worker_index, workload, thread, operations, "
    "bytes, errors, execution_time_ns, wait_time_ns, fsync_time_ns, rate_time_ns, "
    "cpu_time_ns, voluntary_context_switches, involuntary_context_switches, think_time_ns)";

// Writes a table's rows of every item; `add` appends those of one.
template <typename Add>
absl::Status WriteTable(PgConnection* connection, const std::vector<IngestBatch>& batches,
                        const char* table, Add add) {
  // The rows of a group may be larger than the samples: they are sent in pieces as they are made,
  // and never stand in memory as a whole.
  CopyStream stream(connection, table);
  for (const IngestBatch& batch : batches) {
    for (const v1::DeliveryItem& item : batch.items) {
      absl::Status status = add(batch, item, &stream.rows());
      if (status.ok()) status = stream.Pass();
      if (!status.ok()) return status;
    }
  }
  return stream.End();
}

// One function for the rows of intervals: the instants and the phases' intervals are theirs.
absl::Status WriteIntervals(PgConnection* connection, const std::vector<IngestBatch>& batches,
                            const Lengths& lengths) {
  Started started;
  const auto write = [&](const char* table, auto add) {
    return WriteTable(connection, batches, table,
                      [&](const IngestBatch& batch, const v1::DeliveryItem& item, CopyRows* rows) {
                        if (item.has_interval()) {
                          add(batch, item.interval(), started.Of(batch, item.interval()), rows);
                        }
                        return absl::OkStatus();
                      });
  };
  absl::Status status =
      write(kIntervalOperations, [&](const IngestBatch& batch, const v1::IntervalSample& sample,
                                     const std::string& at, CopyRows* rows) {
        AddInterval(batch, lengths.at(PhaseKeyOf(batch.phase)), sample, at, rows);
      });
  if (status.ok()) status = write(kDeviceSamples, AddDevices);
  if (status.ok()) status = write(kHostSamples, AddHost);
  if (status.ok()) status = write(kInterfaceSamples, AddInterfaces);
  if (status.ok()) status = write(kNfsSamples, AddNfsMounts);
  return status.ok() ? write(kQuotaSamples, AddQuota) : status;
}

absl::Status WriteResults(PgConnection* connection, const std::vector<IngestBatch>& batches) {
  const auto write = [&](const char* table, auto add) {
    return WriteTable(connection, batches, table,
                      [&](const IngestBatch& batch, const v1::DeliveryItem& item, CopyRows* rows) {
                        return item.has_result() ? add(batch, item.result(), rows)
                                                 : absl::OkStatus();
                      });
  };
  absl::Status status = WriteTable(connection, batches, kBlockWrites, AddBlockWrites);
  if (status.ok()) status = write(kWorkerResults, AddRest);
  if (status.ok()) status = write(kPhaseOperations, AddCounters);
  if (!status.ok()) return status;
  return write(kThreadResults,
               [](const IngestBatch& batch, const v1::PhaseResult& result, CopyRows* rows) {
                 AddThreads(batch, result, rows);
                 return absl::OkStatus();
               });
}

}  // namespace

absl::Status IngestBatches(PgConnection* connection, const std::vector<IngestBatch>& batches) {
  // The cursors move first: this locks the workers' rows before anything is written, and a batch
  // that is refused has cost no COPY.
  const auto lengths = MoveCursors(connection, batches);
  if (!lengths.ok()) return lengths.status();
  const absl::Status status = WriteIntervals(connection, batches, *lengths);
  return status.ok() ? WriteResults(connection, batches) : status;
}

}  // namespace lockstep::storage
