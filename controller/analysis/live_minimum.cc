#include "controller/analysis/live_minimum.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

// The time that the rounding of intervals may take from a window's length.
constexpr double kRoundingSeconds = 1e-6;

}  // namespace

LiveMinimum::LiveMinimum(const v1::RunPhase& load) {
  for (int w = 0; w < load.workloads_size(); ++w) {
    const v1::Workload& workload = load.workloads(w);
    if (!workload.has_min_rate()) continue;
    Watch& watch = watches_[static_cast<uint32_t>(w)];
    watch.name = workload.name();
    watch.rule = workload.min_rate();
    watch.begin_seconds = static_cast<double>(workload.start_delay_ns()) / 1e9;
    watch.end_seconds = std::numeric_limits<double>::infinity();
  }
}

void LiveMinimum::End(uint32_t workload, int64_t at_ns) {
  const auto watch = watches_.find(workload);
  if (watch == watches_.end()) return;
  // The first part that ends counts: after it the workload is a smaller one.
  watch->second.end_seconds = std::min(watch->second.end_seconds, static_cast<double>(at_ns) / 1e9);
}

std::string LiveMinimum::Judge(const Watch& watch, double to_seconds) {
  const std::string when =
      absl::StrFormat(" from %.4g to %.4g s after T (at least ", watch.from_seconds, to_seconds);
  const double iops = static_cast<double>(watch.sums.operations) / watch.seconds;
  const double bytes = static_cast<double>(watch.sums.bytes) / watch.seconds;
  if (iops < watch.rule.iops()) {
    return absl::StrCat("min_rate of ", watch.name, ": ", common::FormatCount(iops), "/s", when,
                        common::FormatCount(watch.rule.iops()), "/s)");
  }
  if (bytes < watch.rule.throughput_bytes_per_second()) {
    return absl::StrCat("min_rate of ", watch.name, ": ", common::FormatThroughput(bytes), when,
                        common::FormatThroughput(watch.rule.throughput_bytes_per_second()), ")");
  }
  return "";
}

std::string LiveMinimum::Add(const measure::MergedInterval& merged) {
  double begin = merged.end_seconds;
  for (const auto& [worker, part] : merged.workers) begin = std::min(begin, part.begin_seconds);
  std::string slow;
  for (auto& [workload, watch] : watches_) {
    const bool counts = merged.whole && merged.interval_class == v1::INTERVAL_CLASS_MEASURED &&
                        begin >= watch.begin_seconds && merged.end_seconds <= watch.end_seconds;
    // A window is of one piece. After an interval that lacks a host, another one begins.
    if (!counts) {
      watch.seconds = 0;
      continue;
    }
    // An interval that nobody delivered is no time of a window.
    if (begin > watch.to_seconds + kRoundingSeconds) watch.seconds = 0;
    watch.to_seconds = merged.end_seconds;
    if (watch.seconds == 0) {
      watch.from_seconds = begin;
      watch.sums = {};
    }
    watch.seconds += merged.end_seconds - begin;
    const auto did = merged.workloads.find(workload);
    if (did != merged.workloads.end()) watch.sums.Add(did->second);
    if (watch.seconds + kRoundingSeconds < static_cast<double>(watch.rule.window_ns()) / 1e9) {
      continue;
    }
    // One reason is enough to end the run.
    if (slow.empty()) slow = Judge(watch, merged.end_seconds);
    watch.seconds = 0;
  }
  return slow;
}

}  // namespace lockstep::controller
