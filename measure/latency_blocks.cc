#include "measure/latency_blocks.h"

namespace lockstep::measure {

void Append(const LatencyBlock& later, LatencyBlock* block) {
  block->intervals += later.intervals;
  for (const auto& [key, buckets] : later.latencies) {
    common::Buckets& sum = block->latencies[key];
    sum = common::SumOf(sum, buckets);
  }
}

void LatencyBlocks::Add(const LatenciesOfKinds& latencies) {
  const LatencyBlock added{1, latencies};
  if (!blocks_.empty() && blocks_.back().intervals < block_intervals_) {
    Append(added, &blocks_.back());
  } else {
    blocks_.push_back(added);
  }
  if (blocks_.size() <= kMaxBlocks) return;
  std::vector<LatencyBlock> halved;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (i % 2 == 0) {
      halved.push_back(std::move(blocks_[i]));
    } else {
      Append(blocks_[i], &halved.back());
    }
  }
  blocks_ = std::move(halved);
  block_intervals_ *= 2;
}

}  // namespace lockstep::measure
