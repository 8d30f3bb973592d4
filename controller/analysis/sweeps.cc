// What did the points of a sweep, and the steps of a curve, come to, and where is the knee?

#include "controller/analysis/sweeps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/fairness.h"
#include "controller/analysis/knee.h"
#include "controller/analysis/latency.h"
#include "controller/analysis/limit_names.h"
#include "controller/analysis/phase_view.h"
#include "controller/analysis/statistics.h"
#include "controller/analysis/sweep_conclusion.h"
#include "controller/analysis/sweep_remarks.h"
#include "controller/analysis/swept_targets.h"
#include "controller/plan/repetition.h"
#include "controller/plan/sweep.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// The text that follows the IOPS of a point. `separator` stands between the two.
std::string WithP99(const v1::SweepPointReport& point, const char* separator) {
  return point.has_p99_ns()
             ? absl::StrCat(separator, "with a p99 of ",
                            common::FormatPercentile(point.p99_ns(), point.is_p99_uncertain()))
             : " (too few I/Os for a p99)";
}

// The runs of one point, each figure by itself.
struct Runs {
  std::vector<double> iops, bytes, mean, p50, p99, jain, thread_jain;
  bool is_p50_uncertain = false;  // in one of the runs
  bool is_p99_uncertain = false;
  std::vector<double> served;  // IOPS over the rate that was due; of open loops alone
  int workloads = 0;
  bool ramps = false;  // the rate changes while the phase runs
  std::vector<uint32_t> phases;
  std::vector<v1::TimeSpent> spent;
  std::vector<RoundFigures> rounds;
  std::vector<std::string> limits;
};

// The limits of the phase's workloads, each once.
std::string LimitOf(const v1::PhaseReport& phase) {
  std::vector<std::string> limits;
  for (const v1::WorkloadReport& workload : phase.workloads()) {
    const std::string& limit = workload.limited_by();
    const bool is_new = std::find(limits.begin(), limits.end(), limit) == limits.end();
    if (!limit.empty() && is_new) limits.push_back(limit);
  }
  return absl::StrJoin(limits, ", ");
}

// `repeat`: which repetition of the sweep the phase belongs to.
void Add(const v1::PhaseReport& phase, const v1::RunPhase& load, uint32_t repeat, Runs* runs) {
  runs->phases.push_back(phase.index());
  runs->workloads = load.workloads_size();
  for (const v1::Workload& w : load.workloads()) {
    runs->ramps = runs->ramps || HasChangingRate(w);
  }
  // A run that only warms up, was cut, or lost hosts, measured something else than the point's
  // load. Its phase is listed, and its figures are left out.
  if (repeat < load.sweep().warm_up() || !measure::Is(phase, measure::PhaseState::kDone) ||
      phase.invalid() || phase.workers_lost() != 0)
    return;
  runs->iops.push_back(phase.total().iops());
  runs->bytes.push_back(phase.total().bytes_per_second());
  if (phase.total().has_latency_avg_ns()) runs->mean.push_back(phase.total().latency_avg_ns());
  // A run with too few I/Os for a percentile has none to contribute.
  if (const double p50 = PercentileOf(phase.total(), 50); p50 > 0) runs->p50.push_back(p50);
  const double p99 = PercentileOf(phase.total(), 99);
  if (p99 > 0) runs->p99.push_back(p99);
  runs->is_p50_uncertain = runs->is_p50_uncertain || IsUncertain(phase.total(), 50);
  runs->is_p99_uncertain = runs->is_p99_uncertain || IsUncertain(phase.total(), 99);
  runs->rounds.push_back({repeat, phase.total().iops(), phase.total().bytes_per_second(), p99});
  double due = 0;
  double done = 0;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    due += w.due_per_second();
    if (w.due_per_second() > 0) done += w.total().iops();
  }
  if (due > 0) runs->served.push_back(done / due);
  if (!phase.fairness().empty() && phase.fairness(0).has_jain()) {
    runs->jain.push_back(phase.fairness(0).jain());
  }
  std::vector<double> threads;
  for (const v1::ThreadReport& thread : phase.threads()) threads.push_back(thread.iops());
  const v1::Fairness over_threads = FairnessOf("", threads);
  if (over_threads.has_jain()) runs->thread_jain.push_back(over_threads.jain());
  if (phase.has_time_spent()) runs->spent.push_back(phase.time_spent());
  runs->limits.push_back(LimitOf(phase));
}

// The median of each figure over the runs that have it.
v1::TimeSpent MedianTimeOf(const std::vector<v1::TimeSpent>& runs) {
  v1::TimeSpent median;
  // By reflection, so that a figure that is added to the message is not forgotten here.
  const auto* reflection = v1::TimeSpent::GetReflection();
  for (int f = 0; f < v1::TimeSpent::GetDescriptor()->field_count(); ++f) {
    const google::protobuf::FieldDescriptor* field = v1::TimeSpent::GetDescriptor()->field(f);
    std::vector<double> values;
    for (const v1::TimeSpent& run : runs) {
      if (reflection->HasField(run, field)) values.push_back(reflection->GetDouble(run, field));
    }
    if (!values.empty()) reflection->SetDouble(&median, field, MedianOf(values));
  }
  return median;
}

v1::SweepPointReport PointOf(const std::vector<uint32_t>& indices, const Runs& runs) {
  v1::SweepPointReport point;
  point.mutable_indices()->Assign(indices.begin(), indices.end());
  point.mutable_phases()->Assign(runs.phases.begin(), runs.phases.end());
  point.set_runs(static_cast<uint32_t>(runs.iops.size()));
  if (runs.iops.empty()) return point;
  // One disturbed run of three does not move a median.
  point.set_iops(MedianOf(runs.iops));
  point.set_bytes_per_second(MedianOf(runs.bytes));
  if (!runs.mean.empty()) point.set_mean_ns(MedianOf(runs.mean));
  if (!runs.p50.empty()) point.set_p50_ns(MedianOf(runs.p50));
  if (!runs.p99.empty()) point.set_p99_ns(MedianOf(runs.p99));
  if (runs.is_p50_uncertain) point.set_is_p50_uncertain(true);
  if (runs.is_p99_uncertain) point.set_is_p99_uncertain(true);
  if (!runs.jain.empty()) point.set_jain(MedianOf(runs.jain));
  if (!runs.thread_jain.empty()) point.set_thread_jain(MedianOf(runs.thread_jain));
  if (!runs.spent.empty()) *point.mutable_time_spent() = MedianTimeOf(runs.spent);
  point.set_limited_by(LimitNames(runs.limits));
  const auto [least, most] = std::minmax_element(runs.iops.begin(), runs.iops.end());
  point.set_iops_min(*least);
  point.set_iops_max(*most);
  if (const auto interval = MedianInterval(runs.iops)) {
    point.set_iops_low(interval->low);
    point.set_iops_high(interval->high);
  }
  return point;
}

// A value of an axis as a number: a size, a duration, a share or a count.
std::optional<double> NumberOf(const std::string& text) {
  double plain = 0;
  if (absl::SimpleAtod(text, &plain)) return plain;
  if (const auto size = common::ParseSize(text); size.ok()) return static_cast<double>(*size);
  if (const auto time = common::ParseDuration(text); time.ok()) return static_cast<double>(*time);
  if (const auto ratio = common::ParseRatio(text); ratio.ok()) return *ratio;
  return std::nullopt;
}

// The points along the last axis, ascending.
struct Row {
  std::vector<double> x, y;
  std::vector<const v1::SweepPointReport*> points;
  std::vector<const Runs*> runs;
};

// In how many of the resamplings of each point's runs `knee_of` finds the same knee; 0 where points
// were run once. `figures`: of a point's runs.
template <typename KneeOf>
std::optional<double> ConfidenceOf(const std::vector<std::vector<double>>& figures, size_t knee,
                                   KneeOf knee_of) {
  constexpr int kResamplings = 500;
  for (const std::vector<double>& runs : figures) {
    // A single run can only be drawn as itself, so all resamplings would agree.
    if (runs.size() < 2) return std::nullopt;
  }
  // The seed is fixed, so that a report says the same each time it is built.
  std::mt19937_64 random(1);
  int same = 0;
  for (int i = 0; i < kResamplings; ++i) {
    std::vector<double> medians;
    for (const std::vector<double>& runs : figures) {
      std::vector<double> drawn(runs.size());
      for (double& value : drawn) value = runs[random() % runs.size()];
      medians.push_back(MedianOf(drawn));
    }
    const std::optional<size_t> found = knee_of(medians);
    same += found && *found == knee;
  }
  return static_cast<double>(same) / kResamplings;
}

std::string ValueOf(const v1::SweepReport& sweep, const v1::SweepPointReport& point) {
  return sweep.axes().rbegin()->values(static_cast<int>(*point.indices().rbegin()));
}

v1::KneeReport* AddKneeAt(const Row& row, size_t index, const std::string& at,
                          v1::SweepReport* sweep) {
  const v1::SweepPointReport& point = *row.points[index];
  v1::KneeReport* knee = sweep->add_knees();
  knee->set_of(sweep->axes().rbegin()->field());
  knee->set_at(at);
  knee->set_value(ValueOf(*sweep, point));
  knee->set_iops(point.iops());
  if (point.has_p99_ns()) knee->set_p99_ns(point.p99_ns());
  if (point.is_p99_uncertain()) knee->set_is_p99_uncertain(true);
  return knee;
}

std::string Prefix(const std::string& at) { return at.empty() ? "" : at + ": "; }

void AddGeometricKnee(const Row& row, const std::string& at, v1::SweepReport* sweep) {
  const auto found = KneeOfGain(row.x, row.y);
  if (!found) {
    sweep->add_without_knee(
        row.x.size() < kMinKneePoints
            ? absl::StrCat(Prefix(at), "no knee: ", row.x.size(), " values are too few, ",
                           kMinKneePoints, " are needed")
            : absl::StrCat(Prefix(at), "no knee: along ", sweep->axes().rbegin()->field(),
                           " the IOPS do not clearly bend"));
    return;
  }
  const auto top =
      static_cast<size_t>(std::max_element(row.y.begin(), row.y.end()) - row.y.begin());
  std::vector<std::vector<double>> iops;
  for (const Runs* runs : row.runs) iops.push_back(runs->iops);
  v1::KneeReport* knee = AddKneeAt(row, *found, at, sweep);
  const auto again = [&](const std::vector<double>& y) { return KneeOfGain(row.x, y); };
  if (const auto share = ConfidenceOf(iops, *found, again)) knee->set_confidence(*share);
  const v1::SweepPointReport& most = *row.points[top];
  knee->set_reason(absl::StrFormat(
      "%s%s=%s gives %.0f %% of the most IOPS (%s at %s)%s", Prefix(at), knee->of(), knee->value(),
      100 * knee->iops() / most.iops(), common::FormatCount(most.iops()), ValueOf(*sweep, most),
      knee->has_p99_ns() && most.has_p99_ns()
          ? absl::StrFormat(", with a p99 of %s instead of %s",
                            common::FormatPercentile(knee->p99_ns(), knee->is_p99_uncertain()),
                            common::FormatPercentile(most.p99_ns(), most.is_p99_uncertain()))
          : "; too few I/Os to compare their p99"));
}

// The served share of the due rate, by run; empty if the axis is no rate, or if it cannot be told
// from what else ran. A limit says itself what is due, if no other workload is there.
std::vector<std::vector<double>> ServedOf(const Row& row, const std::string& field) {
  const bool is_open_loop = field.ends_with("open_loop.rate");
  if (!is_open_loop && !field.ends_with("max_iops")) return {};
  std::vector<std::vector<double>> served;
  for (size_t i = 0; i < row.runs.size(); ++i) {
    const Runs& runs = *row.runs[i];
    if (runs.ramps || (is_open_loop ? runs.served.empty() : runs.workloads != 1)) return {};
    served.push_back(runs.served);
    if (is_open_loop) continue;
    served.back().clear();
    for (const double iops : runs.iops) served.back().push_back(iops / row.x[i]);
  }
  return served;
}

// The last rate that is served, with all before it.
std::optional<size_t> LastServed(const std::vector<double>& served) {
  constexpr double kServed = 0.97;
  size_t count = 0;
  while (count < served.size() && served[count] >= kServed) ++count;
  return count == 0 ? std::nullopt : std::optional(count - 1);
}

void AddRateKnee(const Row& row, const std::vector<std::vector<double>>& served,
                 const std::string& at, v1::SweepReport* sweep) {
  std::vector<double> medians;
  for (const std::vector<double>& runs : served) medians.push_back(MedianOf(runs));
  const auto found = LastServed(medians);
  if (!found || *found + 1 == medians.size()) {
    sweep->add_without_knee(absl::StrCat(
        Prefix(at), "no knee: ",
        found ? absl::StrCat("all rates up to ", ValueOf(*sweep, *row.points.back()), " are served")
              : absl::StrCat("not even the rate of ", ValueOf(*sweep, *row.points.front()),
                             " is served")));
    return;
  }
  const v1::SweepPointReport& next = *row.points[*found + 1];
  v1::KneeReport* knee = AddKneeAt(row, *found, at, sweep);
  if (const auto share = ConfidenceOf(served, *found, &LastServed)) knee->set_confidence(*share);
  knee->set_reason(absl::StrFormat(
      "%s%s=%s is the last rate that is served: %s IOPS%s; of %s only %s IOPS are%s", Prefix(at),
      knee->of(), knee->value(), common::FormatCount(knee->iops()),
      WithP99(*row.points[*found], " "), ValueOf(*sweep, next), common::FormatCount(next.iops()),
      WithP99(next, ", ")));
  knee->set_is_last_served_rate(true);
}

using PointRuns = std::map<std::vector<uint32_t>, Runs>;

// The values of an axis as numbers; empty if they have no order, as those of names.
std::vector<double> OrderedValuesOf(const v1::SweepAxisReport& axis) {
  std::vector<double> x;
  for (const std::string& value : axis.values()) {
    const auto number = NumberOf(value);
    if (!number) return {};
    x.push_back(*number);
  }
  const bool ascends = std::adjacent_find(x.begin(), x.end(), std::greater_equal<>()) == x.end();
  const bool descends = std::adjacent_find(x.begin(), x.end(), std::less_equal<>()) == x.end();
  if (!ascends && !descends) x.clear();
  return x;
}

// The points by the values of the other axes, each row ascending.
std::map<std::vector<uint32_t>, Row> RowsOf(const PointRuns& points, const std::vector<double>& x,
                                            const v1::SweepReport& sweep) {
  std::vector<const v1::SweepPointReport*> ordered;
  for (const v1::SweepPointReport& point : sweep.points()) {
    if (point.runs() > 0) ordered.push_back(&point);
  }
  // A job may go down from the largest value.
  if (x.front() > x.back()) std::reverse(ordered.begin(), ordered.end());
  std::map<std::vector<uint32_t>, Row> rows;
  for (const v1::SweepPointReport* point : ordered) {
    const std::vector<uint32_t> indices(point->indices().begin(), point->indices().end());
    Row& row = rows[{indices.begin(), indices.end() - 1}];
    row.x.push_back(x[indices.back()]);
    row.y.push_back(point->iops());
    row.points.push_back(point);
    row.runs.push_back(&points.at(indices));
  }
  return rows;
}

// A knee for each combination of the other axes' values.
void AddKnees(const PointRuns& points, v1::SweepReport* sweep) {
  if (sweep->axes().empty()) return;
  const v1::SweepAxisReport& last = *sweep->axes().rbegin();
  const std::vector<double> x = OrderedValuesOf(last);
  if (x.empty()) {
    sweep->add_without_knee(absl::StrCat("no knee: the values of ", last.field(),
                                         " are not numbers in ascending or descending order"));
    return;
  }
  const std::map<std::vector<uint32_t>, Row> rows = RowsOf(points, x, *sweep);
  for (const auto& [indices, row] : rows) {
    std::vector<std::string> at;
    for (size_t a = 0; a < indices.size(); ++a) {
      const v1::SweepAxisReport& axis = sweep->axes(static_cast<int>(a));
      at.push_back(absl::StrCat(axis.field(), "=", axis.values(static_cast<int>(indices[a]))));
    }
    const auto served = ServedOf(row, last.field());
    if (served.empty()) {
      AddGeometricKnee(row, absl::StrJoin(at, " "), sweep);
    } else {
      AddRateKnee(row, served, absl::StrJoin(at, " "), sweep);
    }
  }
}

// How the repetitions ended, where the job says until when they go on.
std::string EndOfRepetitions(const measure::RunData& data, uint32_t job_phase,
                             const v1::Sweep& sweep) {
  if (!sweep.has_until()) return "";
  std::vector<StepResult> results;
  for (const measure::PhaseData& phase : data.phases) {
    if (phase.phase.job_phase != job_phase) continue;
    results.push_back({job_phase, phase.phase.step, phase.phase.name,
                       phase.phase.state == measure::PhaseState::kDone, phase.phase.figures});
  }
  // The report asks the same function that decided on further repetitions, so that both agree.
  const RepetitionState state = StateOfRepetitions(sweep, results);
  if (state.repetitions < 2 || !std::isfinite(state.margin_ratio))
    return "too few of them to know how well the figures are known";
  return absl::StrFormat(
      "%d, the mean %s of every point is known to ±%.2g %% (95 %%), asked for was ±%.3g %%%s",
      state.repetitions, NameOf(sweep.until().figure()), 100 * state.margin_ratio,
      100 * sweep.until().within_ratio(),
      state.enough ? "" : ": not reached within the limit of the repetitions");
}

// Says which point ended the sweep, if one did. `points` are in the order in which they ran.
void AddStop(const v1::Sweep& sweep, const PointRuns& points, v1::SweepReport* report) {
  if (sweep.stop_at_iops() <= 0 || points.empty()) return;
  const auto& [indices, runs] = *points.rbegin();
  const v1::SweepAxis& axis = sweep.axes(0);
  const int left = axis.values_size() - static_cast<int>(indices[0]) - 1;
  if (runs.iops.empty() || runs.iops[0] > sweep.stop_at_iops() || left == 0) return;
  report->add_remarks(absl::StrFormat(
      "ended by stop_at_iops: %s=%s reached %s IOPS, and at most %s end the sweep; %d %s left out",
      axis.field(), axis.values(static_cast<int>(indices[0])), common::FormatCount(runs.iops[0]),
      common::FormatCount(sweep.stop_at_iops()), left, left == 1 ? "point was" : "points were"));
}

// The steps of a curve, and where its latency begins to rise.
void AddCurve(const measure::RunData& data, uint32_t job_phase, v1::Report* report) {
  const v1::PhaseSpec& spec = data.run.job.phases(static_cast<int>(job_phase));
  v1::CurveReport curve;
  curve.set_phase(spec.name());
  for (size_t i = 0; i < data.phases.size(); ++i) {
    const measure::PhaseRecord& record = data.phases[i].phase;
    if (record.job_phase != job_phase || static_cast<int>(i) >= report->phases_size() ||
        static_cast<int>(record.step) >= spec.run().curve().share_ratio_size()) {
      continue;
    }
    const v1::PhaseReport& phase = report->phases(static_cast<int>(i));
    v1::CurvePointReport* point = curve.add_points();
    point->set_share(spec.run().curve().share_ratio(static_cast<int>(record.step)));
    for (const v1::WorkloadReport& w : phase.workloads()) {
      point->set_offered(point->offered() + w.due_per_second());
    }
    point->set_achieved(phase.total().iops());
    if (phase.total().has_latency_avg_ns()) point->set_mean_ns(phase.total().latency_avg_ns());
    if (const double p50 = PercentileOf(phase.total(), 50); p50 > 0) point->set_p50_ns(p50);
    if (const double p99 = PercentileOf(phase.total(), 99); p99 > 0) point->set_p99_ns(p99);
    if (IsUncertain(phase.total(), 50)) point->set_is_p50_uncertain(true);
    if (IsUncertain(phase.total(), 99)) point->set_is_p99_uncertain(true);
    point->set_phase(record.phase);
  }
  std::vector<const v1::CurvePointReport*> points;
  for (const v1::CurvePointReport& point : curve.points()) points.push_back(&point);
  // The job may list its shares in any order, and a knee is found along ascending ones.
  std::stable_sort(points.begin(), points.end(),
                   [](const auto* a, const auto* b) { return a->share() < b->share(); });
  std::vector<double> x;
  std::vector<double> y;
  for (const v1::CurvePointReport* point : points) {
    if (!(point->achieved() > 0) || !(point->p99_ns() > 0) ||
        (!x.empty() && point->share() <= x.back()))
      continue;
    x.push_back(point->share());
    y.push_back(point->p99_ns());
  }
  // A knee is an index into x. If a step was left out above, x's index is not that of its point.
  if (const auto found = x.size() == points.size() ? KneeOfCost(x, y) : std::nullopt) {
    const v1::CurvePointReport& point = *points[*found];
    v1::KneeReport* knee = curve.mutable_knee();
    knee->set_of("offered load");
    knee->set_value(absl::StrFormat("%.4g %%", 100 * point.share()));
    knee->set_iops(point.achieved());
    knee->set_p99_ns(point.p99_ns());
    if (point.is_p99_uncertain()) knee->set_is_p99_uncertain(true);
    knee->set_reason(
        absl::StrFormat("up to %s of the load (%s IOPS) the p99 is %s; beyond it rises to %s",
                        knee->value(), common::FormatCount(point.achieved()),
                        common::FormatPercentile(point.p99_ns(), point.is_p99_uncertain()),
                        common::FormatPercentile(y.back(), points.back()->is_p99_uncertain())));
  } else if (x.size() != points.size()) {
    curve.set_without_knee("no knee: some steps have too few I/Os for a p99");
  } else if (x.size() < kMinKneePoints) {
    curve.set_without_knee(
        absl::StrCat("no knee: ", x.size(), " steps are too few, ", kMinKneePoints, " are needed"));
  } else {
    curve.set_without_knee("no knee: the p99 does not clearly bend");
  }
  *report->add_curves() = std::move(curve);
}

}  // namespace

void AddSweeps(const measure::RunData& data, v1::Report* report) {
  const v1::JobSpec& job = data.run.job;
  for (int p = 0; p < job.phases_size(); ++p) {
    const v1::PhaseSpec& spec = job.phases(p);
    if (spec.run().has_curve()) AddCurve(data, static_cast<uint32_t>(p), report);
    if (!spec.run().has_sweep()) continue;
    PointRuns points;
    SweepSteps steps(spec.run().sweep());
    for (size_t i = 0; i < data.phases.size(); ++i) {
      const measure::PhaseRecord& phase = data.phases[i].phase;
      if (phase.job_phase != static_cast<uint32_t>(p) ||
          static_cast<int>(i) >= report->phases_size()) {
        continue;
      }
      const auto& [kind, point] = steps.At(phase.step);
      if (kind != StepKind::kRun) continue;
      Add(report->phases(static_cast<int>(i)), spec.run(), point.repeat, &points[point.indices]);
    }
    v1::SweepReport* sweep = report->add_sweeps();
    sweep->set_phase(spec.name());
    for (const v1::SweepAxis& axis : spec.run().sweep().axes()) {
      v1::SweepAxisReport* out = sweep->add_axes();
      out->set_field(axis.field());
      *out->mutable_values() = axis.values();
    }
    std::vector<std::vector<RoundFigures>> rounds;
    for (const auto& [indices, runs] : points) {
      *sweep->add_points() = PointOf(indices, runs);
      rounds.push_back(runs.rounds);
    }
    sweep->set_warm_up(spec.run().sweep().warm_up());
    sweep->set_ended(EndOfRepetitions(data, static_cast<uint32_t>(p), spec.run().sweep()));
    AddKnees(points, sweep);
    AddConclusion(spec.run(), rounds, sweep);
    AddStop(spec.run().sweep(), points, sweep);
    AddSweepRemarks(sweep);
    AddBusyRemark(report->phases(), sweep);
    if (spec.run().sweep().group() == v1::SWEEP_GROUP_FILES) {
      sweep->add_remarks(
          "points with the same files ran one after the other on them (group: files): what the "
          "order has done to the files and what the axes do cannot be told apart");
    }
    AddSweptTargets(data, spec, sweep);
  }
}

}  // namespace lockstep::controller
