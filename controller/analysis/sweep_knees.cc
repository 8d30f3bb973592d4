#include "controller/analysis/sweep_knees.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/knee.h"
#include "controller/analysis/rate_axes.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// The text that follows the IOPS of a point. `separator` stands between the two.
std::string WithP99(const v1::SweepPointReport& point, const char* separator) {
  return point.has_p99_ns()
             ? absl::StrCat(separator, "with a p99 of ",
                            common::FormatPercentile(point.p99_ns(), point.is_p99_uncertain()))
             : " (too few I/Os for a p99)";
}

// The points along the last axis, ascending.
struct Row {
  std::vector<double> x, y;
  std::vector<const v1::SweepPointReport*> points;
  std::vector<const RunsOfPoint*> runs;
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
  for (const RunsOfPoint* runs : row.runs) iops.push_back(runs->iops);
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

// What was served along a rate, point by point.
struct ServedRow {
  std::vector<std::vector<double>> shares;  // of what was due, by run
  std::vector<double> done;                 // the median
};

// Nothing where one of the points has a run of which it is not known.
std::optional<ServedRow> ServedOf(const Row& row) {
  ServedRow served;
  for (const RunsOfPoint* runs : row.runs) {
    if (runs->served.size() != runs->iops.size()) return std::nullopt;
    std::vector<double> shares;
    std::vector<double> done;
    for (const ServedRate& rate : runs->served) {
      shares.push_back(rate.done / rate.due);
      done.push_back(rate.done);
    }
    served.shares.push_back(std::move(shares));
    served.done.push_back(MedianOf(done));
  }
  return served;
}

void AddServedKnee(const Row& row, const RateAxis& axis, const ServedRow& served,
                   const std::string& at, v1::SweepReport* sweep) {
  std::vector<double> medians;
  for (const std::vector<double>& runs : served.shares) medians.push_back(MedianOf(runs));
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
  if (const auto share = ConfidenceOf(served.shares, *found, &LastServed)) {
    knee->set_confidence(*share);
  }
  knee->set_reason(absl::StrFormat(
      "%s%s=%s is the last rate that is served: %s%s; of %s only %s are%s", Prefix(at), knee->of(),
      knee->value(), ServedText(axis, served.done[*found]), WithP99(*row.points[*found], " "),
      ValueOf(*sweep, next), ServedText(axis, served.done[*found + 1]), WithP99(next, ", ")));
  knee->set_is_last_served_rate(true);
}

// Where the IOPS bend is no knee of a rate: the first rate that is not served has the most of them,
// at the latency of a queue that grows as long as the point runs.
void AddRateKnee(const Row& row, const RateAxis& axis, const std::string& at,
                 v1::SweepReport* sweep) {
  const bool ramps = std::any_of(row.runs.begin(), row.runs.end(),
                                 [](const RunsOfPoint* runs) { return runs->ramps; });
  if (const auto served = ServedOf(row); served && !ramps) {
    AddServedKnee(row, axis, *served, at, sweep);
    return;
  }
  sweep->add_without_knee(absl::StrCat(
      Prefix(at), "no knee: ",
      ramps ? "the rate changes while a point runs (ramp_to), so that none is the last one served"
            : "it is not known what of each rate was served"));
}

// The points by the values of the other axes, each row ascending.
std::map<std::vector<uint32_t>, Row> RowsOf(const RunsByPoint& points, const std::vector<double>& x,
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

}  // namespace

void AddKnees(const RunsByPoint& points, v1::SweepReport* sweep) {
  if (sweep->axes().empty()) return;
  const v1::SweepAxisReport& last = *sweep->axes().rbegin();
  const std::optional<RateAxis> rate = RateAxisOf(last.field());
  const std::vector<double> x(last.numbers().begin(), last.numbers().end());
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
    if (rate) {
      AddRateKnee(row, *rate, absl::StrJoin(at, " "), sweep);
    } else {
      AddGeometricKnee(row, absl::StrJoin(at, " "), sweep);
    }
  }
}

}  // namespace lockstep::controller
