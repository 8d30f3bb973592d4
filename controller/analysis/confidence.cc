#include "controller/analysis/confidence.h"

#include <algorithm>
#include <cmath>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// A few blocks can all be alike, which says nothing of the others. This bound keeps the interval
// finite.
constexpr double kMinDegrees = 2;

struct Share {
  double above = 0, count = 0;
};

// A block's latencies and how many of them lie in this bucket or above, ascending.
struct Tail {
  std::vector<std::pair<uint32_t, double>> buckets;
  double count = 0;
};

Tail TailOf(const common::Buckets& block) {
  Tail tail;
  tail.buckets.resize(block.size());
  for (size_t i = block.size(); i-- > 0;) {
    tail.count += static_cast<double>(block[i].second);
    tail.buckets[i] = {block[i].first, tail.count};
  }
  return tail;
}

Share ShareAbove(uint32_t bucket, const Tail& tail) {
  const auto first =
      std::upper_bound(tail.buckets.begin(), tail.buckets.end(), bucket,
                       [](uint32_t limit, const auto& entry) { return limit < entry.first; });
  return {first == tail.buckets.end() ? 0 : first->second, tail.count};
}

// The correlation of neighbouring blocks.
double CorrelationOf(const std::vector<double>& rests) {
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < rests.size(); ++i) {
    squares += rests[i] * rests[i];
    if (i > 0) products += rests[i] * rests[i - 1];
  }
  if (!(squares > 0)) return 0;
  return CorrectedCorrelation(products / squares, 1, static_cast<double>(rests.size()));
}

// How many I/Os say as much as one independent I/O. Student's t of the blocks is in it.
double DesignEffect(const std::vector<Share>& blocks) {
  Share all;
  for (const Share& block : blocks) {
    all.above += block.above;
    all.count += block.count;
  }
  const double share = all.above / all.count;
  std::vector<double> rests;
  double squares = 0;
  for (const Share& block : blocks) {
    rests.push_back(block.above - share * block.count);
    squares += rests.back() * rests.back();
  }
  const double r = CorrelationOf(rests);
  // Blocks that count as independent ones.
  const double n = static_cast<double>(blocks.size()) * (1 - r) / (1 + r);
  const double few = StudentQuantile(0.05, std::max(kMinDegrees, n - 1)) / kNormal95;
  const double independent = share * (1 - share) / all.count;
  if (!(independent > 0)) return few * few;
  // The variance of a ratio of two sums, by linearisation.
  const auto size = static_cast<double>(blocks.size());
  const double variance = size / (size - 1) * squares / (all.count * all.count) * size / n;
  return few * few * std::max(1.0, variance / independent);
}

void AddInterval(const std::vector<Tail>& blocks, const common::Histogram& all,
                 const v1::OperationReport& report, v1::Percentile* p) {
  if (!p->has_latency_ns()) return;
  const uint32_t bucket =
      common::BucketOf(static_cast<uint64_t>(std::llround(all.Percentile(p->percent()))));
  std::vector<Share> shares;
  for (const Tail& block : blocks) shares.push_back(ShareAbove(bucket, block));
  const auto count = static_cast<double>(all.count());
  const double independent = count / DesignEffect(shares);
  const Shift::Interval above = ShareInterval(p->above() / count * independent, independent);
  const auto latency = [&](double share) {
    return std::clamp(all.Percentile(std::max(0.0, 100 * (1 - share))), report.latency_min_ns(),
                      report.latency_max_ns());
  };
  p->set_low_ns(std::min(latency(above.high), p->latency_ns()));
  // Where less than one I/O may be above it, the largest latency that was seen is no bound.
  if (above.low * count >= 1) p->set_high_ns(std::max(latency(above.low), p->latency_ns()));
}

}  // namespace

void AddConfidence(const std::vector<common::Buckets>& blocks, const common::Histogram& all,
                   v1::OperationReport* report) {
  std::vector<Tail> tails;
  for (const common::Buckets& block : blocks) {
    // A block without an operation says nothing of their latencies: the load had ended, or had not
    // begun.
    if (!block.empty()) tails.push_back(TailOf(block));
  }
  if (tails.size() < kMinBlocks || all.count() == 0) return;
  for (auto* list : {report->mutable_percentiles(), report->mutable_tail()}) {
    for (v1::Percentile& p : *list) AddInterval(tails, all, *report, &p);
  }
}

}  // namespace lockstep::controller
