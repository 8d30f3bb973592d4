#include "measure/phase_series.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/timing.h"
#include "measure/result_stats.h"

namespace lockstep::measure {
namespace {

// No worker skips more intervals than this, unless its messages are made up.
constexpr uint32_t kMaxGap = 1000000;
// Instants come from other machines. Sums of instants below this bound stay far from the end of
// int64_t, which is 292 years.
constexpr int64_t kMaxNs = int64_t{366} * 24 * 3600 * timing::kSecond;
// A measured interval that is shorter than the others by this factor is no point of a series.
constexpr int64_t kShortestPart = 10;
// Gaps of one worker. If there are more, the last one reaches to the newest.
constexpr size_t kMaxGaps = 1000;

double Seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// A name that a worker cuts to 200 columns has at most four times as many bytes, and an ellipsis.
bool IsSampleName(const std::string& text) {
  constexpr size_t kMaxBytes = 1000;
  return !text.empty() && text.size() <= kMaxBytes && common::IsPlainLine(text);
}

// Names a figure that no host can have; empty when all are possible.
std::string WrongNumber(const v1::IntervalSample& sample) {
  constexpr int kMaxDevices = 1000;
  if (sample.devices_size() > kMaxDevices) {
    return absl::StrCat("has ", sample.devices_size(), " devices");
  }
  for (const v1::DeviceSample& device : sample.devices()) {
    if (device.name().size() > 128 || !common::IsPlainLine(device.name())) {
      return "a device has no name";
    }
  }
  if (sample.interfaces_size() > limits::kSampledInterfaces ||
      sample.nfs_size() > limits::kNfsRows) {
    return "has more interfaces or NFS mounts than a worker samples";
  }
  for (const v1::InterfaceSample& interface : sample.interfaces()) {
    if (!IsSampleName(interface.name())) return "an interface has no name";
  }
  for (const v1::NfsSample& nfs : sample.nfs()) {
    if (!IsSampleName(nfs.mount()) || !IsSampleName(nfs.operation())) {
      return "an NFS mount has no name";
    }
  }
  const v1::HostSample& host = sample.host();
  for (const double ratio : {host.user_ratio(), host.system_ratio(), host.idle_ratio(),
                             host.iowait_ratio(), host.steal_ratio()}) {
    // The comparison is written so that it also refuses what is not a number.
    if (!(ratio >= -2 && ratio <= 2)) {
      return absl::StrCat("a share of the processors' time is ", ratio);
    }
  }
  return "";
}

DeviceLoad LoadOf(const v1::DeviceSample& device, double seconds) {
  DeviceLoad load;
  load.requests = static_cast<double>(device.reads() + device.writes());
  load.bytes = static_cast<double>(device.read_bytes() + device.write_bytes());
  load.time_ms = static_cast<double>(device.read_time_ms() + device.write_time_ms());
  load.queue_time_ms = static_cast<double>(device.queue_time_ms());
  // The counters are read when the machine gets to it, and the kernel counts busy time in ticks:
  // more than the interval is the next one's, or the one's before.
  load.busy_ms = std::min(static_cast<double>(device.busy_time_ms()), seconds * 1e3);
  load.seconds = seconds;
  return load;
}

// The operations of one workload come one kind after the other.
void AddTo(uint32_t workload, uint64_t operations,
           std::vector<std::pair<uint32_t, uint64_t>>* workloads) {
  if (workloads->empty() || workloads->back().first != workload) {
    workloads->emplace_back(workload, 0);
  }
  workloads->back().second += operations;
}

double AwaitNs(const v1::DeviceSample& device) {
  const uint64_t requests = device.reads() + device.writes();
  if (requests == 0) return 0;
  return static_cast<double>(device.read_time_ms() + device.write_time_ms()) * 1e6 /
         static_cast<double>(requests);
}

}  // namespace

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

std::map<WorkloadKind, IoSums> WorkerSeries::Measured() const {
  std::map<WorkloadKind, IoSums> measured;
  for (const auto& [key, stats] : sums) {
    if (key.interval_class != v1::INTERVAL_CLASS_MEASURED) continue;
    measured[{key.workload, key.kind}] = {stats.counts().operations, stats.counts().bytes};
  }
  return measured;
}

uint64_t WorkerSeries::MeasuredIos() const {
  uint64_t operations = 0;
  for (const auto& [key, sum] : Measured()) operations += IsIo(key.second) ? sum.operations : 0;
  return operations;
}

absl::Status PhaseSeries::CheckTimes(uint32_t worker, const v1::IntervalSample& sample) const {
  if (sample.begin_ns() < 0 || sample.end_ns() < sample.begin_ns() || sample.end_ns() > kMaxNs) {
    return absl::InvalidArgumentError(absl::StrCat("interval ", sample.interval(), " lies from ",
                                                   sample.begin_ns(), " to ", sample.end_ns(),
                                                   " ns"));
  }
  if (sample.interval() >= limits::kIntervalsOfAPhase) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interval ", sample.interval(), "; a phase has at most ", limits::kIntervalsOfAPhase));
  }
  const uint32_t next = Of(worker).next_interval;
  if (sample.interval() < next) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval ", sample.interval(), " came after interval ", next - 1));
  }
  if (sample.interval() > next + kMaxGap) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval ", sample.interval(), " where ", next, " was due"));
  }
  return absl::OkStatus();
}

// Everything is decoded before anything is added.
absl::StatusOr<std::vector<PhaseSeries::Decoded>> PhaseSeries::Decode(
    const v1::IntervalSample& sample) const {
  std::vector<Decoded> decoded;
  std::set<WorkloadKind> seen;
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    for (const v1::OperationCounters& counters : workload.operations()) {
      const auto where = [&] {
        return absl::StrCat("interval ", sample.interval(), ": workload ", workload.workload(),
                            ", kind ", counters.kind(), ": ");
      };
      if (workload.workload() >= options_.workloads ||
          !seen.insert({workload.workload(), counters.kind()}).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(where(), "is not of this phase, or comes twice"));
      }
      auto delta = OperationDelta::Decode(counters);
      if (!delta.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where(), std::string(delta.status().message())));
      }
      uint64_t latencies = 0;
      const auto& service = delta->histograms[IndexOf(v1::METRIC_SERVICE_TIME)];
      if (service.has_value()) {
        for (const auto& [bucket, count] : *service) latencies += count;
      }
      // Percentiles would otherwise be of other I/Os than the rates beside them.
      if (options_.needs_histograms && latencies != counters.operations()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where(), counters.operations(), " I/Os but ", latencies, " latencies"));
      }
      decoded.push_back({workload.workload(), *std::move(delta)});
    }
  }
  return decoded;
}

absl::Status PhaseSeries::Add(uint32_t worker, const v1::IntervalSample& sample) {
  if (absl::Status status = CheckTimes(worker, sample); !status.ok()) return status;
  if (const std::string wrong = WrongNumber(sample); !wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("interval ", sample.interval(), ": ", wrong));
  }
  auto decoded = Decode(sample);
  if (!decoded.ok()) return decoded.status();
  // Nothing fails from here on: a sample that is refused must leave the sums as they were.
  WorkerSeries& series = workers_[worker];
  if (sample.interval() > series.next_interval) {
    if (series.gaps.size() < kMaxGaps) series.gaps.emplace_back(series.next_interval, 0);
    series.gaps.back().second = sample.interval() - 1;
    // Before the first measured interval nobody knows which of them were the ramp's. What comes
    // after the last one is the drain, whose intervals have no points.
    if (series.measured_seconds > 0 && sample.interval_class() == v1::INTERVAL_CLASS_MEASURED) {
      AddMissingPoints(sample.interval() - series.next_interval, &series);
    }
  }
  series.next_interval = sample.interval() + 1;
  AddUp(sample, *decoded, &series);
  // An interval that was merged without this worker is in the sums alone.
  if (sample.interval() < taken_) return absl::OkStatus();
  Pending& pending = pending_[sample.interval()];
  if (sample.interval_class() != v1::INTERVAL_CLASS_UNSPECIFIED) {
    pending.interval_class = sample.interval_class();
  }
  Part& part = pending.parts[worker];
  part.interval_class = sample.interval_class();
  part.begin_ns = sample.begin_ns();
  part.end_ns = sample.end_ns();
  part.operations = *std::move(decoded);
  // The store keeps no ends of parts with its intervals, so a reader of the store that needs a
  // window passes them in Options::parts.
  if (options_.parts.empty()) LearnParts(worker, sample);
  for (const v1::DeviceSample& device : sample.devices()) {
    // Each byte passes all layers of a stack, and counts in one of them.
    if (device.nested()) continue;
    part.devices.Add(LoadOf(device, Seconds(sample.end_ns() - sample.begin_ns())));
    if (AwaitNs(device) <= part.longest_await_ns) continue;
    part.longest_await_ns = AwaitNs(device);
    part.slowest_device = device.name();
  }
  return absl::OkStatus();
}

void PhaseSeries::AddUp(const v1::IntervalSample& sample, const std::vector<Decoded>& operations,
                        WorkerSeries* series) {
  const bool measured = sample.interval_class() == v1::INTERVAL_CLASS_MEASURED;
  const double seconds = Seconds(sample.end_ns() - sample.begin_ns());
  IoSums ios;
  double latency_seconds = 0;
  for (const auto& [workload, delta] : operations) {
    series->sums[{workload, sample.interval_class(), delta.kind}].Add(delta);
    errors_ += delta.counts.errors;
    if (IsIo(delta.kind)) {
      ios.Add({delta.counts.operations, delta.counts.bytes});
      latency_seconds += static_cast<double>(delta.counts.latency_sum_ns) / 1e9;
    }
    // Without histograms there is nothing to roll up. Such intervals come from the store, which has
    // had the roll-ups since the phase ended (PgStore::EndPhase()).
    if (measured && options_.needs_histograms) rollups_.Add(workload, sample.begin_ns(), delta);
  }
  for (const v1::DeviceSample& device : sample.devices()) {
    DeviceSums& sums = series->devices[device.name()];
    AddDevice(device, measured, seconds, &sums);
    AddPaths(device, sample, ios.operations == 0, &sums.paths);
  }
  // Samples of the ramp say that the worker samples quotas: one that held in the ramp alone has no
  // part in the measured time.
  if (sample.has_quota()) AddQuota(sample.quota(), measured, seconds, &series->quota);
  if (!measured) return;
  series->measured_seconds += seconds;
  series->first_measured_seconds =
      std::min(series->first_measured_seconds, Seconds(sample.begin_ns()));
  series->last_measured_seconds = std::max(series->last_measured_seconds, Seconds(sample.end_ns()));
  if (sample.has_host()) AddHost(sample.host(), seconds, &series->host);
  for (const v1::InterfaceSample& interface : sample.interfaces()) {
    AddInterface(interface, seconds, &series->interfaces[interface.name()]);
  }
  for (const v1::NfsSample& nfs : sample.nfs()) {
    AddNfs(nfs, &series->nfs[{nfs.mount(), nfs.operation()}]);
  }
  if (ios.operations == 0) series->silences.Add(sample.begin_ns(), sample.end_ns());
  // A rest of an interval is too short for a rate that could stand beside the others'.
  series->longest_interval_ns =
      std::max(series->longest_interval_ns, sample.end_ns() - sample.begin_ns());
  if (sample.end_ns() - sample.begin_ns() > series->longest_interval_ns / kShortestPart) {
    AddPoints(sample, ios, latency_seconds, series);
  }
}

void PhaseSeries::AddPoints(const v1::IntervalSample& sample, const IoSums& ios,
                            double latency_seconds, WorkerSeries* series) {
  const size_t before = series->rates.iops.size();
  series->rates.Append(sample, ios, latency_seconds, options_.keeps_all_rates, step_);
  KeepPointsBounded(before, *series);
}

void PhaseSeries::AddMissingPoints(uint32_t intervals, WorkerSeries* series) {
  for (uint32_t i = 0; i < intervals; ++i) {
    const size_t before = series->rates.iops.size();
    series->rates.AppendMissing(options_.keeps_all_rates, step_);
    KeepPointsBounded(before, *series);
  }
}

void PhaseSeries::KeepPointsBounded(size_t before, const WorkerSeries& series) {
  // The other series are as long as this one.
  points_ += series.rates.iops.size() - before;
  if (points_ <= options_.max_points) return;
  // All series halve at once, so that one step holds for all.
  step_ *= 2;
  points_ = 0;
  for (auto& [worker, other] : workers_) {
    other.rates.ThinTo(step_);
    points_ += other.rates.iops.size();
  }
}

absl::Status PhaseSeries::CheckResult(uint32_t worker, const v1::PhaseResult& result) const {
  // A worker adds its result up from what it sends. A difference means that an interval was lost,
  // came twice or was changed on its way.
  std::map<OperationKey, const OperationStats*> expected;
  for (const auto& [key, stats] : Of(worker).sums) expected[key] = &stats;
  for (const v1::WorkloadResult& workload : result.workloads()) {
    for (const v1::IntervalClass interval_class : kIntervalClasses) {
      for (const v1::OperationCounters& counters : CountersOf(workload, interval_class)) {
        const auto delta = OperationDelta::Decode(counters);
        if (!delta.ok()) return delta.status();
        const auto sum = expected.find({workload.workload(), interval_class, counters.kind()});
        if (sum == expected.end() || !sum->second->Equals(*delta)) {
          return absl::DataLossError(
              absl::StrCat("the result of workload ", workload.workload(), " (",
                           ClassName(interval_class), ", kind ", counters.kind(), ") has ",
                           counters.operations(), " I/Os, its intervals add up to ",
                           sum == expected.end() ? 0 : sum->second->counts().operations,
                           " or differ in a bucket"));
        }
        // An entry that comes twice is not found the second time.
        expected.erase(sum);
      }
    }
  }
  for (const auto& [key, stats] : expected) {
    if (stats->empty()) continue;
    return absl::DataLossError(absl::StrCat("the result lacks ", stats->counts().operations,
                                            " I/Os of workload ", key.workload,
                                            " that its intervals have"));
  }
  return absl::OkStatus();
}

MergedInterval PhaseSeries::Merge(uint32_t interval, const Pending& pending) const {
  MergedInterval merged;
  merged.interval = interval;
  merged.interval_class = pending.interval_class;
  std::map<WorkloadKind, std::vector<const common::Buckets*>> kinds;
  // One histogram of 20 KiB serves all workers, and is cleared only for those that have latencies.
  common::Histogram own;
  for (const auto& [worker, from] : pending.parts) {
    MergedInterval::Part& part = merged.workers[worker];
    part.begin_seconds = Seconds(from.begin_ns);
    part.seconds = Seconds(from.end_ns - from.begin_ns);
    part.longest_await_ns = from.longest_await_ns;
    part.slowest_device = from.slowest_device;
    merged.end_seconds = std::max(merged.end_seconds, Seconds(from.end_ns));
    merged.devices.Add(from.devices);
    bool any = false;
    for (const auto& [workload, delta] : from.operations) {
      merged.kinds[delta.kind].Add(delta.counts);
      const auto& latencies = delta.histograms[IndexOf(delta.main_metric())];
      const bool has_latencies = latencies.has_value() && !latencies->empty();
      if (has_latencies && options_.needs_histograms) {
        kinds[{workload, delta.kind}].push_back(&*latencies);
      }
      if (!IsIo(delta.kind)) continue;
      merged.workloads[workload].Add({delta.counts.operations, delta.counts.bytes});
      part.operations += delta.counts.operations;
      AddTo(workload, delta.counts.operations, &part.workloads);
      part.bytes += delta.counts.bytes;
      part.errors += delta.counts.errors;
      part.latency_sum_ns += static_cast<double>(delta.counts.latency_sum_ns);
      if (!has_latencies) continue;
      if (!any) own.Clear();
      any = true;
      own.Add(*latencies);
    }
    // Percentiles cannot be averaged. Those of the fleet come from the sum of the histograms.
    if (any) part.p99_ns = own.PercentileIfAbove(99);
    if (any && options_.keeps_latencies) part.latencies = own.Occupied();
  }
  if (!options_.needs_histograms) return merged;
  common::Histogram all;
  for (const auto& [key, parts] : kinds) {
    common::Buckets& sum = merged.kind_latencies[key];
    if (parts.size() == 1) {
      sum = *parts.front();
    } else {
      own.Clear();
      for (const common::Buckets* part : parts) own.Add(*part);
      sum = own.Occupied();
    }
    if (IsIo(key.second)) all.Add(sum);
  }
  merged.latencies = all.Occupied();
  merged.p50_ns = all.PercentileIfAbove(50);
  merged.p99_ns = all.PercentileIfAbove(99);
  merged.p999_ns = all.PercentileIfAbove(99.9);
  return merged;
}

std::set<uint32_t> PhaseSeries::Compared() const {
  if (!options_.compared.empty()) return options_.compared;
  std::set<uint32_t> working;
  for (const auto& [worker, series] : workers_) {
    if (!series.sums.empty() && !lost_.contains(worker)) working.insert(worker);
  }
  return working;
}

std::vector<MergedInterval> PhaseSeries::TakeComplete() {
  std::vector<MergedInterval> complete;
  while (!pending_.empty()) {
    const auto first = pending_.begin();
    const bool whole =
        std::all_of(options_.workers.begin(), options_.workers.end(), [&](uint32_t worker) {
          return absent_.contains(worker) || first->second.parts.contains(worker);
        });
    // A worker that is far behind must not let the others' intervals fill the memory.
    if (!whole && pending_.size() <= static_cast<size_t>(limits::kIntervalsAhead)) break;
    // A merged interval has been handed out and cannot change: Add() keeps later parts of this
    // interval out of pending_.
    taken_ = first->first + 1;
    ExtendWindows(first->second);
    complete.push_back(Merge(first->first, first->second));
    complete.back().whole = whole;
    all_whole_ = all_whole_ && whole;
    if (options_.keeps_timeline) timeline_.Add(complete.back());
    pending_.erase(first);
  }
  return complete;
}

std::vector<uint32_t> PhaseSeries::Behind() const {
  std::vector<uint32_t> behind;
  // Workers deliver an interval at slightly different times. One or two that are incomplete are no
  // delay.
  if (pending_.size() < 3) return behind;
  const auto& there = pending_.begin()->second.parts;
  for (const uint32_t worker : options_.workers) {
    if (!absent_.contains(worker) && !there.contains(worker)) behind.push_back(worker);
  }
  return behind;
}

std::vector<MergedInterval> PhaseSeries::Finish() {
  // Nobody is waited for any more, so every interval counts as complete.
  absent_ = options_.workers;
  return TakeComplete();
}

const WorkerSeries& PhaseSeries::Of(uint32_t worker) const {
  static const auto* const kEmpty = new WorkerSeries();
  const auto found = workers_.find(worker);
  return found == workers_.end() ? *kEmpty : found->second;
}

v1::PhaseFigures PhaseSeries::Figures() const {
  v1::PhaseFigures figures;
  OperationStats ios;
  for (const auto& [worker, series] : workers_) {
    // As in the report: without a result nobody knows until when a lost worker did I/Os.
    if (!(series.measured_seconds > 0) || lost_.contains(worker)) continue;
    figures.set_workers(figures.workers() + 1);
    const double seconds = window_.empty() ? series.measured_seconds : window_.seconds();
    for (const auto& [key, sums] : window_.empty() ? series.Measured() : window_.Of(worker)) {
      if (!IsIo(key.second)) continue;
      figures.set_iops(figures.iops() + static_cast<double>(sums.operations) / seconds);
      figures.set_bytes_per_second(figures.bytes_per_second() +
                                   static_cast<double>(sums.bytes) / seconds);
    }
    for (const auto& [key, stats] : series.sums) {
      // The window has counts and no histograms: the percentiles are of all measured I/Os.
      if (key.interval_class == v1::INTERVAL_CLASS_MEASURED && IsIo(key.kind)) ios.Add(stats);
    }
  }
  const common::Histogram& latencies = ios.histogram(ios.main_metric());
  figures.set_p50_ns(latencies.PercentileIfAbove(50));
  figures.set_p99_ns(latencies.PercentileIfAbove(99));
  if (ios.counts().operations > 0) {
    figures.set_mean_ns(static_cast<double>(ios.counts().latency_sum_ns) /
                        static_cast<double>(ios.counts().operations));
  }
  figures.set_errors(static_cast<double>(errors_));
  return figures;
}

}  // namespace lockstep::measure
