// Phases whose true percentiles are known: latencies are lognormal, and the level of each interval
// wanders around 0 by `wandering` with a correlation of `correlation`. Over all phases the
// logarithms then have a variance of 1 + wandering^2.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "controller/analysis/confidence.h"
#include "controller/analysis/stored_confidence.h"
#include "measure/latency_blocks.h"
#include "tests/benchmarks/rate.h"

namespace lockstep::controller {
namespace {

// The source of the blocks: those that the store keeps of the fleet, or as few as a host of many
// has.
enum class Blocks { kFleet, kHost };

struct Phases {
  Blocks blocks = Blocks::kFleet;
  int intervals = 0;
  int ios = 0;  // of an interval
  double wandering = 0;
  double correlation = 0;
  double percent = 0;
  double quantile = 0;  // the normal distribution's
};

// A report's percentile is a bucket's midpoint, within this share of what is in the bucket.
constexpr double kBucket = 1.0 / 128;

// A phase's intervals.
std::vector<common::Histogram> Drawn(const Phases& phases, Random* random) {
  std::normal_distribution<double> normal;
  std::vector<common::Histogram> intervals(static_cast<size_t>(phases.intervals));
  double level = normal(*random);
  for (common::Histogram& interval : intervals) {
    level = phases.correlation * level +
            std::sqrt(1 - phases.correlation * phases.correlation) * normal(*random);
    for (int io = 0; io < phases.ios; ++io) {
      interval.Record(
          static_cast<uint64_t>(1e6 * std::exp(phases.wandering * level + normal(*random))));
    }
  }
  return intervals;
}

// As reports add it.
void AddConfidenceTo(const std::vector<common::Histogram>& intervals, Blocks blocks,
                     const common::Histogram& all, v1::OperationReport* report) {
  if (blocks == Blocks::kHost) {
    TailCounts counts(*report, StoredConfidence::kMinSeriesBlocks);
    for (size_t i = 0; i < intervals.size(); ++i) {
      counts.Add(static_cast<uint32_t>(i), intervals[i].Occupied());
    }
    return AddConfidence(counts, all, report);
  }
  measure::LatencyBlocks fleet;
  for (const common::Histogram& interval : intervals) {
    fleet.Add({{{0, v1::OPERATION_KIND_READ}, interval.Occupied()}});
  }
  std::vector<common::Buckets> latencies;
  for (const measure::LatencyBlock& block : fleet.blocks()) {
    latencies.push_back(block.latencies.begin()->second);
  }
  AddConfidence(latencies, all, report);
}

bool Held(const Phases& phases, Random* random) {
  const std::vector<common::Histogram> intervals = Drawn(phases, random);
  common::Histogram all;
  for (const common::Histogram& interval : intervals) all.Merge(interval);
  v1::OperationReport report;
  report.set_latency_min_ns(all.Percentile(0));
  report.set_latency_max_ns(all.Percentile(100));
  v1::Percentile* p = report.add_percentiles();
  p->set_percent(phases.percent);
  p->set_above(static_cast<double>(all.count() - common::RankOf(phases.percent, all.count())));
  p->set_latency_ns(all.Percentile(phases.percent));
  AddConfidenceTo(intervals, phases.blocks, all, &report);
  const double truth =
      1e6 * std::exp(phases.quantile * std::sqrt(1 + phases.wandering * phases.wandering));
  return p->has_low_ns() && p->low_ns() * (1 - kBucket) <= truth &&
         (!p->has_high_ns() || truth <= p->high_ns() * (1 + kBucket));
}

}  // namespace

std::vector<Rate> PercentileRates() {
  constexpr double kP50 = 0;
  constexpr double kP99 = 2.3263478740408408;
  constexpr double kP999 = 3.090232306167813;
  std::vector<Rate> rates;
  const auto add = [&](const Phases& phases, double least) {
    rates.push_back(
        {absl::StrCat(
             "coverage: p", phases.percent, ", ", phases.intervals, " intervals of ", phases.ios,
             " I/Os", phases.blocks == Blocks::kHost ? " of a host of many" : "",
             phases.wandering > 0 ? absl::StrCat(", levels wander by ", phases.correlation) : ""),
         least, 1, [phases](Random* random) { return Held(phases, random); }});
  };
  add({Blocks::kFleet, 5, 400, 0, 0, 50, kP50}, 0.95);
  add({Blocks::kFleet, 5, 400, 0, 0, 99, kP99}, 0.95);
  add({Blocks::kFleet, 10, 400, 0, 0, 99.9, kP999}, 0.95);
  add({Blocks::kFleet, 60, 100, 0, 0, 99, kP99}, 0.95);
  add({Blocks::kFleet, 600, 20, 0, 0, 99, kP99}, 0.95);
  for (const double correlation : {0.0, 0.5, 0.8}) {
    // Few intervals of a level that wanders slowly have seen a part of where it goes.
    const double few = correlation > 0.6 ? 0.9 : 0.95;
    add({Blocks::kFleet, 5, 400, 0.3, correlation, 99, kP99}, few);
    add({Blocks::kFleet, 10, 400, 0.3, correlation, 99, kP99}, few);
    add({Blocks::kFleet, 30, 400, 0.3, correlation, 99, kP99}, correlation > 0.6 ? 0.89 : 0.95);
    add({Blocks::kFleet, 60, 100, 0.3, correlation, 50, kP50}, few);
    add({Blocks::kFleet, 60, 100, 0.3, correlation, 99, kP99}, few);
    add({Blocks::kFleet, 600, 20, 0.3, correlation, 50, kP50}, 0.95);
    add({Blocks::kFleet, 600, 20, 0.3, correlation, 99, kP99}, 0.95);
    add({Blocks::kHost, 60, 100, 0.3, correlation, 99, kP99}, few);
  }
  return rates;
}

}  // namespace lockstep::controller
