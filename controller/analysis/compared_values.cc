#include "controller/analysis/compared_values.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "controller/analysis/drift.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// Values above zero are compared by their logarithms, because changes of performance are factors:
// a half and a double are then equally far from no change. Values that may be zero are compared
// as they are.
void TakeLogarithms(std::vector<double>* a, std::vector<double>* b) {
  const auto positive = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
  };
  if (!positive(*a) || !positive(*b)) return;
  for (std::vector<double>* values : {a, b}) {
    for (double& value : *values) value = std::log(value);
  }
}

double MeanOfValues(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// For each row the p of its two sides' difference beside a drift; 0 where the runs' order leaves
// no room for one.
std::vector<double> DriftOfRows(const std::vector<size_t>& order, size_t first_runs,
                                const std::vector<std::vector<double>>& rows) {
  // Below, order says little of the side, and the permutation test's premise holds well enough.
  constexpr double kSuccession = 0.5;
  std::vector<bool> is_second;
  for (const size_t run : order) is_second.push_back(run >= first_runs);
  if (SuccessionOf(is_second) <= kSuccession) return std::vector<double>(rows.size(), 0);
  std::vector<std::vector<double>> in_order;
  for (const std::vector<double>& row : rows) {
    std::vector<double>& values = in_order.emplace_back();
    for (const size_t run : order) values.push_back(row[run]);
  }
  return DriftTests(in_order, is_second);
}

}  // namespace

void SetValues(const std::vector<double>& values, v1::ComparedValue* value) {
  value->set_runs(static_cast<uint32_t>(values.size()));
  value->set_median(MedianOf(values));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  value->set_least(*least);
  value->set_most(*most);
}

void SetChange(std::vector<double> before, std::vector<double> after, v1::ComparedValue* value) {
  const double median = MedianOf(before);
  const double first = before.front();
  TakeLogarithms(&before, &after);
  // No number equals its logarithm: unchanged values have not been transformed.
  const bool factors = before.front() != first;
  const Shift shift = ShiftOf(before, after);
  if (!factors && !(median > 0)) return;  // from nothing there is no share
  const auto share = [&](double by) { return factors ? std::expm1(by) : by / median; };
  value->set_change(share(shift.estimate));
  if (!shift.interval) return;
  value->set_has_interval(true);
  value->set_change_low(share(shift.interval->low));
  value->set_change_high(share(shift.interval->high));
}

bool CanTell(size_t first_runs, size_t other_runs, size_t sets) {
  const auto others = static_cast<double>(std::max<size_t>(sets, 2) - 1);
  return LeastP(first_runs, other_runs) * others < kComparedAlpha;
}

size_t FewestThatTell(size_t sets) {
  size_t runs = 1;
  // The smallest p that a test can reach falls with the number of runs, so the loop ends.
  while (!CanTell(runs, runs, sets)) ++runs;
  return runs;
}

std::vector<size_t> OrderOf(const std::vector<const v1::RunFigures*>& first,
                            const std::vector<const v1::RunFigures*>& other) {
  std::vector<std::pair<std::string, size_t>> runs;
  for (const auto* side : {&first, &other}) {
    for (const v1::RunFigures* run : *side) {
      runs.emplace_back(run->run().submitted_at(), runs.size());
    }
  }
  std::sort(runs.begin(), runs.end());
  std::vector<size_t> order;
  for (const auto& [submitted, run] : runs) order.push_back(run);
  return order;
}

std::vector<DifferenceTest> TestDifferences(const std::vector<ValuesOfTwo>& figures,
                                            const std::vector<size_t>& order) {
  if (figures.empty()) return {};
  std::vector<DifferenceTest> tests;
  std::vector<std::vector<double>> rows;
  for (const ValuesOfTwo& figure : figures) {
    std::vector<double> row = figure.before;
    std::vector<double> after = figure.after;
    TakeLogarithms(&row, &after);
    tests.emplace_back().is_more = MeanOfValues(after) > MeanOfValues(row);
    row.insert(row.end(), after.begin(), after.end());
    rows.push_back(std::move(row));
  }
  const size_t first_runs = figures.front().before.size();
  const std::vector<double> p = PermutationTest(rows, first_runs, figures.front().after.size());
  const std::vector<double> drift = DriftOfRows(order, first_runs, rows);
  for (size_t i = 0; i < tests.size(); ++i) {
    tests[i].p_value = p[i];
    tests[i].drift_p = drift[i];
  }
  return tests;
}

}  // namespace lockstep::controller
