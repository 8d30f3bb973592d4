#include "controller/analysis/confidence.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

using Share = TailCounts::Share;

// A few blocks can all be alike, which says nothing of the others. This bound keeps the interval
// finite.
constexpr double kMinDegrees = 2;
// Fewer waves than this make the interval of independent blocks wide: Student's t of six values is
// 1.25 times the normal distribution's. More of them are too quick to show a level that wanders
// slowly.
constexpr size_t kWaves = 6;
// Beyond, an estimate says nothing.
constexpr double kMaxCorrelation = 0.9;

// The square of the factor by which Student's interval is wider than the normal distribution's. A
// report of many hosts has thousands of intervals, hence the table. Between its whole degrees the
// value is a little too large.
double SquaredStudent(double degrees) {
  constexpr size_t kDegrees = 128;
  static const auto* const kTable = [] {
    auto* table = new std::vector<double>(kDegrees + 1);
    for (size_t i = 1; i <= kDegrees; ++i) {
      (*table)[i] = StudentQuantile(0.05, static_cast<double>(i)) / kNormal95;
    }
    return table;
  }();
  const double bounded = std::clamp<double>(degrees, 1, kDegrees);
  const size_t below = std::min(static_cast<size_t>(bounded), kDegrees - 1);
  const auto floor = static_cast<double>(below);
  // The quantile is nearly a line of 1 / degrees.
  const double weight = (1 / floor - 1 / bounded) / (1 / floor - 1 / (floor + 1));
  const double factor = (*kTable)[below] + weight * ((*kTable)[below + 1] - (*kTable)[below]);
  return factor * factor;
}

// The slowest cosine waves over so many blocks, which are orthogonal to each other and to a
// constant.
std::vector<std::vector<double>> WavesOver(size_t blocks) {
  std::vector<std::vector<double>> waves(std::min(kWaves, blocks / 2));
  for (size_t k = 0; k < waves.size(); ++k) {
    for (size_t i = 0; i < blocks; ++i) {
      waves[k].push_back(std::cos(std::numbers::pi * static_cast<double>(k + 1) *
                                  (static_cast<double>(i) + 0.5) / static_cast<double>(blocks)));
    }
  }
  return waves;
}

// The variance of the sum of the blocks' rests, times SquaredStudent(): if they are a series in
// which each is correlated with its neighbours, and through them with the others.
double VarianceByNeighbours(const std::vector<double>& rests) {
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < rests.size(); ++i) {
    squares += rests[i] * rests[i];
    if (i > 0) products += rests[i] * rests[i - 1];
  }
  if (!(squares > 0)) return 0;
  const auto size = static_cast<double>(rests.size());
  const double estimate = CorrectedCorrelation(products / squares, 1, size);
  const double r =
      std::min(kMaxCorrelation, estimate + std::sqrt((1 - estimate * estimate) / size));
  // Blocks that count as independent ones.
  const double n = size * (1 - r) / (1 + r);
  return SquaredStudent(std::max(kMinDegrees, n - 1)) * size / (size - 1) * squares * size / n;
}

// The same by the slowest waves: a wave of rests that are not correlated has this variance times
// half the number of blocks.
double VarianceByWaves(const std::vector<double>& rests,
                       const std::vector<std::vector<double>>& waves) {
  double sum = 0;
  for (const std::vector<double>& wave : waves) {
    double product = 0;
    for (size_t i = 0; i < rests.size(); ++i) product += wave[i] * rests[i];
    sum += product * product;
  }
  const auto count = static_cast<double>(waves.size());
  return SquaredStudent(count) * 2 * sum / count;
}

// How many I/Os say as much as one independent I/O. Student's t of the blocks is in it.
double DesignEffect(const std::vector<Share>& blocks,
                    const std::vector<std::vector<double>>& waves) {
  Share all;
  for (const Share& block : blocks) {
    all.above += block.above;
    all.count += block.count;
  }
  const double share = all.above / all.count;
  // The variance of a ratio of two sums, by linearisation.
  std::vector<double> rests;
  for (const Share& block : blocks) rests.push_back(block.above - share * block.count);
  const double independent = share * (1 - share) * all.count;
  if (!(independent > 0)) return 1;
  return std::max(
      1.0, std::max(VarianceByNeighbours(rests), VarianceByWaves(rests, waves)) / independent);
}

void AddInterval(const TailCounts& blocks, const std::vector<std::vector<double>>& waves,
                 const common::Histogram& all, const v1::OperationReport& report,
                 v1::Percentile* p) {
  if (!p->has_latency_ns()) return;
  const auto count = static_cast<double>(all.count());
  const double independent = count / DesignEffect(blocks.SharesAbove(p->latency_ns()), waves);
  const Shift::Interval above = ShareInterval(p->above() / count * independent, independent);
  const auto latency = [&](double share) {
    return std::clamp(all.Percentile(std::max(0.0, 100 * (1 - share))), report.latency_min_ns(),
                      report.latency_max_ns());
  };
  p->set_low_ns(std::min(latency(above.high), p->latency_ns()));
  // If less than one I/O may be above it, the largest latency that was seen is no bound.
  if (above.low * count >= 1) p->set_high_ns(std::max(latency(above.low), p->latency_ns()));
}

}  // namespace

void AddConfidence(const TailCounts& blocks, const common::Histogram& all,
                   v1::OperationReport* report) {
  if (blocks.blocks() < kMinBlocks || all.count() == 0) return;
  const std::vector<std::vector<double>> waves = WavesOver(blocks.blocks());
  for (auto* list : {report->mutable_percentiles(), report->mutable_tail()}) {
    for (v1::Percentile& p : *list) AddInterval(blocks, waves, all, *report, &p);
  }
}

void AddConfidence(const std::vector<common::Buckets>& blocks, const common::Histogram& all,
                   v1::OperationReport* report) {
  if (blocks.empty()) return;
  TailCounts counts(*report, blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) counts.Add(static_cast<uint32_t>(i), blocks[i]);
  AddConfidence(counts, all, report);
}

}  // namespace lockstep::controller
