#include "storage/ingest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/histogram.h"
#include "google/protobuf/util/json_util.h"
#include "measure/result_stats.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// Moves every cursor, and finds out whether all were where they had to be.
absl::Status MoveCursors(PgConnection* connection, const std::vector<IngestBatch>& batches) {
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
  auto moved = connection->Query(
      "UPDATE cursors c SET sequence = v.next FROM unnest($1::uuid[], $2::int[], $3::int[], "
      "$4::int[], $5::bigint[], $6::bigint[]) "
      "AS v(run_id, phase, attempt, worker_index, first, next) "
      "WHERE c.run_id = v.run_id AND c.phase = v.phase AND c.attempt = v.attempt "
      "AND c.worker_index = v.worker_index AND c.sequence = v.first",
      {list(runs), list(phases), list(attempts), list(workers), list(from), list(to)});
  if (!moved.ok()) return moved.status();
  if (moved->affected() != static_cast<int64_t>(batches.size())) {
    return absl::FailedPreconditionError(
        "a worker's samples do not continue where the last ones ended");
  }
  return absl::OkStatus();
}

// The rows of one transaction, table by table.
class Rows {
 public:
  absl::Status Add(const IngestBatch& batch) {
    for (const v1::DeliveryItem& item : batch.items) {
      const absl::Status status = item.has_interval() ? AddInterval(batch, item.interval())
                                                      : AddResult(batch, item.result());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Write(PgConnection* connection) {
    const std::pair<const char*, const CopyRows*> tables[] = {
        {"interval_counters", &counters_}, {"interval_histograms", &histograms_},
        {"device_samples", &devices_},     {"host_samples", &hosts_},
        {"worker_results", &results_},     {"thread_results", &threads_},
        {"phase_results", &phase_results_}};
    for (const auto& [table, rows] : tables) {
      if (rows->empty()) continue;
      const absl::Status status =
          connection->Copy(absl::StrCat("COPY ", table, " FROM STDIN"), rows->rows());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  static CopyRows& Key(CopyRows* rows, const IngestBatch& batch) {
    return rows->Add(batch.phase.run_id())
        .Add(batch.phase.phase())
        .Add(batch.phase.attempt())
        .Add(batch.worker_index);
  }

  static CopyRows& IntervalKey(CopyRows* rows, const v1::IntervalSample& sample) {
    return rows->Add(sample.interval())
        .Add(sample.interval_class())
        .Add(sample.begin_ns())
        .Add(sample.end_ns());
  }

  absl::Status AddInterval(const IngestBatch& batch, const v1::IntervalSample& sample) {
    const std::string started = Utc(batch.go_wall_ns + sample.begin_ns());
    for (const v1::WorkloadSample& workload : sample.workloads()) {
      for (const v1::OperationCounters& c : workload.operations()) {
        AddCounters(batch, sample, started, workload.workload(), c);
      }
      // An interval without any I/O is a row of zeros, not a gap.
      if (!workload.operations().empty()) continue;
      v1::OperationCounters none;
      none.set_kind(v1::OPERATION_KIND_READ);
      AddCounters(batch, sample, started, workload.workload(), none);
    }
    for (const v1::DeviceSample& device : sample.devices()) {
      AddDevice(batch, sample, started, device);
    }
    if (sample.has_host()) AddHost(batch, sample, started);
    return absl::OkStatus();
  }

  void AddCounters(const IngestBatch& batch, const v1::IntervalSample& sample,
                   const std::string& started, uint32_t workload, const v1::OperationCounters& c) {
    CopyRows& row = Key(&counters_.Add(started), batch).Add(workload);
    IntervalKey(&row, sample)
        .Add(c.kind())
        .Add(c.operations())
        .Add(c.bytes())
        .Add(c.errors())
        .Add(c.short_transfers())
        .Add(c.latency_sum_ns())
        .Add(c.latency_min_ns())
        .Add(c.latency_max_ns())
        .EndRow();
    for (const v1::Histogram& h : c.histograms()) {
      Key(&histograms_.Add(started), batch)
          .Add(workload)
          .Add(sample.interval())
          .Add(sample.interval_class())
          .Add(c.kind())
          .Add(h.metric())
          .Add(h.scheme())
          .AddBytes(h.buckets())
          .EndRow();
    }
  }

  void AddDevice(const IngestBatch& batch, const v1::IntervalSample& sample,
                 const std::string& started, const v1::DeviceSample& d) {
    IntervalKey(&Key(&devices_.Add(started), batch), sample)
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
        .EndRow();
  }

  void AddHost(const IngestBatch& batch, const v1::IntervalSample& sample,
               const std::string& started) {
    const v1::HostSample& h = sample.host();
    IntervalKey(&Key(&hosts_.Add(started), batch), sample)
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
        .Add(h.free_bytes())
        .Add(h.cached_bytes())
        .Add(h.dirty_bytes())
        .Add(h.cpu_busy_ns())
        .EndRow();
  }

  absl::Status AddResult(const IngestBatch& batch, const v1::PhaseResult& result) {
    v1::PhaseResult rest = result;
    rest.clear_threads();
    for (v1::WorkloadResult& workload : *rest.mutable_workloads()) {
      for (const v1::IntervalClass interval_class : measure::kIntervalClasses) {
        measure::CountersList* list = measure::MutableCountersOf(&workload, interval_class);
        for (const v1::OperationCounters& c : *list) {
          for (const v1::Histogram& h : c.histograms()) {
            const auto literal = HistogramLiteral(h.buckets());
            if (!literal.ok()) return literal.status();
            Key(&phase_results_, batch)
                .Add(workload.workload())
                .Add(interval_class)
                .Add(c.kind())
                .Add(h.metric())
                .Add(c.operations())
                .Add(c.bytes())
                .Add(c.errors())
                .Add(c.short_transfers())
                .Add(c.latency_sum_ns())
                .Add(c.latency_min_ns())
                .Add(c.latency_max_ns())
                .Add(*literal)
                .EndRow();
          }
        }
        list->Clear();
      }
    }
    for (const v1::ThreadResult& t : result.threads()) {
      Key(&threads_, batch)
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
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(rest, &json).ok()) {
      return absl::InvalidArgumentError("a result that is not valid UTF-8");
    }
    Key(&results_, batch).Add(result.error()).Add(json).EndRow();
    return absl::OkStatus();
  }

  CopyRows counters_, histograms_, devices_, hosts_, results_, threads_, phase_results_;
};

}  // namespace

absl::StatusOr<std::string> HistogramLiteral(const std::string& encoded) {
  common::Histogram histogram;
  if (absl::Status status = histogram.AddEncoded(encoded); !status.ok()) return status;
  std::vector<uint32_t> buckets;
  std::vector<uint64_t> counts;
  for (const auto& [bucket, count] : histogram.Occupied()) {
    buckets.push_back(bucket);
    counts.push_back(count);
  }
  return absl::StrCat("(", common::kHistogramScheme, ",\"{", absl::StrJoin(buckets, ","), "}\",\"{",
                      absl::StrJoin(counts, ","), "}\")");
}

absl::Status IngestBatches(PgConnection* connection, const std::vector<IngestBatch>& batches) {
  if (absl::Status status = MoveCursors(connection, batches); !status.ok()) return status;
  Rows rows;
  for (const IngestBatch& batch : batches) {
    if (absl::Status status = rows.Add(batch); !status.ok()) return status;
  }
  return rows.Write(connection);
}

}  // namespace lockstep::storage
