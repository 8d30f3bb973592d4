#include "controller/analysis/live_phase.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "common/units.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

// Intervals kept for those who watch from the beginning: with their hosts, and at all. With a
// thousand hosts an interval holds 8 kB of their figures, 600 of them 5 MB.
constexpr size_t kPastWithHosts = 600;
constexpr size_t kPast = 20000;
// So many hosts that did most are named, and as many that did least.
constexpr size_t kExtremes = 5;
constexpr v1::OperationKind kKinds[] = {v1::OPERATION_KIND_READ, v1::OPERATION_KIND_WRITE,
                                        v1::OPERATION_KIND_TRIM, v1::OPERATION_KIND_FSYNC};

measure::PhaseSeries::Options OptionsOf(const std::map<uint32_t, std::string>& hosts,
                                        const v1::RunPhase& load) {
  measure::PhaseSeries::Options options;
  options.workloads = static_cast<uint32_t>(load.workloads_size());
  options.keeps_latencies = load.until_steady().figure() == v1::STEADY_FIGURE_PERCENTILE;
  options.keeps_timeline = true;
  options.begins = BeginsOf(load);
  for (const auto& [worker, host] : hosts) options.workers.insert(worker);
  return options;
}

std::string Limit(int64_t nanoseconds) {
  return absl::StrCat(" (limit ", common::FormatDuration(static_cast<double>(nanoseconds)), ")");
}

void AddBuckets(const common::Buckets& latencies, v1::BucketCounts* out) {
  for (const auto& [bucket, count] : latencies) {
    out->add_buckets(bucket);
    out->add_counts(static_cast<double>(count));
  }
}

}  // namespace

LivePhase::LivePhase(uint32_t phase, std::map<uint32_t, std::string> hosts,
                     const v1::RunPhase& load, int64_t interval_ns)
    : phase_(phase),
      hosts_(std::move(hosts)),
      has_load_(!load.workloads().empty()),
      abort_if_(load.abort_if()),
      series_(OptionsOf(hosts_, load)),
      silence_(load, interval_ns),
      minimum_(load) {
  for (int w = 0; w < load.workloads_size(); ++w) {
    if (!load.workloads(w).ends_phase()) continue;
    ends_phase_.emplace(static_cast<uint32_t>(w), load.workloads(w).name());
  }
  if (load.has_until_steady() && !load.until_steady().only_tell()) {
    steady_.emplace(load.until_steady(), interval_ns);
  }
}

absl::Status LivePhase::Add(uint32_t worker, const v1::IntervalSample& sample) {
  absl::Status status = series_.Add(worker, sample);
  if (!status.ok()) return status;
  silence_.Learn(worker, sample);
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    if (workload.ended_ns() <= 0) continue;
    minimum_.End(workload.workload(), workload.ended_ns());
    const auto ends = ends_phase_.find(workload.workload());
    if (ends == ends_phase_.end() || !end_reason_.empty()) continue;
    end_reason_ = absl::StrCat("workload ", ends->second, " has ended on ", NameOf(worker));
  }
  return status;
}

measure::Recording LivePhase::Close() {
  std::vector<measure::Rollup> rollups = series_.Rollups();
  // When a phase fails, its last intervals still wait for the worker that it failed on. Finish()
  // merges them without it, so that the timeline reaches to the end.
  (void)series_.Finish();
  return {std::move(rollups), series_.TakeTimeline()};
}

std::string LivePhase::NameOf(uint32_t worker) const {
  const auto host = hosts_.find(worker);
  return host == hosts_.end() ? absl::StrCat("worker ", worker) : host->second;
}

std::vector<std::string> LivePhase::Hosts() const {
  std::vector<std::string> names;
  names.reserve(hosts_.size());
  for (const auto& [worker, host] : hosts_) names.push_back(host);
  return names;
}

std::vector<std::string> LivePhase::Behind() const {
  std::vector<std::string> names;
  for (const uint32_t worker : series_.Behind()) names.push_back(NameOf(worker));
  return names;
}

void LivePhase::CompleteHistory() {
  for (v1::FleetInterval& interval : TakeComplete()) {
    // Latencies are for those who print lines while the load runs. The report has the lines of the
    // past.
    interval.clear_io_latencies();
    interval.clear_fsync_latencies();
    past_.push_back(std::move(interval));
    if (past_.size() <= kPastWithHosts) continue;
    v1::FleetInterval& old = past_[past_.size() - kPastWithHosts - 1];
    old.clear_all_iops();
    old.clear_all_p99_ns();
  }
  while (past_.size() > kPast) past_.pop_front();
}

void LivePhase::DescribeHosts(const measure::MergedInterval& merged,
                              v1::FleetInterval* interval) const {
  std::vector<double> rates;
  std::vector<std::pair<double, uint32_t>> places;  // IOPS, position
  uint32_t position = 0;
  for (const auto& [worker, host] : hosts_) {
    const auto found = merged.workers.find(worker);
    const bool there = found != merged.workers.end() && found->second.seconds > 0;
    const double iops =
        there ? static_cast<double>(found->second.operations) / found->second.seconds : 0;
    // The columns have a place for every host, since positions stand for names. 0 is a host that
    // did nothing, and -1 one without a part in the interval.
    interval->add_all_iops(there ? static_cast<float>(iops) : -1);
    interval->add_all_p99_ns(
        there && found->second.p99_ns > 0 ? static_cast<float>(found->second.p99_ns) : -1);
    if (there) rates.push_back(iops);
    if (there) places.emplace_back(iops, position);
    ++position;
  }
  const size_t shown = std::min(kExtremes, places.size());
  const auto middle = places.begin() + static_cast<ptrdiff_t>(shown);
  std::partial_sort(places.begin(), middle, places.end());
  for (size_t i = 0; i < shown; ++i) {
    interval->add_worst(places[i].second);
    interval->add_worst_iops(places[i].first);
  }
  std::partial_sort(places.begin(), middle, places.end(), std::greater<>());
  for (size_t i = 0; i < shown; ++i) {
    interval->add_best(places[i].second);
    interval->add_best_iops(places[i].first);
  }
  if (const auto jain = measure::JainOf(rates)) interval->set_jain(*jain);
  for (const double value : measure::QuantilesOf(std::move(rates))) {
    interval->add_host_quantiles(value);
  }
}

v1::FleetInterval LivePhase::Describe(const measure::MergedInterval& merged) {
  v1::FleetInterval interval;
  interval.set_phase(phase_);
  interval.set_interval(merged.interval);
  interval.set_interval_class(measure::ClassName(merged.interval_class));
  interval.set_end_seconds(merged.end_seconds);
  if (!merged.devices.empty()) {
    interval.add_iostat(merged.devices.await_ns());
    interval.add_iostat(merged.devices.queue_size());
    interval.add_iostat(merged.devices.request_bytes());
    interval.add_iostat(merged.devices.busy_ratio());
  }
  // An observe phase has no load, of which zeros would be figures.
  if (!has_load_) return interval;
  double errors = 0;
  // Shorter than any interval: it only keeps the divisions defined.
  double longest = 1e-9;
  for (const auto& [worker, part] : merged.workers) {
    const double seconds = std::max(part.seconds, 1e-9);
    longest = std::max(longest, seconds);
    interval.set_iops(interval.iops() + static_cast<double>(part.operations) / seconds);
    interval.set_bytes_per_second(interval.bytes_per_second() +
                                  static_cast<double>(part.bytes) / seconds);
    errors += static_cast<double>(part.errors);
  }
  interval.set_errors(errors);
  int kinds = 0;
  for (size_t k = 0; k < std::size(kKinds); ++k) {
    const auto found = merged.kinds.find(kKinds[k]);
    const bool any = found != merged.kinds.end() && found->second.operations > 0;
    interval.add_kind_iops(any ? static_cast<double>(found->second.operations) / longest : 0);
    interval.add_kind_bytes_per_second(any ? static_cast<double>(found->second.bytes) / longest
                                           : 0);
    if (any) kinds = static_cast<int>(k) + 1;
  }
  // Every watcher gets every interval, so kinds without I/O at the end of the list are left out.
  interval.mutable_kind_iops()->Truncate(kinds);
  interval.mutable_kind_bytes_per_second()->Truncate(kinds);
  interval.set_p50_ns(merged.p50_ns);
  interval.set_p99_ns(merged.p99_ns);
  interval.set_p999_ns(merged.p999_ns);
  AddBuckets(merged.latencies, interval.mutable_io_latencies());
  common::Buckets syncs;
  for (const auto& [of, latencies] : merged.kind_latencies) {
    if (!measure::IsIo(of.second)) syncs = common::SumOf(syncs, latencies);
  }
  AddBuckets(syncs, interval.mutable_fsync_latencies());
  DescribeHosts(merged, &interval);
  const LiveSilence::Found silence = silence_.Add(merged);
  interval.set_hosts(silence.hosts);
  interval.set_silent_hosts(silence.silent);
  interval.set_silent_seconds(silence.seconds);
  return interval;
}

void LivePhase::CheckAbortConditions(const measure::MergedInterval& merged) {
  // The run ends for the reason of the first interval that has one.
  if (!abort_reason_.empty()) return;
  const std::string where = absl::StrCat(" in interval ", merged.interval);
  if (abort_if_.errors() != 0 && series_.errors() >= abort_if_.errors()) {
    abort_reason_ = absl::StrCat("abort_if.errors: ", series_.errors(), " failed I/Os by interval ",
                                 merged.interval, " (limit ", abort_if_.errors(), ")");
  }
  // Errors count from the first interval. Latencies do not: in the ramp, caches and connections
  // still warm up.
  if (merged.interval_class != v1::INTERVAL_CLASS_MEASURED) return;
  uint64_t count = 0;
  for (const auto& [bucket, n] : merged.latencies) count += n;
  // If no I/O took longer, the p99 would be the largest latency: one slow I/O must not end a run.
  const bool has_p99 = count > 0 && common::RankOf(99, count) < count;
  if (abort_if_.p99_ns() != 0 && has_p99 &&
      merged.p99_ns > static_cast<double>(abort_if_.p99_ns())) {
    abort_reason_ = absl::StrCat("abort_if.p99: ", common::FormatDuration(merged.p99_ns), where,
                                 Limit(abort_if_.p99_ns()));
  }
  for (const auto& [worker, part] : merged.workers) {
    if (abort_if_.device_await_ns() == 0 ||
        part.longest_await_ns <= static_cast<double>(abort_if_.device_await_ns())) {
      continue;
    }
    abort_reason_ =
        absl::StrCat("abort_if.device_await: ", common::FormatDuration(part.longest_await_ns),
                     " on ", part.slowest_device, where, Limit(abort_if_.device_await_ns()));
  }
}

std::vector<v1::FleetInterval> LivePhase::TakeComplete() {
  std::vector<v1::FleetInterval> complete;
  for (measure::MergedInterval& merged : series_.TakeComplete()) {
    complete.push_back(Describe(merged));
    // An interval without somebody's part says nothing about the whole fleet.
    if (merged.whole) CheckAbortConditions(merged);
    const std::string slow = minimum_.Add(merged);
    if (abort_reason_.empty()) abort_reason_ = slow;
    // The first verdict ends the load, so that later ones would change nothing.
    if (!steady_ || !end_reason_.empty()) continue;
    // As the report judges it: by the hosts that do I/O and are there.
    const std::set<uint32_t> compared = series_.Compared();
    std::erase_if(merged.workers, [&](const auto& part) { return !compared.contains(part.first); });
    steady_->Add(merged);
    const measure::SteadyState::Verdict& verdict = steady_->verdict();
    if (!verdict.steady) continue;
    end_reason_ = absl::StrFormat(
        "the load is steady: over its last rounds it varies by %.1f %%, the fitted line by %.1f %%",
        100 * verdict.fleet.range, 100 * verdict.fleet.slope);
  }
  return complete;
}

}  // namespace lockstep::controller
