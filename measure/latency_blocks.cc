#include "measure/latency_blocks.h"

#include <utility>

namespace lockstep::measure {
namespace {

// Makes the block and the one that follows it one.
void AppendBlock(const LatencyBlock& later, LatencyBlock* block) {
  block->intervals += later.intervals;
  for (const auto& [key, buckets] : later.latencies) {
    common::Buckets& sum = block->latencies[key];
    sum = common::SumOf(sum, buckets);
  }
}

}  // namespace

void LatencyBlocks::Add(LatenciesOfKinds latencies) {
  has_too_many_ = has_too_many_ || latencies.size() > kMaxKinds;
  if (has_too_many_) return blocks_.clear();
  LatencyBlock added{1, std::move(latencies)};
  if (!blocks_.empty() && blocks_.back().intervals < block_intervals_) {
    AppendBlock(added, &blocks_.back());
  } else {
    blocks_.push_back(std::move(added));
  }
  if (blocks_.size() <= kMaxBlocks) return;
  std::vector<LatencyBlock> halved;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (i % 2 == 0) {
      halved.push_back(std::move(blocks_[i]));
    } else {
      AppendBlock(blocks_[i], &halved.back());
    }
  }
  blocks_ = std::move(halved);
  block_intervals_ *= 2;
}

}  // namespace lockstep::measure
