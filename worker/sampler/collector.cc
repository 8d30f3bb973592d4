#include "worker/sampler/collector.h"

#include <algorithm>

#include "common/files.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kPollNs = 5000000;

v1::OperationKind KindOf(int index) {
  return static_cast<IoKind>(index) == IoKind::kRead ? v1::OPERATION_KIND_READ : v1::OPERATION_KIND_WRITE;
}

void ToProto(const IntervalStats& stats, google::protobuf::RepeatedPtrField<v1::OperationCounters>* out) {
  for (int kind = 0; kind < kIoKinds; ++kind) {
    const KindStats& s = stats[kind];
    if (s.empty()) continue;
    v1::OperationCounters* counters = out->Add();
    counters->set_kind(KindOf(kind));
    counters->set_operations(s.operations);
    counters->set_bytes(s.bytes);
    counters->set_errors(s.errors);
    counters->set_short_transfers(s.short_transfers);
    counters->set_latency_sum_ns(s.latency_sum_ns);
    counters->set_latency_min_ns(s.operations == 0 ? 0 : s.latency_min_ns);
    counters->set_latency_max_ns(s.latency_max_ns);
    v1::Histogram* histogram = counters->add_histograms();
    histogram->set_metric(v1::METRIC_SERVICE_TIME);
    histogram->set_scheme(common::kHistogramScheme);
    histogram->set_buckets(s.service_time.Encode());
  }
}

}  // namespace

Collector::Collector(const Timeline* timeline, const common::Clock* clock, std::vector<Source> sources,
                     Options options, Sink sink)
    : timeline_(timeline),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      sink_(std::move(sink)),
      thread_sums_(sources_.size()) {}

Collector::HostReading Collector::ReadHost() const {
  HostReading reading;
  if (!options_.sample_devices.empty()) {
    auto all = ParseDiskStats(common::ReadTrimmed("/proc/diskstats"));
    for (const std::string& name : options_.sample_devices) {
      const auto found = all.find(name);
      if (found != all.end()) reading.devices.insert(*found);
    }
  }
  if (options_.sample_host) reading.host = ReadHostCounters();
  return reading;
}

void Collector::Begin() { last_reading_ = ReadHost(); }

bool Collector::AllFinished() const {
  return !sources_.empty() && std::all_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.recorder->finished(); });
}

int64_t Collector::LastFinish() const {
  int64_t last = 0;
  for (const Source& source : sources_) last = std::max(last, source.recorder->finished_at_ns());
  return last;
}

bool Collector::AllTaken() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.recorder->Front() == nullptr; });
}

v1::IntervalClass Collector::ClassOf(uint32_t interval) const {
  if (timeline_->BeginOf(interval) >= timeline_->load_end_ns()) return v1::INTERVAL_CLASS_DRAIN;
  return timeline_->IsRamp(interval) ? v1::INTERVAL_CLASS_RAMP : v1::INTERVAL_CLASS_MEASURED;
}

// Until every thread has handed this interval over or has finished.
bool Collector::WaitFor(uint32_t interval, const std::function<int64_t()>& give_up_ns) const {
  for (const Source& source : sources_) {
    while (!source.recorder->finished() && source.recorder->Front() == nullptr) {
      const int64_t now = clock_->MonotonicNs();
      if (now > give_up_ns()) return false;
      clock_->SleepUntil(now + kPollNs);
    }
  }
  return true;
}

void Collector::Emit(uint32_t interval, int64_t end_ns, const HostReading& reading) {
  v1::IntervalSample sample;
  sample.set_interval(interval);
  sample.set_interval_class(ClassOf(interval));
  // The drain begins where the load ended, which need not be on the grid.
  const int64_t begin = std::min(timeline_->BeginOf(interval), timeline_->load_end_ns());
  sample.set_begin_ns(begin - timeline_->go_ns());
  sample.set_end_ns(std::max(end_ns, begin) - timeline_->go_ns());

  Sums sums;
  std::map<uint32_t, std::vector<uint64_t>> by_thread;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    IntervalStats& workload = sums[source.workload];
    uint64_t operations = 0;
    if (const IntervalStats* stats = source.recorder->Front()) {
      for (int kind = 0; kind < kIoKinds; ++kind) {
        workload[kind].Merge((*stats)[kind]);
        operations += (*stats)[kind].operations;
        if (sample.interval_class() != v1::INTERVAL_CLASS_MEASURED) continue;
        thread_sums_[i].operations += (*stats)[kind].operations;
        thread_sums_[i].bytes += (*stats)[kind].bytes;
        thread_sums_[i].errors += (*stats)[kind].errors;
      }
      source.recorder->Pop();
    }
    by_thread[source.workload].push_back(operations);
  }
  Sums& totals = totals_[sample.interval_class()];
  for (const auto& [workload, stats] : sums) {
    v1::WorkloadSample* out = sample.add_workloads();
    out->set_workload(workload);
    ToProto(stats, out->mutable_operations());
    for (uint64_t operations : by_thread[workload]) out->add_thread_operations(operations);
    for (int kind = 0; kind < kIoKinds; ++kind) totals[workload][kind].Merge(stats[kind]);
  }
  for (const auto& [name, device] : reading.devices) {
    const auto earlier = last_reading_.devices.find(name);
    if (earlier != last_reading_.devices.end()) *sample.add_devices() = Difference(earlier->second, device);
  }
  if (options_.sample_host) *sample.mutable_host() = Difference(last_reading_.host, reading.host, ClockTickNs());
  last_reading_ = reading;
  ++intervals_;
  sink_(std::move(sample));
}

bool Collector::Run(const std::function<int64_t()>& give_up_ns) {
  for (uint32_t interval = 0;; ++interval) {
    // The end may move while this sleeps; the drain has none but the last completion.
    while (!AllFinished() && ClassOf(interval) != v1::INTERVAL_CLASS_DRAIN) {
      const int64_t now = clock_->MonotonicNs();
      const int64_t end = timeline_->EndOf(interval);
      if (now >= end) break;
      clock_->SleepUntil(std::min(end, now + 4 * kPollNs));
    }
    const bool drain = ClassOf(interval) == v1::INTERVAL_CLASS_DRAIN;
    HostReading reading;
    if (!drain) reading = ReadHost();
    const int64_t read_at = clock_->MonotonicNs();
    if (AllFinished() && AllTaken()) return true;
    // Without a workload of its own this worker samples its host until the load's end.
    if (sources_.empty() && drain) return true;
    if (!WaitFor(interval, give_up_ns)) {
      for (const Source& source : sources_) source.recorder->Abandon();
      return false;
    }
    if (drain) reading = ReadHost();
    int64_t end = drain ? clock_->MonotonicNs() : std::min(timeline_->EndOf(interval), read_at);
    // The last interval of a load that ended by itself ends with its last I/O.
    if (AllFinished() && LastFinish() > timeline_->BeginOf(interval)) end = std::min(end, LastFinish());
    Emit(interval, end, reading);
    if (AllFinished() && AllTaken()) return true;
  }
}

std::vector<v1::WorkloadResult> Collector::TakeResults() {
  std::map<uint32_t, v1::WorkloadResult> results;
  for (const Source& source : sources_) results[source.workload].set_workload(source.workload);
  for (const auto& [interval_class, sums] : totals_) {
    for (const auto& [workload, stats] : sums) {
      v1::WorkloadResult& result = results[workload];
      ToProto(stats, interval_class == v1::INTERVAL_CLASS_RAMP    ? result.mutable_ramp()
                     : interval_class == v1::INTERVAL_CLASS_DRAIN ? result.mutable_drain()
                                                                  : result.mutable_measured());
    }
  }
  std::vector<v1::WorkloadResult> list;
  for (auto& [workload, result] : results) list.push_back(std::move(result));
  return list;
}

}  // namespace lockstep::worker
