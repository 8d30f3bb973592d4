#include "controller/analysis/live_phase.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

measure::PhaseSeries::Options OptionsOf(const std::map<uint32_t, std::string>& hosts,
                                        const v1::RunPhase& load) {
  measure::PhaseSeries::Options options;
  options.workloads = static_cast<uint32_t>(load.workloads_size());
  options.keeps_latencies = load.until_steady().figure() == v1::STEADY_FIGURE_PERCENTILE;
  for (const auto& [worker, host] : hosts) options.workers.insert(worker);
  return options;
}

std::string Limit(int64_t nanoseconds) {
  return absl::StrCat(" (limit ", common::FormatDuration(static_cast<double>(nanoseconds)), ")");
}

}  // namespace

LivePhase::LivePhase(uint32_t phase, std::map<uint32_t, std::string> hosts,
                     const v1::RunPhase& load, int64_t interval_ns)
    : phase_(phase),
      hosts_(std::move(hosts)),
      abort_if_(load.abort_if()),
      series_(OptionsOf(hosts_, load)) {
  if (load.has_until_steady() && !load.until_steady().only_tell()) {
    steady_.emplace(load.until_steady(), interval_ns);
  }
}

v1::FleetInterval LivePhase::Describe(const measure::MergedInterval& merged) const {
  v1::FleetInterval interval;
  interval.set_phase(phase_);
  interval.set_interval(merged.interval);
  interval.set_interval_class(measure::ClassName(merged.interval_class));
  interval.set_end_seconds(merged.end_seconds);
  double errors = 0;
  for (const auto& [worker, part] : merged.workers) {
    const auto host = hosts_.find(worker);
    v1::HostInterval* out = interval.add_hosts();
    out->set_host(host == hosts_.end() ? absl::StrCat("worker ", worker) : host->second);
    const double seconds = std::max(part.seconds, 1e-9);
    out->set_iops(static_cast<double>(part.operations) / seconds);
    out->set_bytes_per_second(static_cast<double>(part.bytes) / seconds);
    out->set_p99_ns(part.p99_ns);
    interval.set_iops(interval.iops() + out->iops());
    interval.set_bytes_per_second(interval.bytes_per_second() + out->bytes_per_second());
    errors += static_cast<double>(part.errors);
  }
  interval.set_errors(errors);
  interval.set_p99_ns(merged.p99_ns);
  return interval;
}

void LivePhase::CheckBrakes(const measure::MergedInterval& merged) {
  if (!abort_reason_.empty()) return;
  const std::string where = absl::StrCat(" in interval ", merged.interval);
  if (abort_if_.errors() != 0 && series_.errors() >= abort_if_.errors()) {
    abort_reason_ = absl::StrCat("abort_if.errors: ", series_.errors(), " failed I/Os by interval ",
                                 merged.interval, " (limit ", abort_if_.errors(), ")");
  }
  if (merged.interval_class != v1::INTERVAL_CLASS_MEASURED) return;
  if (abort_if_.p99_ns() != 0 && merged.p99_ns > static_cast<double>(abort_if_.p99_ns())) {
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
    if (merged.whole) CheckBrakes(merged);
    if (!steady_ || !steady_reason_.empty()) continue;
    // As the report judges it: by the hosts that do I/O and are there.
    const std::set<uint32_t> compared = series_.Compared();
    std::erase_if(merged.workers, [&](const auto& part) { return !compared.contains(part.first); });
    steady_->Add(merged);
    const measure::SteadyState::Verdict& verdict = steady_->verdict();
    if (!verdict.steady) continue;
    steady_reason_ = absl::StrFormat(
        "the load is steady: over its last rounds it varies by %.1f %%, the fitted line by %.1f %%",
        100 * verdict.fleet.range, 100 * verdict.fleet.slope);
  }
  return complete;
}

}  // namespace lockstep::controller
