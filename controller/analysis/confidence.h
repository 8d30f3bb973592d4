#pragma once

#include <vector>

#include "common/histogram.h"
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
// interval is taken, with Student's t for few blocks and fewer of them where neighbours are alike.
// How often it holds the truth: tools/bench truth.
void AddConfidence(const std::vector<common::Buckets>& blocks, const common::Histogram& all,
                   v1::OperationReport* report);

}  // namespace lockstep::controller
