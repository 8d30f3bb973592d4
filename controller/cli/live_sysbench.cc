#include "controller/cli/live_sysbench.h"

#include <algorithm>
#include <iostream>

#include "common/histogram.h"
#include "common/text.h"
#include "common/timing.h"
#include "controller/plan/settle.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::cli {
namespace {

// The ends of intervals are off by what their instants are rounded to.
constexpr double kRounding = 1e-6;

enum class Counts { kAsEvents, kNotAsEvents };

double AddLatencies(const v1::BucketCounts& from, Counts counts, common::Histogram* to) {
  double all = 0;
  for (int i = 0; i < std::min(from.buckets_size(), from.counts_size()); ++i) {
    all += from.counts(i);
    if (counts == Counts::kNotAsEvents || from.buckets(i) >= common::kBucketCount) continue;
    to->AddBucket(from.buckets(i), static_cast<uint64_t>(from.counts(i)));
  }
  return all;
}

}  // namespace

LiveSysbench::LiveSysbench(v1::JobSpec job) : job_(std::move(job)) {
  // The controller refuses what has problems.
  if (!controller::SettleJob(&job_).empty()) return;
  is_wanted_ = job_.phases_size() == 1 && job_.phases(0).has_run() &&
               controller::WantsSysbenchIntervals(job_);
}

void LiveSysbench::Print(const v1::WatchEvent& event) {
  if (!is_wanted_) return;
  if (event.has_phase() && measure::Is(event.phase(), measure::PhaseState::kRunning)) {
    Begin(event.phase());
  } else if (event.has_interval() && has_begun_) {
    Add(event.interval());
  }
}

void LiveSysbench::Begin(const v1::PhaseChange& phase) {
  if (has_begun_) return;
  has_begun_ = true;
  const auto hosts = static_cast<uint32_t>(phase.hosts_size());
  look_ = controller::SysbenchLookOf(job_, job_.phases(0).name(), std::max(1U, hosts));
  std::cout << common::PrintableLines(controller::SysbenchBegin(look_)) << std::flush;
}

void LiveSysbench::Add(const v1::FleetInterval& interval) {
  if (is_broken_ || !measure::Is(interval, measure::IntervalClass::kMeasured)) return;
  const double length = static_cast<double>(job_.interval_ns()) / timing::kSecond;
  const double ramp = static_cast<double>(job_.phases(0).run().ramp_ns()) / timing::kSecond;
  const double end = interval.end_seconds() - ramp;
  const double seconds = end - seen_seconds_;
  // A watcher that is slow, or whose controller was lost, misses intervals. A line without them
  // would be wrong, so the report prints all lines from here on.
  if (seconds > 1.5 * length || !interval.has_io_latencies()) {
    is_broken_ = true;
    return;
  }
  // Repeated after a reconnection.
  if (seconds <= kRounding) return;
  seen_seconds_ = end;
  if (interval.kind_bytes_per_second_size() > 0) {
    collected_.read_bytes += interval.kind_bytes_per_second(0) * seconds;
  }
  if (interval.kind_bytes_per_second_size() > 1) {
    collected_.written_bytes += interval.kind_bytes_per_second(1) * seconds;
  }
  AddLatencies(interval.io_latencies(), Counts::kAsEvents, &collected_.latencies);
  collected_.syncs += AddLatencies(
      interval.fsync_latencies(),
      look_.syncs_with_writes ? Counts::kNotAsEvents : Counts::kAsEvents, &collected_.latencies);
  const auto step = static_cast<double>(look_.report_interval_seconds);
  if (end < static_cast<double>(printed_ + 1) * step - kRounding) return;
  ++printed_;
  std::cout << controller::SysbenchIntervalLine(look_, printed_, collected_) << std::flush;
  collected_ = {};
}

}  // namespace lockstep::cli
