#include "worker/synthetic/latency_model.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace lockstep::worker {
namespace {

// Seconds are made once and dealt out in turn: drawing each I/O of thousands of workers anew would
// take the processors that the controller under test needs.
constexpr size_t kSeconds = 24;

}  // namespace

LatencyModel::LatencyModel(uint64_t iops, uint64_t seed) : iops_(iops) {
  std::mt19937_64 random(seed);
  // Service times are skewed to the right and never negative, which a normal distribution cannot
  // be. Three paths give the percentiles distinct causes: the median is a cache hit, the p99 is
  // among the slowest 1.5 %.
  std::lognormal_distribution<double> fast(std::log(90e3), 0.22);   // a cache hit, 90 µs
  std::lognormal_distribution<double> slow(std::log(420e3), 0.45);  // the medium, 420 µs
  // queues and garbage collection, 4 ms
  std::lognormal_distribution<double> tail(std::log(4e6), 0.9);
  std::uniform_real_distribution<double> which;
  for (size_t i = 0; i < kSeconds; ++i) {
    const auto operations =
        static_cast<uint64_t>(static_cast<double>(iops) * (0.97 + 0.06 * which(random)));
    common::Histogram histogram;
    measure::OperationCounts counts;
    for (uint64_t k = 0; k < operations; ++k) {
      const double path = which(random);
      const auto ns = static_cast<uint64_t>(path < 0.72    ? fast(random)
                                            : path < 0.985 ? slow(random)
                                                           : tail(random));
      histogram.Record(ns);
      counts.Add({1, 0, 0, 0, ns, ns, ns});
    }
    measure::OperationDelta delta;
    delta.counts = counts;
    delta.histograms[measure::IndexOf(v1::METRIC_SERVICE_TIME)] =
        *common::DecodeBuckets(histogram.Encode());
    Second second;
    second.stats.Add(delta);
    second.counters = second.stats.Encode(v1::OPERATION_KIND_READ);
    seconds_.push_back(std::move(second));
  }
}

}  // namespace lockstep::worker
