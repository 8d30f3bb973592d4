// A phase's attempts and samples in the store.

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "storage/ingest.h"
#include "storage/pg_store.h"
#include "storage/sql_histogram.h"
#include "storage/sql_values.h"
#include "storage/timeline.h"

namespace lockstep::storage {

absl::Status PgStore::BeginPhase(const std::string& run_id, const measure::PhaseRecord& phase,
                                 const std::vector<v1::Workload>& workloads,
                                 const std::vector<uint32_t>& workers) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    auto begun = connection->Query(
        "INSERT INTO phases "
        "(run_id, phase, attempt, name, kind, state, interval_ns, ramp_ns, spec, job_phase, step, "
        "point) VALUES ($1, $2, $3, $4, $5, 'arming', $6, $7, $8, $9, $10, $11) ON CONFLICT DO "
        "NOTHING",
        {run_id, absl::StrCat(phase.phase), absl::StrCat(phase.attempt), phase.name, phase.kind,
         absl::StrCat(phase.interval_ns), absl::StrCat(phase.ramp_ns), Json(phase.spec),
         absl::StrCat(phase.job_phase), absl::StrCat(phase.step),
         JsonObject({phase.point.begin(), phase.point.end()})});
    if (!begun.ok()) return begun.status();
    // An earlier call, whose answer was lost, has begun the phase.
    if (begun->affected() == 0) return absl::OkStatus();
    for (size_t i = 0; i < workloads.size(); ++i) {
      // The table of workloads knows no attempts: a further attempt finds the rows of the first.
      auto added = connection->Query(
          "INSERT INTO workloads (run_id, phase, workload, name, spec) VALUES ($1, $2, $3, $4, $5) "
          "ON CONFLICT DO NOTHING",
          {run_id, absl::StrCat(phase.phase), absl::StrCat(i), workloads[i].name(),
           Json(workloads[i])});
      if (!added.ok()) return added.status();
    }
    // Ingest only moves cursors that exist, so that a worker without one here can store nothing in
    // this attempt.
    CopyRows cursors;
    for (uint32_t worker : workers) {
      cursors.Add(run_id)
          .Add(phase.phase)
          .Add(phase.attempt)
          .Add(worker)
          .Add(0)
          .Add(0)
          .Add(0)
          .EndRow();
    }
    return connection->Copy(
        "COPY cursors (run_id, phase, attempt, worker_index, sequence, clock_offset_ns, "
        "clock_bound_ns) FROM STDIN",
        cursors.rows());
  });
}

absl::Status PgStore::CommitGo(const std::string& run_id, uint32_t phase, uint32_t attempt,
                               int64_t go_ns, int64_t go_wall_ns,
                               const std::vector<measure::WorkerClock>& clocks) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    const std::string at = Utc(go_wall_ns);
    auto gone = connection->Query(
        "UPDATE phases SET state = 'running', go_ns = $4, go_at = $5 WHERE run_id = $1 AND phase = "
        "$2 AND attempt = $3",
        {run_id, absl::StrCat(phase), absl::StrCat(attempt), absl::StrCat(go_ns), at});
    if (!gone.ok()) return gone.status();
    std::vector<std::string> workers, offsets, bounds;
    for (const measure::WorkerClock& clock : clocks) {
      workers.push_back(absl::StrCat(clock.worker_index));
      offsets.push_back(absl::StrCat(clock.offset_ns));
      bounds.push_back(absl::StrCat(clock.bound_ns));
    }
    const auto list = [](const std::vector<std::string>& items) {
      return absl::StrCat("{", absl::StrJoin(items, ","), "}");
    };
    // All clocks go into one statement: workers are told T only after this commit, and a round trip
    // for each of thousands would delay it.
    auto kept = connection->Query(
        "UPDATE cursors c SET clock_offset_ns = v.o, clock_bound_ns = v.b FROM unnest($4::int[], "
        "$5::bigint[], $6::bigint[]) AS v(w, o, b) "
        "WHERE c.run_id = $1 AND c.phase = $2 AND c.attempt = $3 AND c.worker_index = v.w",
        {run_id, absl::StrCat(phase), absl::StrCat(attempt), list(workers), list(offsets),
         list(bounds)});
    if (!kept.ok()) return kept.status();
    // The first batch of samples then finds its partitions and does not have to make them.
    return EnsurePartitions(connection, go_wall_ns, go_wall_ns);
  });
}

absl::Status PgStore::EndPhase(const std::string& run_id, uint32_t phase, uint32_t attempt,
                               measure::PhaseState state, const std::string& reason,
                               const measure::Recording& recording,
                               const v1::PhaseFigures& figures) {
  return Transaction(kWholeRunLimit, [&](PgConnection* connection) -> absl::Status {
    auto ended = connection->Query(
        "UPDATE phases SET state = $4, reason = $5, figures = $6, ended_at = now() "
        "WHERE run_id = $1 AND phase = $2 AND attempt = $3 AND ended_at IS NULL",
        {run_id, absl::StrCat(phase), absl::StrCat(attempt), Text(state), reason, Json(figures)});
    if (!ended.ok()) return ended.status();
    // An earlier call, whose answer was lost, has ended the phase: its rollups and its timeline are
    // stored, and a second COPY of them would violate their keys.
    if (ended->affected() == 0) return absl::OkStatus();
    CopyRows rows;
    for (const measure::Rollup& r : recording.rollups) {
      auto number = HistogramNumber(r.buckets);
      if (!number.ok()) return number.status();
      rows.Add(run_id)
          .Add(phase)
          .Add(attempt)
          .Add(r.workload)
          .Add(r.kind)
          .Add(r.metric)
          .Add(r.begin_ns)
          .Add(r.operations)
          .Add(r.bytes)
          .Add(*number)
          .EndRow();
    }
    if (!rows.empty()) {
      const absl::Status kept = connection->Copy("COPY latency_rollups FROM STDIN", rows.rows());
      if (!kept.ok()) return kept;
    }
    v1::PhaseId id;
    id.set_run_id(run_id);
    id.set_phase(phase);
    id.set_attempt(attempt);
    return WriteTimeline(connection, id, recording.timeline);
  });
}

absl::Status PgStore::CommitEndOfLoad(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                      uint32_t interval) {
  return Run("UPDATE phases SET end_of_load = $4 WHERE run_id = $1 AND phase = $2 AND attempt = $3",
             {run_id, absl::StrCat(phase), absl::StrCat(attempt), absl::StrCat(interval)});
}

absl::Status PgStore::Ingest(const std::vector<IngestBatch>& batches) {
  // A run may outlive the month for which CommitGo() made the partitions. A row without a partition
  // is an error, so that they are made before the samples are stored.
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (const IngestBatch& batch : batches) {
    for (const v1::DeliveryItem& item : batch.items) {
      if (!item.has_interval()) continue;
      first = std::min(first, batch.go_wall_ns + item.interval().begin_ns());
      last = std::max(last, batch.go_wall_ns + item.interval().begin_ns());
    }
  }
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    if (last != 0) {
      if (absl::Status made = EnsurePartitions(connection, first, last); !made.ok()) return made;
    }
    return IngestBatches(connection, batches);
  });
  if (!status.ok() || last == 0) return status;
  common::MutexLock lock(&mutex_);
  // Months are remembered only after the commit: a rollback takes its new partitions away. They are
  // a cache, and a bound keeps it small whatever instants the samples name.
  if (months_.size() > 1000) months_.clear();
  for (const int64_t at : {first, last}) {
    months_.insert(absl::FormatTime("%Y-%m", absl::FromUnixNanos(at), absl::UTCTimeZone()));
  }
  return status;
}

}  // namespace lockstep::storage
