#include "controller/service/live_phase.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kRollupNs = 10000000000;
// More intervals than this are not skipped by a worker of ours.
constexpr uint32_t kLongestGap = 1000000;

absl::StatusOr<common::Histogram> Decode(const v1::Histogram& encoded) {
  if (encoded.scheme() != common::kHistogramScheme) {
    return absl::InvalidArgumentError(absl::StrCat("a histogram of scheme ", encoded.scheme(),
                                                   ", this controller knows ",
                                                   common::kHistogramScheme));
  }
  common::Histogram histogram;
  if (absl::Status status = histogram.AddEncoded(encoded.buckets()); !status.ok()) return status;
  return histogram;
}

std::string ClassName(v1::IntervalClass interval_class) {
  switch (interval_class) {
    case v1::INTERVAL_CLASS_RAMP:
      return "ramp";
    case v1::INTERVAL_CLASS_DRAIN:
      return "drain";
    default:
      return "measured";
  }
}

}  // namespace

namespace {

// Figures that no host has; empty when all are possible.
std::string WrongNumber(const v1::IntervalSample& sample) {
  constexpr int kMostDevices = 1000;
  if (sample.devices_size() > kMostDevices) {
    return absl::StrCat("has ", sample.devices_size(), " devices");
  }
  for (const v1::DeviceSample& device : sample.devices()) {
    if (device.name().size() > 128 || !common::IsPlainText(device.name(), false)) {
      return "a device has no name";
    }
  }
  const v1::HostSample& host = sample.host();
  for (const double ratio : {host.user_ratio(), host.system_ratio(), host.idle_ratio(),
                             host.iowait_ratio(), host.steal_ratio()}) {
    if (!(ratio >= -2 && ratio <= 2)) {
      return absl::StrCat("a share of the processors' time is ", ratio);
    }
  }
  return "";
}

}  // namespace

absl::Status LivePhase::Add(uint32_t worker, const v1::IntervalSample& sample) {
  constexpr int64_t kLongestNs = int64_t{366} * 24 * 3600 * 1000000000;
  if (sample.begin_ns() < 0 || sample.end_ns() < sample.begin_ns() ||
      sample.end_ns() > kLongestNs) {
    return absl::InvalidArgumentError(absl::StrCat("interval ", sample.interval(), " lies from ",
                                                   sample.begin_ns(), " to ", sample.end_ns(),
                                                   " ns"));
  }
  if (sample.interval() >= limits::kIntervalsOfAPhase) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interval ", sample.interval(), "; a phase has at most ", limits::kIntervalsOfAPhase));
  }
  if (const std::string wrong = WrongNumber(sample); !wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("interval ", sample.interval(), ": ", wrong));
  }
  if (sample.interval() < next_[worker]) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval ", sample.interval(), " came after interval ", next_[worker] - 1));
  }
  if (sample.interval() > next_[worker] + kLongestGap) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval ", sample.interval(), " where ", next_[worker], " was due"));
  }
  // Everything is decoded before anything is added.
  std::vector<std::pair<Key, Totals>> decoded;
  std::set<Key> seen;
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    for (const v1::OperationCounters& c : workload.operations()) {
      for (const v1::Histogram& encoded : c.histograms()) {
        const Key key(workload.workload(), sample.interval_class(), c.kind(), encoded.metric());
        if (workload.workload() >= workloads_ || !v1::OperationKind_IsValid(c.kind()) ||
            !v1::Metric_IsValid(encoded.metric()) || !seen.insert(key).second) {
          return absl::InvalidArgumentError(absl::StrCat(
              "interval ", sample.interval(), ": workload ", workload.workload(), ", kind ",
              c.kind(), ", metric ", encoded.metric(), " is not of this phase, or comes twice"));
        }
        auto histogram = Decode(encoded);
        if (!histogram.ok()) return histogram.status();
        if (encoded.metric() == v1::METRIC_SERVICE_TIME && histogram->count() != c.operations()) {
          return absl::InvalidArgumentError(absl::StrCat("interval ", sample.interval(), ": ",
                                                         c.operations(), " I/Os but ",
                                                         histogram->count(), " latencies"));
        }
        decoded.push_back(
            {key, Totals{c.operations(), c.bytes(), c.errors(), *std::move(histogram)}});
      }
    }
  }
  next_[worker] = sample.interval() + 1;
  // Of one that those who watch have not waited for, only the sums remain to be made.
  Interval gone;
  Interval& interval = sample.interval() < taken_ ? gone : pending_[sample.interval()];
  if (sample.interval_class() != v1::INTERVAL_CLASS_UNSPECIFIED) {
    interval.interval_class = sample.interval_class();
  }
  interval.end_seconds = std::max(interval.end_seconds, static_cast<double>(sample.end_ns()) / 1e9);
  HostPart& part = interval.hosts[worker];
  part.seconds = static_cast<double>(sample.end_ns() - sample.begin_ns()) / 1e9;
  if (sample.interval_class() == v1::INTERVAL_CLASS_MEASURED) {
    measured_seconds_[worker] += part.seconds;
  }
  // What people watch is the response time where a workload has one.
  std::set<std::pair<uint32_t, int>> open_loops;
  for (const auto& [key, totals] : decoded) {
    if (std::get<3>(key) == v1::METRIC_RESPONSE_TIME) {
      open_loops.insert({std::get<0>(key), std::get<2>(key)});
    }
  }
  const auto merge = [](Totals* into, const Totals& from) {
    into->operations += from.operations;
    into->bytes += from.bytes;
    into->errors += from.errors;
    into->latencies.Merge(from.latencies);
  };
  for (const auto& [key, totals] : decoded) {
    merge(&sums_[worker][key], totals);
    const auto& [workload, interval_class, kind, metric] = key;
    if (interval_class == v1::INTERVAL_CLASS_MEASURED) {
      const std::tuple<uint32_t, int, int, int64_t> rollup{
          workload, kind, metric, sample.begin_ns() / kRollupNs * kRollupNs};
      if (rollups_.size() < static_cast<size_t>(limits::kRollupsOfAPhase) ||
          rollups_.count(rollup) != 0) {
        merge(&rollups_[rollup], totals);
      }
    }
    if (metric == v1::METRIC_SERVICE_TIME) errors_ += totals.errors;
    if (kind == v1::OPERATION_KIND_FSYNC ||
        metric != (open_loops.count({workload, kind}) != 0 ? v1::METRIC_RESPONSE_TIME
                                                           : v1::METRIC_SERVICE_TIME)) {
      continue;
    }
    merge(&part.totals, totals);
  }
  for (const v1::DeviceSample& device : sample.devices()) {
    const uint64_t requests = device.reads() + device.writes();
    const double await_ns =
        requests == 0
            ? 0
            : static_cast<double>(device.read_time_ms() + device.write_time_ms()) * 1e6 / requests;
    if (await_ns <= part.longest_await_ns) continue;
    part.longest_await_ns = await_ns;
    part.slowest_device = device.name();
  }
  return absl::OkStatus();
}

absl::Status LivePhase::CheckResult(uint32_t worker, const v1::PhaseResult& result) const {
  std::map<Key, Totals> expected;
  const auto found = sums_.find(worker);
  if (found != sums_.end()) expected = found->second;
  for (const v1::WorkloadResult& workload : result.workloads()) {
    for (const auto& [list, interval_class] :
         {std::pair{&workload.ramp(), v1::INTERVAL_CLASS_RAMP},
          std::pair{&workload.measured(), v1::INTERVAL_CLASS_MEASURED},
          std::pair{&workload.drain(), v1::INTERVAL_CLASS_DRAIN}}) {
      for (const v1::OperationCounters& c : *list) {
        for (const v1::Histogram& encoded : c.histograms()) {
          auto histogram = Decode(encoded);
          if (!histogram.ok()) return histogram.status();
          const auto sum =
              expected.find(Key(workload.workload(), interval_class, c.kind(), encoded.metric()));
          // An interval in which everything failed has errors and no latency: they come with the
          // service times alone.
          const bool errors = encoded.metric() != v1::METRIC_SERVICE_TIME ||
                              (sum != expected.end() && sum->second.errors == c.errors());
          const bool equal = sum != expected.end() && sum->second.operations == c.operations() &&
                             sum->second.bytes == c.bytes() && errors &&
                             sum->second.latencies == *histogram;
          if (!equal) {
            return absl::DataLossError(absl::StrCat(
                "the result of workload ", workload.workload(), " (", ClassName(interval_class),
                ", kind ", c.kind(), ") has ", c.operations(), " I/Os, its intervals add up to ",
                sum == expected.end() ? 0 : sum->second.operations, " or differ in a bucket"));
          }
          expected.erase(sum);
        }
      }
    }
  }
  for (const auto& [key, totals] : expected) {
    if (totals.operations == 0 && totals.errors == 0) continue;
    return absl::DataLossError(absl::StrCat("the result lacks ", totals.operations,
                                            " I/Os of workload ", std::get<0>(key),
                                            " that its intervals have"));
  }
  return absl::OkStatus();
}

v1::FleetInterval LivePhase::Merge(uint32_t number, const Interval& interval) {
  v1::FleetInterval merged;
  merged.set_phase(phase_);
  merged.set_interval(number);
  merged.set_interval_class(ClassName(interval.interval_class));
  merged.set_end_seconds(interval.end_seconds);
  common::Histogram all;
  double errors = 0;
  for (const auto& [worker, part] : interval.hosts) {
    const auto host = hosts_.find(worker);
    v1::HostInterval* out = merged.add_hosts();
    out->set_host(host == hosts_.end() ? absl::StrCat("worker ", worker) : host->second);
    const double seconds = std::max(part.seconds, 1e-9);
    out->set_iops(static_cast<double>(part.totals.operations) / seconds);
    out->set_bytes_per_second(static_cast<double>(part.totals.bytes) / seconds);
    out->set_p99_ns(part.totals.latencies.Percentile(99));
    merged.set_iops(merged.iops() + out->iops());
    merged.set_bytes_per_second(merged.bytes_per_second() + out->bytes_per_second());
    errors += static_cast<double>(part.totals.errors);
    all.Merge(part.totals.latencies);
  }
  merged.set_errors(errors);
  merged.set_p99_ns(all.Percentile(99));
  return merged;
}

void LivePhase::CheckBrakes(uint32_t number, const Interval& interval,
                            const v1::FleetInterval& merged) {
  if (!abort_reason_.empty()) return;
  if (abort_if_.errors() != 0 && errors_ >= abort_if_.errors()) {
    abort_reason_ = absl::StrCat("abort_if.errors: ", errors_, " failed I/Os by interval ", number,
                                 " (limit ", abort_if_.errors(), ")");
  }
  if (interval.interval_class != v1::INTERVAL_CLASS_MEASURED) return;
  if (abort_if_.p99_ns() != 0 && merged.p99_ns() > static_cast<double>(abort_if_.p99_ns())) {
    abort_reason_ = absl::StrCat(
        "abort_if.p99: ", common::FormatDuration(merged.p99_ns()), " in interval ", number,
        " (limit ", common::FormatDuration(static_cast<double>(abort_if_.p99_ns())), ")");
  }
  for (const auto& [worker, part] : interval.hosts) {
    if (abort_if_.device_await_ns() == 0 ||
        part.longest_await_ns <= static_cast<double>(abort_if_.device_await_ns())) {
      continue;
    }
    abort_reason_ =
        absl::StrCat("abort_if.device_await: ", common::FormatDuration(part.longest_await_ns),
                     " on ", part.slowest_device, " in interval ", number, " (limit ",
                     common::FormatDuration(static_cast<double>(abort_if_.device_await_ns())), ")");
  }
}

std::vector<v1::FleetInterval> LivePhase::TakeComplete() {
  std::vector<v1::FleetInterval> complete;
  while (!pending_.empty()) {
    const auto first = pending_.begin();
    const bool all = std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) {
      return absent_.count(host.first) != 0 || first->second.hosts.count(host.first) != 0;
    });
    if (!all && pending_.size() <= static_cast<size_t>(limits::kIntervalsAhead)) break;
    taken_ = first->first + 1;
    complete.push_back(Merge(first->first, first->second));
    // An interval without somebody's part says nothing about the whole fleet.
    if (all) CheckBrakes(first->first, first->second, complete.back());
    pending_.erase(first);
  }
  return complete;
}

double LivePhase::MeasuredIops() const {
  double iops = 0;
  for (const auto& [worker, totals] : sums_) {
    const auto seconds = measured_seconds_.find(worker);
    if (seconds == measured_seconds_.end() || !(seconds->second > 0)) continue;
    for (const auto& [key, sum] : totals) {
      const auto& [workload, interval_class, kind, metric] = key;
      if (interval_class != v1::INTERVAL_CLASS_MEASURED || metric != v1::METRIC_SERVICE_TIME ||
          kind == v1::OPERATION_KIND_FSYNC) {
        continue;
      }
      iops += static_cast<double>(sum.operations) / seconds->second;
    }
  }
  return iops;
}

std::vector<storage::Rollup> LivePhase::Rollups() const {
  std::vector<storage::Rollup> rollups;
  for (const auto& [key, totals] : rollups_) {
    const auto& [workload, kind, metric, begin] = key;
    rollups.push_back({workload, static_cast<v1::OperationKind>(kind),
                       static_cast<v1::Metric>(metric), begin, totals.operations, totals.bytes,
                       totals.latencies.Encode()});
  }
  return rollups;
}

}  // namespace lockstep::controller
