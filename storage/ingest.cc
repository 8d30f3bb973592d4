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

PhaseKey KeyOf(const v1::PhaseId& id) { return {id.run_id(), id.phase(), id.attempt()}; }

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
  auto moved = connection->Query(
      "UPDATE cursors c SET sequence = v.next FROM unnest($1::uuid[], $2::int[], $3::int[], "
      "$4::int[], $5::bigint[], $6::bigint[]) "
      "AS v(run_id, phase, attempt, worker_index, first, next) JOIN phases p USING (run_id, phase, "
      "attempt) WHERE c.run_id = v.run_id AND c.phase = v.phase AND c.attempt = v.attempt "
      "AND c.worker_index = v.worker_index AND c.sequence = v.first "
      "RETURNING c.run_id, c.phase, c.attempt, p.interval_ns",
      {list(runs), list(phases), list(attempts), list(workers), list(from), list(to)});
  if (!moved.ok()) return moved.status();
  if (moved->affected() != static_cast<int64_t>(batches.size())) {
    return absl::FailedPreconditionError(
        "a worker's samples do not continue where the last ones ended");
  }
  Lengths lengths;
  for (int i = 0; i < moved->rows(); ++i) {
    lengths[{moved->Text(i, 0), static_cast<uint32_t>(moved->Int(i, 1)),
             static_cast<uint32_t>(moved->Int(i, 2))}] = moved->Int(i, 3);
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

// The rows of one transaction, table by table.
class Rows {
 public:
  explicit Rows(Lengths lengths) : lengths_(std::move(lengths)) {}

  absl::Status Add(const IngestBatch& batch) {
    const auto length = lengths_.find(KeyOf(batch.phase));
    interval_ns_ = length == lengths_.end() ? 0 : length->second;
    for (const v1::DeliveryItem& item : batch.items) {
      if (item.has_interval()) {
        AddInterval(batch, item.interval());
      } else if (absl::Status status = AddResult(batch, item.result()); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Write(PgConnection* connection) {
    const std::pair<const char*, const CopyRows*> tables[] = {
        {"interval_operations", &operations_},
        {"device_samples", &devices_},
        {"host_samples", &hosts_},
        {"worker_results", &results_},
        {"thread_results", &threads_},
        {"phase_operations", &phase_operations_}};
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

  void AddInterval(const IngestBatch& batch, const v1::IntervalSample& sample) {
    const std::string started = Utc(batch.go_wall_ns + sample.begin_ns());
    for (const v1::WorkloadSample& workload : sample.workloads()) {
      for (const v1::OperationCounters& c : workload.operations()) {
        AddOperations(batch, sample, started, workload.workload(), c);
      }
      // An interval without any I/O is a row of zeros, not a gap.
      if (!workload.operations().empty()) continue;
      v1::OperationCounters none;
      none.set_kind(v1::OPERATION_KIND_READ);
      AddOperations(batch, sample, started, workload.workload(), none);
    }
    for (const v1::DeviceSample& device : sample.devices()) {
      AddDevice(batch, sample, started, device);
    }
    if (sample.has_host()) AddHost(batch, sample, started);
  }

  void AddOperations(const IngestBatch& batch, const v1::IntervalSample& sample,
                     const std::string& started, uint32_t workload,
                     const v1::OperationCounters& c) {
    const int64_t begin = int64_t{sample.interval()} * interval_ns_;
    const bool regular = sample.begin_ns() == begin && sample.end_ns() == begin + interval_ns_;
    operations_.Add(batch.phase.run_id())
        .Add(started)
        .Add(c.operations())
        .Add(c.bytes())
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
      buckets == nullptr ? operations_.AddNull() : operations_.AddBytes(*buckets);
    }
    operations_.EndRow();
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
          CopyRows& row = Key(&phase_operations_, batch)
                              .Add(workload.workload())
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
              row.AddNull();
              continue;
            }
            const auto number = HistogramNumber(*buckets);
            if (!number.ok()) return number.status();
            row.Add(*number);
          }
          row.EndRow();
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

  const Lengths lengths_;
  int64_t interval_ns_ = 0;  // of the batch that is being added
  CopyRows operations_, devices_, hosts_, results_, threads_, phase_operations_;
};

}  // namespace

absl::Status IngestBatches(PgConnection* connection, const std::vector<IngestBatch>& batches) {
  auto lengths = MoveCursors(connection, batches);
  if (!lengths.ok()) return lengths.status();
  Rows rows(*std::move(lengths));
  for (const IngestBatch& batch : batches) {
    if (absl::Status status = rows.Add(batch); !status.ok()) return status;
  }
  return rows.Write(connection);
}

}  // namespace lockstep::storage
