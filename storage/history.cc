// Lists of runs: by what they were and on what they ran.

#include <algorithm>

#include "absl/strings/str_cat.h"
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

  // `$` in the condition is the value.
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
  if (!rows.Null(row, 9)) {
    (void)google::protobuf::util::JsonStringToMessage(rows.Text(row, 9), &summary);
  }
  summary.set_run_id(rows.Text(row, 0));
  summary.set_job_name(rows.Text(row, 1));
  summary.set_owner(rows.Text(row, 2));
  v1::RunSummary labels;  // protobuf reads what is quoted
  (void)google::protobuf::util::JsonStringToMessage(
      absl::StrCat("{\"labels\":", rows.Text(row, 3), "}"), &labels);
  *summary.mutable_labels() = labels.labels();
  summary.set_state(rows.Text(row, 4));
  summary.set_outcome(rows.Text(row, 5));
  summary.set_submitted_at(rows.Text(row, 6));
  summary.set_started_at(rows.Text(row, 7));
  summary.set_ended_at(rows.Text(row, 8));
  summary.set_degraded(rows.Bool(row, 10));
  summary.set_hosts(static_cast<uint32_t>(rows.Int(row, 11)));
  summary.set_invalid(rows.Bool(row, 12));
  return summary;
}

}  // namespace

absl::StatusOr<v1::HistoryReply> ListRuns(PgConnection* connection,
                                          const v1::HistoryRequest& request) {
  const Where where = WhereOf(request.filter());
  const uint32_t limit =
      request.limit() == 0 ? 20 : std::min<uint32_t>(request.limit(), limits::kHistoryLimit);
  const auto time = [](const char* column) {
    return absl::StrCat("to_char(", column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
  };
  auto rows = connection->Query(
      absl::StrCat(
          "SELECT r.run_id, r.job, r.owner, r.labels, r.state, r.outcome, ", time("r.submitted_at"),
          ", ", time("r.started_at"), ", ", time("r.ended_at"),
          ", r.summary, r.degraded, (SELECT count(*) FROM run_workers w WHERE w.run_id = r.run_id), "
          "EXISTS (SELECT FROM phase_verdicts v WHERE v.run_id = r.run_id AND v.invalid) FROM runs "
          "r WHERE ",
          where.sql, " ORDER BY r.submitted_at DESC, r.run_id DESC LIMIT ", limit, " OFFSET ",
          request.offset()),
      where.parameters);
  if (!rows.ok()) return rows.status();
  v1::HistoryReply reply;
  for (int i = 0; i < rows->rows(); ++i) *reply.add_runs() = SummaryOf(*rows, i);
  auto total = connection->Query(absl::StrCat("SELECT count(*) FROM runs r WHERE ", where.sql),
                                 where.parameters);
  if (!total.ok()) return total.status();
  reply.set_total(static_cast<double>(total->Int(0, 0)));
  return reply;
}

}  // namespace lockstep::storage
