#include "controller/analysis/tail_counts.h"

#include <algorithm>
#include <cmath>

namespace lockstep::controller {
namespace {

// The bucket of a percentile, which is a bucket's midpoint, or the least or largest latency in it.
uint32_t BoundOf(double latency_ns) {
  return common::BucketOf(static_cast<uint64_t>(std::llround(latency_ns)));
}

// Ascending.
std::vector<uint32_t> BoundsOf(const v1::OperationReport& report) {
  std::vector<uint32_t> bounds;
  for (const auto* list : {&report.percentiles(), &report.tail()}) {
    for (const v1::Percentile& p : *list) {
      if (p.has_latency_ns()) bounds.push_back(BoundOf(p.latency_ns()));
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace

TailCounts::TailCounts(const v1::OperationReport& report, size_t max_blocks)
    : bounds_(BoundsOf(report)), max_blocks_(max_blocks) {}

size_t TailCounts::NumbersOfBlock(const v1::OperationReport& report) {
  return 1 + BoundsOf(report).size();
}

void TailCounts::Add(uint32_t interval, const common::Buckets& latencies) {
  if (latencies.empty()) return;
  if (numbers_.empty()) first_ = interval;
  if (interval < first_) return;  // it is out of order
  // How long a load lasts need not be known before: the blocks grow instead of their number.
  while ((interval - first_) / block_intervals_ >= max_blocks_) Halve();
  const size_t width = 1 + bounds_.size();
  const size_t begin = (interval - first_) / block_intervals_ * width;
  if (numbers_.size() < begin + width) numbers_.resize(begin + width);
  // From the largest latency down: what was seen before a bound's bucket lies above it.
  double seen = 0;
  size_t bound = bounds_.size();
  for (auto entry = latencies.rbegin(); entry != latencies.rend(); ++entry) {
    for (; bound > 0 && bounds_[bound - 1] >= entry->first; --bound) {
      numbers_[begin + bound] += seen;
    }
    seen += static_cast<double>(entry->second);
  }
  for (; bound > 0; --bound) numbers_[begin + bound] += seen;
  numbers_[begin] += seen;
}

void TailCounts::Halve() {
  const size_t width = 1 + bounds_.size();
  const size_t blocks = numbers_.size() / width;
  for (size_t block = 0; block < blocks; ++block) {
    for (size_t i = 0; i < width; ++i) {
      const double number = numbers_[block * width + i];
      // In place: a sum lies where its first block is already read.
      double& sum = numbers_[block / 2 * width + i];
      block % 2 == 0 ? sum = number : sum += number;
    }
  }
  numbers_.resize((blocks + 1) / 2 * width);
  block_intervals_ *= 2;
}

std::vector<TailCounts::Share> TailCounts::SharesAbove(double latency_ns) const {
  const auto found = std::lower_bound(bounds_.begin(), bounds_.end(), BoundOf(latency_ns));
  const size_t bound = static_cast<size_t>(found - bounds_.begin());
  const size_t width = 1 + bounds_.size();
  std::vector<Share> shares;
  for (size_t begin = 0; found != bounds_.end() && begin < numbers_.size(); begin += width) {
    if (numbers_[begin] > 0) shares.push_back({numbers_[begin + 1 + bound], numbers_[begin]});
  }
  return shares;
}

size_t TailCounts::blocks() const {
  size_t blocks = 0;
  for (size_t begin = 0; begin < numbers_.size(); begin += 1 + bounds_.size()) {
    if (numbers_[begin] > 0) ++blocks;
  }
  return blocks;
}

}  // namespace lockstep::controller
