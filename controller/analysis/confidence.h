#pragma once

#include <vector>

#include "common/histogram.h"
#include "controller/analysis/tail_counts.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The fewest blocks that give an interval.
inline constexpr size_t kMinBlocks = 4;

// Gives the percentiles of `report`, which are of `all`, their 95 % confidence intervals.
// `blocks` divide the same latencies by time; with fewer than kMinBlocks there is no interval.
//
// A percentile's interval is that of the share of I/Os above it, turned back into latencies (R. S.
// Woodruff, 1952). I/Os that follow each other are alike, so that a million of them can say less
// than a thousand independent ones. The blocks tell how much less: the share varies between them as
// it would with so many independent I/Os (E. L. Korn, B. I. Graubard, 1998), whose binomial
// interval is taken. Blocks that follow each other may be alike, too. How much, few blocks cannot
// tell, so the larger of two variances counts, each with Student's t of the values it rests on:
//
// - that of blocks whose neighbours are correlated, with a correlation that is one standard error
//   above its estimate;
// - that of the slowest waves in the series of blocks, whatever makes them (E. Lazarus and others,
//   "HAR Inference", 2018). Where every block has few I/Os, their chance hides a correlation of
//   neighbours, but not the waves.
//
// How often it holds the truth: tools/bench truth.
void AddConfidence(const std::vector<common::Buckets>& blocks, const common::Histogram& all,
                   v1::OperationReport* report);
// The same from what was counted above the report's percentiles.
void AddConfidence(const TailCounts& blocks, const common::Histogram& all,
                   v1::OperationReport* report);

}  // namespace lockstep::controller
