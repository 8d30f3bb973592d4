// Lists of runs: by what they were and on what they ran.

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "google/protobuf/util/json_util.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// A condition for each filter that is given, and its parameters.
struct Where {
  std::string sql = "true";
  std::vector<PgParam> parameters;

  // `$` in the condition is the value, which is sent as a parameter: no filter can hold SQL.
  void Add(const std::string& condition, const std::string& value) {
    parameters.push_back(value);
    absl::StrAppend(&sql, " AND ");
    for (const char c : condition) {
      if (c == '$') {
        absl::StrAppend(&sql, "$", parameters.size());
      } else {
        sql.push_back(c);
      }
    }
  }
};

Where WhereOf(const v1::RunFilter& filter) {
  Where where;
  if (!filter.job_name().empty()) where.Add("r.job = $", filter.job_name());
  if (!filter.owner().empty()) where.Add("r.owner = $", filter.owner());
  if (!filter.state().empty()) where.Add("r.state = $", filter.state());
  if (!filter.labels().empty()) where.Add("r.labels @> $::jsonb", JsonObject(filter.labels()));
  if (!filter.host().empty()) {
    where.Add("r.run_id IN (SELECT run_id FROM run_workers WHERE host = $)", filter.host());
  }
  if (!filter.device().empty()) {
    where.Add(
        // Each half of the UNION uses an index of its own. These indexes are partial; `<> ''` lets
        // the planner see that they apply (PostgreSQL, "Partial Indexes").
        "r.run_id IN (SELECT run_id FROM run_targets WHERE identity = $ AND identity <> '' UNION "
        "SELECT run_id FROM run_targets WHERE device = $ AND device <> '')",
        filter.device());
  }
  if (!filter.since().empty()) where.Add("r.submitted_at >= $::timestamptz", filter.since());
  if (!filter.until().empty()) where.Add("r.submitted_at < $::timestamptz", filter.until());
  return where;
}

v1::RunSummary SummaryOf(const PgResult& rows, int row) {
  v1::RunSummary summary;
  if (!rows.Null(row, "summary")) {
    // A summary that this version cannot read costs its details, not the whole list: the columns
    // below are set in any case.
    (void)google::protobuf::util::JsonStringToMessage(rows.Text(row, "summary"), &summary);
  }
  summary.set_run_id(rows.Text(row, "run_id"));
  summary.set_job_name(rows.Text(row, "job"));
  summary.set_owner(rows.Text(row, "owner"));
  v1::RunSummary labels;  // protobuf reads what is quoted
  (void)google::protobuf::util::JsonStringToMessage(
      absl::StrCat("{\"labels\":", rows.Text(row, "labels"), "}"), &labels);
  *summary.mutable_labels() = labels.labels();
  summary.set_state(rows.Text(row, "state"));
  summary.set_outcome(rows.Text(row, "outcome"));
  summary.set_submitted_at(rows.Text(row, "submitted_at"));
  summary.set_started_at(rows.Text(row, "started_at"));
  summary.set_ended_at(rows.Text(row, "ended_at"));
  summary.set_degraded(rows.Bool(row, "degraded"));
  summary.set_hosts(static_cast<uint32_t>(rows.Int(row, "hosts")));
  summary.set_invalid(rows.Bool(row, "invalid"));
  if (rows.Bool(row, "synthetic")) summary.set_synthetic(true);  // else what its summary says
  return summary;
}

// The columns of a run's summary, of `runs r`.
std::string SummaryColumns() {
  const auto time = [](const char* column) {
    return absl::StrCat("to_char(r.", column,
                        " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS ", column);
  };
  return absl::StrCat(
      "r.run_id, r.job, r.owner, r.labels, r.state, r.outcome, ", time("submitted_at"), ", ",
      time("started_at"), ", ", time("ended_at"),
      ", r.summary, r.degraded, (SELECT count(*) FROM run_workers w WHERE w.run_id = r.run_id) "
      "AS hosts, EXISTS (SELECT FROM phase_verdicts v WHERE v.run_id = r.run_id AND v.invalid) AS "
      "invalid, "
      "r.summary IS NULL AND EXISTS (SELECT FROM run_workers w WHERE w.run_id = r.run_id AND "
      "w.inspection ->> 'synthetic' = 'true') AS synthetic");
}

v1::FigureRow FigureRowOf(const PgResult& rows, int row) {
  v1::FigureRow figure;
  figure.set_workload(rows.Text(row, "workload"));
  v1::OperationReport* o = figure.mutable_operation();
  o->set_kind(rows.Text(row, "kind"));
  o->set_operations(rows.Real(row, "operations"));
  o->set_errors(rows.Real(row, "errors"));
  if (!rows.Null(row, "iops")) o->set_iops(rows.Real(row, "iops"));
  if (!rows.Null(row, "bytes_per_second")) {
    o->set_bytes_per_second(rows.Real(row, "bytes_per_second"));
  }
  if (!rows.Null(row, "mean_ns")) o->set_latency_avg_ns(rows.Real(row, "mean_ns"));
  if (!rows.Null(row, "max_ns")) o->set_latency_max_ns(rows.Real(row, "max_ns"));
  constexpr std::pair<double, const char*> kPercentiles[] = {
      {50, "p50_ns"}, {95, "p95_ns"}, {99, "p99_ns"}, {99.9, "p999_ns"}, {99.99, "p9999_ns"}};
  for (const auto& [percent, column] : kPercentiles) {
    if (rows.Null(row, column)) continue;
    v1::Percentile* p = o->add_percentiles();
    p->set_percent(percent);
    p->set_latency_ns(rows.Real(row, column));
  }
  return figure;
}

// The columns of time_figures have the names of the message's fields.
std::string TimeColumns() {
  std::string columns;
  const google::protobuf::Descriptor* fields = v1::TimeSpent::GetDescriptor();
  for (int f = 0; f < fields->field_count(); ++f) {
    absl::StrAppend(&columns, ", t.", fields->field(f)->name());
  }
  return columns;
}

v1::TimeSpent TimeSpentOf(const PgResult& rows, int row) {
  v1::TimeSpent spent;
  const google::protobuf::Descriptor* fields = v1::TimeSpent::GetDescriptor();
  for (int f = 0; f < fields->field_count(); ++f) {
    const std::string column(fields->field(f)->name());
    if (rows.Null(row, column.c_str())) continue;
    v1::TimeSpent::GetReflection()->SetDouble(&spent, fields->field(f),
                                              rows.Real(row, column.c_str()));
  }
  return spent;
}

absl::Status AddPhases(PgConnection* connection, const std::string& ids,
                       std::map<std::string, v1::RunFigures*>* runs) {
  auto rows = connection->Query(
      absl::StrCat(
          "SELECT f.run_id, f.phase, p.name, v.invalid, v.jain_iops AS jain, "
          "f.workload, f.kind, "
          "f.operations, f.errors, f.iops, f.bytes_per_second, f.mean_ns, f.max_ns, f.p50_ns, "
          "f.p95_ns, "
          "f.p99_ns, f.p999_ns, f.p9999_ns, v.limited_by",
          TimeColumns(),
          " FROM phase_figures f JOIN phase_verdicts v USING (run_id, phase) JOIN "
          "phase_overview p USING (run_id, phase) LEFT JOIN time_figures t ON t.run_id = "
          "f.run_id AND t.phase = f.phase WHERE f.run_id = ANY ($1::uuid[]) AND "
          "f.worker_index IS NULL AND f.is_reported ORDER BY f.run_id, f.phase, "
          "f.workload, f.kind"),
      {ids});
  if (!rows.ok()) return rows.status();
  for (int i = 0; i < rows->rows(); ++i) {
    v1::RunFigures* run = (*runs)[rows->Text(i, "run_id")];
    if (run == nullptr) continue;
    const auto index = static_cast<uint32_t>(rows->Int(i, "phase"));
    // ORDER BY keeps the rows of a phase together, so that only the last phase can be a row's.
    if (run->phases().empty() || run->phases().rbegin()->index() != index) {
      v1::PhaseOfRun* phase = run->add_phases();
      phase->set_index(index);
      phase->set_name(rows->Text(i, "name"));
      phase->set_invalid(rows->Bool(i, "invalid"));
      if (!rows->Null(i, "jain")) phase->set_jain(rows->Real(i, "jain"));
      phase->set_limited_by(rows->Text(i, "limited_by"));
      *phase->mutable_time_spent() = TimeSpentOf(*rows, i);
    }
    *run->mutable_phases()->rbegin()->add_rows() = FigureRowOf(*rows, i);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::HistoryReply> ListRuns(PgConnection* connection,
                                          const v1::HistoryRequest& request) {
  const Where where = WhereOf(request.filter());
  const uint32_t limit =
      request.limit() == 0 ? 20 : std::min<uint32_t>(request.limit(), limits::kHistoryLimit);
  // The page is chosen first. Otherwise the subqueries of SummaryColumns() would also run for every
  // run that OFFSET skips.
  auto rows = connection->Query(
      absl::StrCat("SELECT ", SummaryColumns(), " FROM (SELECT r.run_id FROM runs r WHERE ",
                   where.sql, " ORDER BY r.submitted_at DESC, r.run_id DESC LIMIT ", limit,
                   " OFFSET ", request.offset(),
                   ") page JOIN runs r USING (run_id) ORDER BY r.submitted_at DESC, r.run_id DESC"),
      where.parameters);
  if (!rows.ok()) return rows.status();
  v1::HistoryReply reply;
  for (int i = 0; i < rows->rows(); ++i) *reply.add_runs() = SummaryOf(*rows, i);
  // The list and the total have no common snapshot. A run that is submitted between the two
  // statements makes them differ by one, which readers of a list can bear.
  auto total = connection->Query(
      absl::StrCat("SELECT count(*) AS total FROM runs r WHERE ", where.sql), where.parameters);
  if (!total.ok()) return total.status();
  reply.set_total(static_cast<double>(total->Int(0, "total")));
  return reply;
}

absl::StatusOr<std::vector<v1::RunFigures>> LoadFigures(PgConnection* connection,
                                                        const std::vector<std::string>& run_ids) {
  const std::string ids = absl::StrCat("{", absl::StrJoin(run_ids, ","), "}");
  auto rows = connection->Query(
      // `-` raises an error on a scalar, so one odd document would fail the comparison of all the
      // runs: hence the CASE.
      absl::StrCat("SELECT ", SummaryColumns(),
                   ", CASE jsonb_typeof(r.spec) WHEN 'object' THEN r.spec - 'name' - 'labels' - "
                   "'description' END AS compared_job FROM runs r JOIN unnest($1::uuid[]) "
                   "WITH ORDINALITY AS wanted(run_id, position) USING (run_id) ORDER BY position"),
      {ids});
  if (!rows.ok()) return rows.status();
  std::vector<v1::RunFigures> figures(static_cast<size_t>(rows->rows()));
  std::map<std::string, v1::RunFigures*> by_id;
  for (int i = 0; i < rows->rows(); ++i) {
    *figures[static_cast<size_t>(i)].mutable_run() = SummaryOf(*rows, i);
    figures[static_cast<size_t>(i)].set_job(rows->Text(i, "compared_job"));
    by_id[rows->Text(i, "run_id")] = &figures[static_cast<size_t>(i)];
  }
  if (absl::Status status = AddPhases(connection, ids, &by_id); !status.ok()) return status;
  auto facts = connection->Query(
      "SELECT run_id, name, string_agg(DISTINCT value, ', ' ORDER BY value) AS values FROM "
      "environment_facts "
      "WHERE run_id = ANY ($1::uuid[]) GROUP BY 1, 2",
      {ids});
  if (!facts.ok()) return facts.status();
  for (int i = 0; i < facts->rows(); ++i) {
    v1::RunFigures* run = by_id[facts->Text(i, "run_id")];
    if (run != nullptr)
      (*run->mutable_environment())[facts->Text(i, "name")] = facts->Text(i, "values");
  }
  return figures;
}

absl::StatusOr<ToPrune> ListToPrune(PgConnection* connection, const v1::PruneRequest& request,
                                    int max_runs) {
  const Where where = WhereOf(request.filter());
  // A run in which a lost worker still has a quarantine stays: the quarantine is a row of
  // run_workers and would go with it. Samples stay until this version's figures were made from
  // them, since later they cannot be.
  const std::string of = absl::StrCat(
      " FROM runs r WHERE r.state NOT IN ('queued', 'running') AND NOT EXISTS (SELECT FROM "
      "run_workers w WHERE w.run_id = r.run_id AND w.quarantine_ns IS NOT NULL) AND ",
      request.samples_only() ? absl::StrCat("r.samples_pruned_at IS NULL AND r.figures_version >= ",
                                            PgStore::kFiguresVersion, " AND ")
                             : "",
      where.sql);
  auto rows = connection->Query(absl::StrCat("SELECT ", SummaryColumns(), of,
                                             " ORDER BY r.submitted_at, r.run_id LIMIT ", max_runs),
                                where.parameters);
  if (!rows.ok()) return rows.status();
  ToPrune list;
  for (int i = 0; i < rows->rows(); ++i) list.runs.push_back(SummaryOf(*rows, i));
  auto total = connection->Query(absl::StrCat("SELECT count(*) AS total", of), where.parameters);
  if (!total.ok()) return total.status();
  list.total = static_cast<double>(total->Int(0, "total"));
  return list;
}

absl::Status PruneRuns(PgConnection* connection, const std::vector<v1::RunSummary>& runs,
                       const std::vector<v1::Report>& reports) {
  const std::string ids = absl::StrCat(
      "{", absl::StrJoin(runs, ",", [](std::string* out, const auto& r) { *out += r.run_id(); }),
      "}");
  // If the run stays, its devices', hosts' and networks' samples stay in a coarser form. It is made
  // here, when all samples are there, and not while they are: it would be the same figures twice.
  if (!reports.empty()) {
    auto rolled = connection->Query("SELECT roll_up_samples($1::uuid[])", {ids});
    if (!rolled.ok()) return rolled.status();
  }
  // The partitioned tables of samples have no foreign key, so no CASCADE reaches them. block_writes
  // has one, but goes with the samples even where the run stays. All other rows go with their run.
  for (const char* table : {"interval_operations", "device_samples", "host_samples",
                            "interface_samples", "nfs_samples", "quota_samples", "block_writes"}) {
    auto gone = connection->Query(
        absl::StrCat("DELETE FROM ", table, " WHERE run_id = ANY ($1::uuid[])"), {ids});
    if (!gone.ok()) return gone.status();
  }
  if (reports.empty()) {
    return connection->Query("DELETE FROM runs WHERE run_id = ANY ($1::uuid[])", {ids}).status();
  }
  for (const v1::Report& report : reports) {
    auto kept = connection->Query(
        "UPDATE runs SET samples_pruned_at = now(), report = $2 WHERE run_id = $1",
        {report.run().run_id(),
         absl::StrCat("\\x", absl::BytesToHexString(report.SerializeAsString()))});
    if (!kept.ok()) return kept.status();
  }
  return absl::OkStatus();
}

}  // namespace lockstep::storage
