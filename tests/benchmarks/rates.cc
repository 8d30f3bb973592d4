// The worth of the statistics of reports and comparisons, by simulation at length: how often an
// interval holds the truth, how often a test alarms where nothing differs, and how often it finds a
// difference. Prints "KIND\tRATE\tLEAST\tMOST" for each. Argument: how many cases of each.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "controller/analysis/drift.h"
#include "controller/analysis/level_changes.h"
#include "controller/analysis/statistics.h"
#include "tests/benchmarks/rate.h"

namespace lockstep::controller {
namespace {

using Series = std::vector<double>;

double Normal(Random* random) { return std::normal_distribution<double>(0, 1)(*random); }

// A machine's values around 0 with a deviation of 1.
Series White(Random* random, size_t count) {
  Series values(count);
  for (double& value : values) value = Normal(random);
  return values;
}

Series Correlated(Random* random, size_t count, double correlation) {
  Series values(count);
  double level = Normal(random);
  for (double& value : values) {
    level = correlation * level + std::sqrt(1 - correlation * correlation) * Normal(random);
    value = level;
  }
  return values;
}

Series Drifting(Random* random, size_t count) {
  Series values = White(random, count);
  for (size_t i = 0; i < count; ++i) values[i] += 0.5 * static_cast<double>(i);
  return values;
}

Series Stepping(Random* random, size_t count) {
  Series values = White(random, count);
  const size_t at = 1 + (*random)() % (count - 1);
  for (size_t i = at; i < count; ++i) values[i] += 3;
  return values;
}

// A sine of three deviations, begun at any time of its period.
Series Daily(Random* random, size_t count, double period) {
  Series values = White(random, count);
  const double begin = std::uniform_real_distribution<double>(0, 1)(*random);
  for (size_t i = 0; i < count; ++i) {
    values[i] += 3 * std::sin(2 * std::numbers::pi * (static_cast<double>(i) / period + begin));
  }
  return values;
}

// Two sets of `each` in succession; whether a comparison tells them apart.
bool Told(const Series& values, size_t each, double shift) {
  InOrder runs;
  for (size_t i = 0; i < values.size(); ++i) {
    runs.is_second.push_back(i >= each);
    runs.values.push_back(values[i] + (i >= each ? shift : 0));
  }
  const double p = PermutationTest({runs.values}, each, each)[0];
  return std::max(p, DriftTest(runs)) < 0.05;
}

// Five figures of a machine with a drift that all share, and noise of their own; whether any of
// them is told apart.
bool AnyTold(Random* random, size_t each, double slope) {
  std::vector<Series> figures(5);
  std::vector<bool> is_second(2 * each);
  for (size_t i = each; i < 2 * each; ++i) is_second[i] = true;
  for (Series& figure : figures) {
    figure = White(random, 2 * each);
    for (size_t i = 0; i < figure.size(); ++i) figure[i] += slope * static_cast<double>(i);
  }
  const std::vector<double> drift = DriftTests(figures, is_second);
  if (*std::min_element(drift.begin(), drift.end()) >= 0.05) return false;
  const std::vector<double> p = PermutationTest(figures, each, each);
  for (size_t k = 0; k < p.size(); ++k) {
    if (std::max(p[k], drift[k]) < 0.05) return true;
  }
  return false;
}

bool MedianHeld(Random* random, size_t count) {
  Series values(count);
  for (double& value : values) value = std::exponential_distribution<double>(1)(*random);
  const auto interval = MedianInterval(values);
  return interval && interval->low <= std::log(2) && std::log(2) <= interval->high;
}

bool MeanHeld(Random* random, double deviation) {
  Series values;
  do {
    values.push_back(100 + deviation * Normal(random));
  } while (values.size() < 3 || MeanMargin(values) > 1);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return std::abs(sum / static_cast<double>(values.size()) - 100) <= 1;
}

bool ShiftHeld(Random* random, size_t each) {
  Series a = White(random, each);
  Series b = White(random, each);
  for (double& value : b) value += 2;
  const Shift shift = ShiftOf(a, b);
  return shift.interval && shift.interval->low <= 2 && 2 <= shift.interval->high;
}

// A phase with a variation of 15 %, whose level falls to `factor` in the middle.
bool Changed(Random* random, size_t count, double correlation, double factor) {
  Series values = Correlated(random, count, correlation);
  for (size_t i = 0; i < count; ++i) {
    values[i] = (1 + 0.15 * values[i]) * (i >= count / 2 ? factor : 1);
  }
  return !LevelChangesIn(values, 0.2).empty();
}

// Twenty figures of 5 and 5 interleaved runs that vary together.
bool FamilyAlarmed(Random* random) {
  std::vector<Series> figures(20, Series(10));
  for (size_t run = 0; run < 10; ++run) {
    const double together = Normal(random);
    for (Series& figure : figures) figure[run] = together + Normal(random);
  }
  const std::vector<double> p = PermutationTest(figures, 5, 5);
  return *std::min_element(p.begin(), p.end()) < 0.05;
}

std::vector<Rate> Rates() {
  std::vector<Rate> rates;
  const auto add = [&](std::string name, double least, double most, auto holds) {
    rates.push_back({std::move(name), least, most, holds});
  };
  for (const size_t n : {6, 10, 30}) {
    add("coverage: median of " + std::to_string(n) + " runs", 0.95, 0.985,
        [n](Random* r) { return MedianHeld(r, n); });
  }
  for (const double d : {1.0, 2.0, 3.0}) {
    add("coverage: mean of until, deviation " + std::to_string(static_cast<int>(d)) + " %", 0.95, 1,
        [d](Random* r) { return MeanHeld(r, d); });
  }
  for (const size_t n : {4, 8}) {
    const std::string sets = std::to_string(n) + " and " + std::to_string(n) + " runs";
    add("coverage: change between " + sets, 0.95, 1, [n](Random* r) { return ShiftHeld(r, n); });
    add("alarm: equal, " + sets, 0, 0.05, [n](Random* r) { return Told(White(r, 2 * n), n, 0); });
    add("alarm: drift, " + sets, 0, 0.05,
        [n](Random* r) { return Told(Drifting(r, 2 * n), n, 0); });
    add("alarm: one change of level by 3 standard deviations, " + sets, 0, 0.08,
        [n](Random* r) { return Told(Stepping(r, 2 * n), n, 0); });
    for (const double correlation : {0.3, 0.6, 0.8, 0.9}) {
      add("alarm: AR(1) noise with coefficient " + std::to_string(correlation).substr(0, 3) + ", " +
              sets,
          0, 0.06, [=](Random* r) { return Told(Correlated(r, 2 * n, correlation), n, 0); });
    }
    for (const double slope : {0.3, 3.0}) {
      add("alarm: any of 5 figures, drift by " + std::to_string(slope).substr(0, 3) + ", " + sets,
          0, 0.05, [=](Random* r) { return AnyTold(r, n, slope); });
    }
    for (const double day : {16.0, 48.0}) {
      add("alarm: a day of " + std::to_string(static_cast<int>(day)) + " runs, " + sets, 0, 0.06,
          [=](Random* r) { return Told(Daily(r, 2 * n, day), n, 0); });
    }
    add("power: a difference of 10 standard deviations, " + sets, 0.97, 1,
        [n](Random* r) { return Told(White(r, 2 * n), n, 10); });
  }
  add("alarm: any of 20 figures, interleaved", 0, 0.05, &FamilyAlarmed);
  for (const double c : {0.0, 0.5, 0.8}) {
    add("alarm: level of a phase, correlation " + std::to_string(c).substr(0, 3), 0,
        c > 0.6   ? 0.03
        : c > 0.2 ? 0.015
                  : 0.005,
        [c](Random* r) { return Changed(r, 16 + (*r)() % 200, c, 1); });
  }
  for (const size_t n : {16, 60, 600}) {
    add("power: a level that falls by half, " + std::to_string(n) + " intervals",
        n < 20 ? 0.7 : 0.95, 1, [n](Random* r) { return Changed(r, n, 0.2, 0.5); });
  }
  for (Rate& rate : OmissionRates()) rates.push_back(std::move(rate));
  for (Rate& rate : PercentileRates()) rates.push_back(std::move(rate));
  return rates;
}

}  // namespace
}  // namespace lockstep::controller

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::max(1, atoi(argv[1])) : 1000;
  for (const auto& rate : lockstep::controller::Rates()) {
    lockstep::controller::Random random(1);
    int held = 0;
    for (int i = 0; i < cases; ++i) held += rate.holds(&random);
    printf("%s\t%.4f\t%.3f\t%.3f\n", rate.name.c_str(), held / static_cast<double>(cases),
           rate.least, rate.most);
  }
  return 0;
}
