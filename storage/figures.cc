// A report's figures as rows: SQL gives the same figures, and trends over many runs are quick.

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "storage/finding_rows.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// The owner of figures: the fleet if there is no host.
struct Of {
  const v1::HostReport* host = nullptr;
  std::string workload;  // empty: all
  bool is_reported = true;
  // Of a total that has closed loops.
  std::optional<double> stalled_ratio = std::nullopt;
  std::optional<double> corrected_p99_ns = std::nullopt;
};

// The figures of a host, a workload or a phase, all kinds of operations together.
template <typename Report>
Of TotalOf(const v1::HostReport* host, const std::string& workload, const Report& report) {
  Of of{host, workload};
  if (report.has_stalled_ratio()) of.stalled_ratio = report.stalled_ratio();
  if (report.has_corrected_p99_ns()) of.corrected_p99_ns = report.corrected_p99_ns();
  return of;
}

// The sentences of observe phases about limits that earlier runs measured.
class ShareRows {
 public:
  explicit ShareRows(const std::string& run_id) : run_id_(run_id) {}

  void Add(const v1::PhaseReport& phase) {
    int number = 0;
    for (const v1::ObservedShare& s : phase.observed().shares()) {
      rows_.Add(run_id_).Add(phase.index()).Add(number++).Add(s.device()).Add(TextArray(s.hosts()));
      rows_.Add(s.identity()).Add(s.compared_run()).Add(s.compared_phase());
      // An archive that somebody else made may have any text here.
      absl::Time time;
      const bool is_time = absl::ParseTime(absl::RFC3339_full, s.measured_at(), &time, nullptr);
      is_time ? rows_.Add(s.measured_at()) : rows_.AddNull();
      rows_.AddExact(s.iops());
      Known(s.has_read_ratio(), s.read_ratio());
      Known(s.has_read_request_bytes(), s.read_request_bytes());
      Known(s.has_write_request_bytes(), s.write_request_bytes());
      rows_.AddExact(s.limit_iops());
      Known(s.has_limit_read_ratio(), s.limit_read_ratio());
      Known(s.has_limit_read_request_bytes(), s.limit_read_request_bytes());
      Known(s.has_limit_write_request_bytes(), s.limit_write_request_bytes());
      Known(s.has_share(), s.share());
      Latency(s, 0.6);
      Latency(s, 0.9);
      rows_.Add(s.difference()).Add(s.sentence()).EndRow();
    }
  }
  const CopyRows& rows() const { return rows_; }

 private:
  void Known(bool is_known, double value) { is_known ? rows_.AddExact(value) : rows_.AddNull(); }

  void Latency(const v1::ObservedShare& share, double at) {
    // Each was measured within 5 percentage points of its share (measured_limits.cc).
    for (const v1::LatencyAtShare& latency : share.latencies()) {
      if (std::abs(latency.share() - at) < 0.1) {
        rows_.AddExact(latency.p99_ns());
        return;
      }
    }
    rows_.AddNull();
  }

  const std::string run_id_;
  CopyRows rows_;
};

std::string StandingText(v1::Standing standing) {
  switch (standing) {
    case v1::STANDING_BEST:
      return "best";
    case v1::STANDING_NOT_DISTINGUISHABLE:
      return "not distinguishable";
    case v1::STANDING_WORSE:
      return "worse";
    case v1::STANDING_TOO_FEW_ROUNDS:
      return "too few rounds";
    case v1::STANDING_ALONE:
      return "alone";
    default:
      return "not compared";
  }
}

class SweepRows {
 public:
  explicit SweepRows(const std::string& run_id) : run_id_(run_id) {}

  void Add(const v1::SweepReport& sweep) {
    const int number = number_of_sweeps_++;
    // No point ran, or the report was made before sweeps were concluded.
    if (!sweep.has_conclusion()) return;
    sweep_ = number;
    const v1::SweepConclusion& conclusion = sweep.conclusion();
    google::protobuf::RepeatedPtrField<std::string> axes;
    for (const v1::SweepAxisReport& axis : sweep.axes()) *axes.Add() = axis.field();
    sweeps_.Add(run_id_).Add(sweep_).Add(sweep.phase()).Add(TextArray(axes));
    sweeps_.Add(conclusion.sentence()).Add(conclusion.figure());
    sweeps_.Add(conclusion.higher_is_better() ? "t" : "f").Add(conclusion.rounds());
    sweeps_.AddUnless(!conclusion.has_more_rounds(), conclusion.more_rounds()).EndRow();
    for (int p = 0; p < sweep.points_size(); ++p) Point(sweep, p);
  }
  const CopyRows& sweeps() const { return sweeps_; }
  const CopyRows& points() const { return points_; }

 private:
  void Point(const v1::SweepReport& sweep, int number) {
    const v1::SweepPointReport& point = sweep.points(number);
    google::protobuf::Map<std::string, std::string> values;
    for (int a = 0; a < sweep.axes_size() && a < point.indices_size(); ++a) {
      const auto index = static_cast<int>(point.indices(a));
      if (index < sweep.axes(a).values_size()) {
        values[sweep.axes(a).field()] = sweep.axes(a).values(index);
      }
    }
    const v1::PointComparison& c = point.comparison();
    points_.Add(run_id_).Add(sweep_).Add(number).Add(JsonObject(values));
    points_.Add(absl::StrCat("{", absl::StrJoin(point.phases(), ","), "}"));
    points_.Add(StandingText(c.standing())).Add(c.reason()).Add(c.rounds());
    const auto add = [&](bool known, double value) {
      known ? points_.AddExact(value) : points_.AddNull();
    };
    add(c.has_mean(), c.mean());
    add(c.has_low(), c.low());
    add(c.has_high(), c.high());
    add(c.has_ratio(), c.ratio());
    add(c.has_ratio_low(), c.ratio_low());
    add(c.has_ratio_high(), c.ratio_high());
    add(c.has_p_value(), c.p_value());
    points_.AddUnless(!c.has_more_rounds(), c.more_rounds());
    add(point.runs() > 0, point.iops());
    add(point.runs() > 0, point.bytes_per_second());
    // 0: too few I/Os for a percentile, or no threads.
    add(point.p50_ns() > 0, point.p50_ns());
    add(point.p99_ns() > 0, point.p99_ns());
    add(point.thread_jain() > 0, point.thread_jain());
    points_.EndRow();
  }

  const std::string run_id_;
  int number_of_sweeps_ = 0;
  int sweep_ = 0;  // the number of the one whose rows are made
  CopyRows sweeps_, points_;
};

class FigureRows {
 public:
  explicit FigureRows(const std::string& run_id)
      : run_id_(run_id), findings_(run_id), shares_(run_id), sweeps_(run_id) {}

  void Add(const v1::SweepReport& sweep) { sweeps_.Add(sweep); }

  void Add(const v1::PhaseReport& phase) {
    Verdict(phase);
    findings_.Add(phase);
    shares_.Add(phase);
    if (phase.workloads().empty()) return;
    phase_ = phase.index();
    Rows(TotalOf(nullptr, "", phase), phase.total());
    if (phase.has_time_spent()) Times(phase.time_spent());
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      Rows(TotalOf(nullptr, workload.name(), workload), workload.total());
      for (const auto& o : workload.operations()) Rows({nullptr, workload.name()}, o);
      // These are the same operations under a second metric. is_reported is false, so that SQL can
      // add operations up without counting them twice.
      for (const auto& o : workload.service_times()) Rows({nullptr, workload.name(), false}, o);
      for (const auto& o : workload.submission_latencies()) {
        Rows({nullptr, workload.name(), false}, o);
      }
    }
    for (const v1::HostReport& host : phase.hosts()) {
      // A lost worker's I/Os are in no figure of the phase. With a row of its own the hosts would
      // add up to more than the fleet.
      if (host.lost()) continue;
      Rows(TotalOf(&host, "", host), host.total());
      for (const v1::HostWorkloadReport& workload : host.workloads()) {
        for (const auto& o : workload.operations()) Rows({&host, workload.name()}, o);
      }
    }
  }

  absl::Status Write(PgConnection* connection) const {
    for (const auto& [table, rows] :
         {std::pair("phase_verdicts", &verdicts_), std::pair("phase_figures", &figures_),
          std::pair("findings", &findings_.rows()), std::pair("observed_shares", &shares_.rows()),
          std::pair("time_figures", &times_), std::pair("percentile_figures", &percentiles_),
          std::pair("sweep_figures", &sweeps_.sweeps()),
          std::pair("sweep_point_figures", &sweeps_.points())}) {
      if (rows->empty()) continue;
      const absl::Status status =
          connection->Copy(absl::StrCat("COPY ", table, " FROM STDIN"), rows->rows());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // As SQL names it.
  static std::string MetricOf(const v1::OperationReport& o) {
    return absl::StrReplaceAll(o.metric(), {{"_", " "}});
  }

  void Rows(const Of& of, const v1::OperationReport& o) {
    Row(of, o);
    Percentiles(of, o);
  }

  void Row(const Of& of, const v1::OperationReport& o) {
    CopyRows& row = figures_.Add(run_id_).Add(phase_);
    if (of.host == nullptr) {
      row.AddNull().AddNull();
    } else {
      row.Add(of.host->worker_index()).Add(of.host->host());
    }
    row.Add(of.workload)
        .Add(o.kind())
        .Add(MetricOf(o))
        .Add(of.is_reported ? "t" : "f")
        .Add(static_cast<int64_t>(o.operations()))
        .Add(static_cast<int64_t>(o.bytes()))
        .Add(static_cast<int64_t>(o.errors()));
    // A workload that ended in the ramp has no rate.
    o.has_iops() ? row.AddExact(o.iops()) : row.AddNull();
    o.has_bytes_per_second() ? row.AddExact(o.bytes_per_second()) : row.AddNull();
    // An operation that never completed has no latency. NULL keeps it out of averages and minima in
    // SQL; 0 would be the smallest.
    const bool none = o.percentiles().empty();
    for (const double latency : {o.latency_min_ns(), o.latency_avg_ns(), o.latency_max_ns()}) {
      none ? row.AddNull() : row.AddExact(latency);
    }
    for (const double percent : {50.0, 90.0, 95.0, 99.0, 99.9, 99.99}) {
      const v1::Percentile* found = nullptr;
      for (const v1::Percentile& p : o.percentiles()) {
        if (p.percent() == percent && p.has_latency_ns()) found = &p;
      }
      found == nullptr ? row.AddNull() : row.AddExact(found->latency_ns());
    }
    for (const std::optional<double>& figure : {of.stalled_ratio, of.corrected_p99_ns}) {
      figure ? row.AddExact(*figure) : row.AddNull();
    }
    row.EndRow();
  }

  void Percentiles(const Of& of, const v1::OperationReport& o) {
    for (const auto* list : {&o.percentiles(), &o.tail()}) {
      for (const v1::Percentile& p : *list) {
        percentiles_.Add(run_id_).Add(phase_).Add(of.workload).Add(o.kind()).AddExact(p.percent());
        percentiles_.Add(static_cast<int64_t>(p.above()));
        p.has_latency_ns() ? percentiles_.AddExact(p.latency_ns()) : percentiles_.AddNull();
        p.has_low_ns() ? percentiles_.AddExact(p.low_ns()) : percentiles_.AddNull();
        p.has_high_ns() ? percentiles_.AddExact(p.high_ns()) : percentiles_.AddNull();
        of.host == nullptr ? percentiles_.AddNull() : percentiles_.Add(of.host->worker_index());
        percentiles_.Add(MetricOf(o)).Add(of.is_reported ? "t" : "f").EndRow();
      }
    }
  }

  void Times(const v1::TimeSpent& spent) {
    times_.Add(run_id_).Add(phase_);
    const auto add = [&](bool known, double value) {
      known ? times_.AddExact(value) : times_.AddNull();
    };
    add(spent.has_context_switches_per_second(), spent.context_switches_per_second());
    add(spent.has_interrupts_per_second(), spent.interrupts_per_second());
    add(spent.has_context_switches_per_io(), spent.context_switches_per_io());
    add(spent.has_cpu_ns_per_io(), spent.cpu_ns_per_io());
    add(spent.has_thread_switches_per_io(), spent.thread_switches_per_io());
    add(spent.has_wait_ratio(), spent.wait_ratio());
    add(spent.has_fsync_ratio(), spent.fsync_ratio());
    add(spent.has_rate_ratio(), spent.rate_ratio());
    add(spent.has_think_ratio(), spent.think_ratio());
    add(spent.has_amplification(), spent.amplification());
    add(spent.has_interrupts_per_io(), spent.interrupts_per_io());
    times_.EndRow();
  }

  void Verdict(const v1::PhaseReport& phase) {
    CopyRows& row = verdicts_.Add(run_id_)
                        .Add(phase.index())
                        .Add(phase.invalid() ? "t" : "f")
                        .Add(phase.invalid_reason())
                        .Add(phase.workers())
                        .Add(phase.workers_lost())
                        .AddExact(phase.window_begin_seconds())
                        .AddExact(phase.window_end_seconds())
                        .AddExact(phase.start_skew_ns())
                        .AddExact(phase.start_skew_bound_ns());
    // The report's first entry is about the hosts' IOPS. A single host that did I/O shares nothing:
    // its index is 1 and would look like perfect fairness.
    if (phase.fairness().empty() || phase.total().operations() == 0 ||
        phase.fairness(0).count() < 2) {
      row.AddNull().AddNull();
    } else {
      const v1::Fairness& hosts = phase.fairness(0);
      hosts.has_jain() ? row.AddExact(hosts.jain()) : row.AddNull();
      // Absent where a host did nothing: nothing is a multiple of 0.
      hosts.has_max_over_min() ? row.AddExact(hosts.max_over_min()) : row.AddNull();
    }
    std::vector<std::string> limits;
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      const std::string& limit = workload.limited_by();
      const bool is_new = std::find(limits.begin(), limits.end(), limit) == limits.end();
      if (!limit.empty() && is_new) limits.push_back(limit);
    }
    row.Add(absl::StrJoin(limits, ", ")).Add(TextArray(phase.remarks()));
    const bool none = phase.p99_spread_worst() <= 0;
    none ? row.AddNull().AddNull()
         : row.AddExact(phase.p99_spread_median()).AddExact(phase.p99_spread_worst());
    row.EndRow();
  }

  const std::string run_id_;
  uint32_t phase_ = 0;
  CopyRows figures_, verdicts_, percentiles_, times_;
  FindingRows findings_;
  ShareRows shares_;
  SweepRows sweeps_;
};

}  // namespace

namespace {

// Without series, as a bytea column takes it. Series have a number for each interval of each host,
// most of the bytes of a long phase's report. GetSeries() reads them from tables of their own.
std::string SavedForm(const v1::Report& report) {
  v1::Report saved = report;
  for (v1::PhaseReport& phase : *saved.mutable_phases()) {
    phase.clear_iops_by_interval();
    phase.clear_jain_by_interval();
    for (v1::HostReport& host : *phase.mutable_hosts()) host.clear_iops_by_interval();
  }
  return absl::StrCat("\\x", absl::BytesToHexString(saved.SerializeAsString()));
}

}  // namespace

absl::Status PgStore::SaveReport(const std::string& run_id, const v1::Report& report) {
  // The rows are made before the transaction begins, so that its locks are held for a shorter time.
  FigureRows rows(run_id);
  for (const v1::PhaseReport& phase : report.phases()) rows.Add(phase);
  for (const v1::SweepReport& sweep : report.sweeps()) rows.Add(sweep);
  return Transaction(kWholeRunLimit, [&](PgConnection* connection) -> absl::Status {
    // A report that was made from pruned samples must replace nothing. FOR UPDATE orders this
    // against PruneRuns(), which updates the same row: a pruning that was first is seen here, and
    // another one waits.
    auto there = connection->Query(
        "SELECT 1 FROM runs WHERE run_id = $1 AND samples_pruned_at IS NULL FOR UPDATE", {run_id});
    if (!there.ok() || there->rows() == 0) return there.status();
    // phase_figures has no key: without this a second call would double its rows.
    for (const char* table :
         {"phase_verdicts", "phase_figures", "findings", "observed_shares", "percentile_figures",
          "time_figures", "sweep_figures", "sweep_point_figures"}) {
      auto gone =
          connection->Query(absl::StrCat("DELETE FROM ", table, " WHERE run_id = $1"), {run_id});
      if (!gone.ok()) return gone.status();
    }
    if (absl::Status status = rows.Write(connection); !status.ok()) return status;
    return connection
        ->Query(
            "UPDATE runs SET summary = $2, figures_version = $3, saved_report = $4 WHERE run_id = "
            "$1",
            {run_id, Json(report.run()), absl::StrCat(kFiguresVersion), SavedForm(report)})
        .status();
  });
}

}  // namespace lockstep::storage
