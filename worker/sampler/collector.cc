#include "worker/sampler/collector.h"

#include <sys/resource.h>

#include <algorithm>

#include "common/check.h"
#include "common/files.h"
#include "common/timing.h"
#include "measure/result_stats.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kPollNs = 5 * timing::kMs;
// Between two looks at whether the load has been ended: with threads of its own, and without.
constexpr int64_t kStepNs = 4 * kPollNs;
constexpr int64_t kIdleStepNs = 100 * timing::kMs;

// How long a thread that has not handed an interval over is waited for beyond the interval's end.
constexpr int64_t kHungNs = timing::kSecond;
// More than a busy machine makes of a sleep.
constexpr int64_t kOversleptNs = 200 * timing::kMs;

v1::OperationKind KindOf(int index) { return static_cast<v1::OperationKind>(index + 1); }
static_assert(static_cast<int>(v1::OPERATION_KIND_READ) == static_cast<int>(IoKind::kRead) + 1 &&
              static_cast<int>(v1::OPERATION_KIND_FSYNC) == static_cast<int>(IoKind::kSync) + 1);

int64_t CpuNs(const timeval& time) {
  return time.tv_sec * timing::kSecond + time.tv_usec * timing::kUs;
}

template <typename List>
void ToProto(const StatsByKind& kinds, List* out) {
  for (int kind = 0; kind < kIoKinds; ++kind) {
    if (!kinds[kind].empty()) *out->Add() = kinds[kind].Encode(KindOf(kind));
  }
}

}  // namespace

Collector::Collector(const Timeline* timeline, const common::Clock* clock,
                     std::vector<Source> sources, Options options, Sink sink)
    : timeline_(timeline),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      sink_(std::move(sink)),
      thread_sums_(sources_.size()),
      late_(sources_.size()) {
  for (const Source& source : sources_) {
    LOCKSTEP_CHECK(source.recorder != nullptr, "an I/O thread without a recorder");
  }
  if (options_.sample_quota) {
    // The first reading parses the mounts, of which a host may have thousands: not in Begin(),
    // shortly before T.
    quota_reader_.Read();
    throttle_reader_.Read();
  }
}

Collector::HostReading Collector::ReadHost() {
  HostReading reading;
  reading.at_ns = clock_->MonotonicNs();
  if (!options_.sample_devices.empty()) {
    // One read of the whole file, so that all devices are of one instant.
    reading.devices =
        ParseDiskStats(common::ReadTrimmed("/proc/diskstats"), &options_.sample_devices);
    // Asked for after the counters: a device that is exchanged between both ends with the interval
    // before.
    for (std::string& name : options_.ended_devices()) ended_devices_.insert(std::move(name));
    for (const std::string& name : ended_devices_) reading.devices.erase(name);
  }
  if (options_.sample_host) reading.host = ReadHostCounters();
  if (options_.sample_quota) {
    reading.quotas = quota_reader_.Read();
    reading.throttles = throttle_reader_.Read();
  }
  if (options_.network != nullptr) reading.network = options_.network->Read();
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  reading.cpu_user_ns = CpuNs(usage.ru_utime);
  reading.cpu_system_ns = CpuNs(usage.ru_stime);
  return reading;
}

void Collector::Begin() {
  last_reading_ = ReadHost();
  throttles_.Add(last_reading_.at_ns - timeline_->go_ns(), last_reading_.throttles);
}

bool Collector::AllFinished() const {
  return !sources_.empty() &&
         std::all_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.recorder->finished(); });
}

bool Collector::AllDone() const {
  return AllFinished() && std::all_of(sources_.begin(), sources_.end(), [](const Source& source) {
           return source.recorder->all_done();
         });
}

int64_t Collector::LastFinish() const {
  int64_t last = 0;
  for (const Source& source : sources_) last = std::max(last, source.recorder->finished_at_ns());
  return last;
}

int64_t Collector::EndedNs(uint32_t workload) const {
  int64_t last = 0;
  for (const Source& source : sources_) {
    if (source.workload != workload) continue;
    if (!source.recorder->finished() || !source.recorder->all_done()) return 0;
    last = std::max(last, source.recorder->finished_at_ns());
  }
  // A worker without a share of the workload was never part of it, and has no end.
  return last == 0 || last >= timeline_->load_end_ns() ? 0 : last - timeline_->go_ns();
}

bool Collector::AllTaken() const {
  const bool none_late = std::all_of(late_.begin(), late_.end(), [](const auto& kinds) {
    return std::all_of(kinds.begin(), kinds.end(), [](const auto& stats) { return stats.empty(); });
  });
  return none_late && std::all_of(sources_.begin(), sources_.end(), [](const Source& source) {
           return source.recorder->Front() == nullptr;
         });
}

v1::IntervalClass Collector::ClassOf(uint32_t interval) const {
  if (timeline_->BeginOf(interval) >= timeline_->load_end_ns()) return v1::INTERVAL_CLASS_DRAIN;
  return timeline_->IsRamp(interval) ? v1::INTERVAL_CLASS_RAMP : v1::INTERVAL_CLASS_MEASURED;
}

void Collector::Sleep(uint32_t interval, int64_t until_ns) {
  options_.tick();
  TakeLate(interval);
  clock_->SleepUntil(until_ns);
  // A process that was stopped (SIGSTOP, a paused machine) has its I/O threads wake up together
  // with this one: what they hand over now is not late.
  if (const int64_t now = clock_->MonotonicNs(); now > until_ns + kOversleptNs) resumed_ns_ = now;
}

// Takes what a thread that hung hands over for earlier intervals, so that the thread need not wait
// for a free slot, and keeps it for the next interval that is emitted.
void Collector::TakeLate(uint32_t interval) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    Recorder* recorder = sources_[i].recorder;
    while (const IntervalStats* stats =
               recorder->front_interval() < interval ? recorder->Front() : nullptr) {
      for (int kind = 0; kind < kIoKinds; ++kind) (*stats)[kind].AddTo(&late_[i][kind]);
      recorder->Pop();
    }
  }
}

// Until every thread has handed this interval over, has finished, or hangs. False when `give_up_ns`
// has passed.
bool Collector::WaitFor(uint32_t interval, const std::function<int64_t()>& give_up_ns) {
  const bool drain = ClassOf(interval) == v1::INTERVAL_CLASS_DRAIN;
  const int64_t patience = std::min(kHungNs, 4 * timeline_->interval_ns());
  for (const Source& source : sources_) {
    // A thread closes its interval when it next completes or waits, so that a slow I/O holds the
    // interval back until then.
    while (!source.recorder->finished() && source.recorder->closed() <= interval) {
      const int64_t now = clock_->MonotonicNs();
      if (now > give_up_ns()) return false;
      // No later interval waits for the drain, so it waits for its threads until `give_up_ns`.
      if (!drain && now > std::max(timeline_->EndOf(interval), resumed_ns_) + patience) {
        // In a blocking engine an I/O that lasts keeps the thread from handing over what completed
        // before it, which belongs here.
        while (source.recorder->closed() <= interval && source.recorder->CloseForBlocked()) {
          TakeLate(interval);
        }
        break;
      }
      Sleep(interval, now + kPollNs);
    }
  }
  return true;
}

// Everything that the source handed over up to this interval.
void Collector::TakeFrom(size_t source, uint32_t interval, v1::IntervalClass interval_class,
                         StatsByKind* into) {
  Recorder* recorder = sources_[source].recorder;
  const auto count = [&](int kind, const measure::OperationCounts& counts) {
    if (static_cast<IoKind>(kind) == IoKind::kSync) return;  // syncs are no I/Os
    if (interval_class == v1::INTERVAL_CLASS_MEASURED) thread_sums_[source].Add(counts);
  };
  for (int kind = 0; kind < kIoKinds; ++kind) {
    if (late_[source][kind].empty()) continue;
    (*into)[kind].Add(late_[source][kind]);
    count(kind, late_[source][kind].counts());
    late_[source][kind] = {};
  }
  while (const IntervalStats* stats = recorder->Front()) {
    // The drain is the last sample. Whatever is left belongs to it, also of intervals beyond its
    // number.
    if (recorder->front_interval() > interval && interval_class != v1::INTERVAL_CLASS_DRAIN) break;
    for (int kind = 0; kind < kIoKinds; ++kind) {
      (*stats)[kind].AddTo(&(*into)[kind]);
      count(kind, (*stats)[kind].counts);
    }
    recorder->Pop();
  }
}

void Collector::Emit(uint32_t interval, int64_t end_ns, const HostReading& reading) {
  // A gap or a second sample of an interval would make the result another sum than its samples.
  LOCKSTEP_CHECK(interval == intervals_, "an interval is emitted out of order");
  v1::IntervalSample sample;
  sample.set_interval(interval);
  sample.set_interval_class(ClassOf(interval));
  // The drain begins where the load ended, which need not be on the grid. Otherwise a load that
  // ends within an interval would leave a gap before its drain.
  const int64_t begin = std::min(timeline_->BeginOf(interval), timeline_->load_end_ns());
  sample.set_begin_ns(begin - timeline_->go_ns());
  sample.set_end_ns(std::max(end_ns, begin) - timeline_->go_ns());

  Sums sums;
  for (size_t i = 0; i < sources_.size(); ++i) {
    TakeFrom(i, interval, sample.interval_class(), &sums[sources_[i].workload]);
  }
  // The result is added up from what is sent. The controller refuses one that is not the sum of its
  // intervals, bucket by bucket (PhaseSeries::CheckResult()).
  Sums& totals = totals_[sample.interval_class()];
  for (const auto& [workload, stats] : sums) {
    v1::WorkloadSample* out = sample.add_workloads();
    out->set_workload(workload);
    // Threads may have gone on beyond the interval that is emitted here.
    const int64_t ended = EndedNs(workload);
    if (ended <= sample.end_ns()) out->set_ended_ns(ended);
    ToProto(stats, out->mutable_operations());
    for (int kind = 0; kind < kIoKinds; ++kind) totals[workload][kind].Add(stats[kind]);
  }
  for (const auto& [name, device] : reading.devices) {
    const auto earlier = last_reading_.devices.find(name);
    // A device that has appeared since has counters, but none to subtract from them.
    if (earlier == last_reading_.devices.end()) continue;
    if (auto difference = Difference(earlier->second, device)) {
      const auto [paths, running] = options_.paths(name);
      difference->set_paths(paths);
      difference->set_paths_running(running);
      difference->set_nested(options_.nested_devices.contains(name));
      *sample.add_devices() = *std::move(difference);
    }
  }
  if (options_.sample_host) {
    *sample.mutable_host() =
        Difference(last_reading_.host, reading.host, ClockTickNs(), PageBytes());
  }
  if (auto quota = Difference(last_reading_.quotas, reading.quotas,
                              static_cast<double>(reading.at_ns - last_reading_.at_ns) / 1e9)) {
    *sample.mutable_quota() = *std::move(quota);
  }
  if (options_.network != nullptr) {
    options_.network->AddDifference(last_reading_.network, reading.network, &sample);
  }
  if (sample.interval_class() == v1::INTERVAL_CLASS_MEASURED) {
    cpu_user_ns_ += reading.cpu_user_ns - last_reading_.cpu_user_ns;
    cpu_system_ns_ += reading.cpu_system_ns - last_reading_.cpu_system_ns;
    sampled_ns_ += reading.at_ns - last_reading_.at_ns;
  }
  throttles_.Add(reading.at_ns - timeline_->go_ns(), reading.throttles);
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
      // Without threads nothing has to be taken from them, and waking up is all that it costs.
      Sleep(interval, std::min(end, now + (sources_.empty() ? kIdleStepNs : kStepNs)));
    }
    const bool drain = ClassOf(interval) == v1::INTERVAL_CLASS_DRAIN;
    HostReading reading;
    // Read at the interval's end and before waiting for the threads: the counters must be of the
    // grid's instant, not of the slowest thread's.
    if (!drain) reading = ReadHost();
    const int64_t read_at = clock_->MonotonicNs();
    if (AllFinished() && AllTaken()) return true;
    // Without a workload of its own this worker samples its host until the load's end.
    if (sources_.empty() && drain) return true;
    if (!WaitFor(interval, give_up_ns)) {
      // A thread that comes back from its hung I/O must not wait for a reader that is gone.
      for (const Source& source : sources_) source.recorder->Abandon();
      return false;
    }
    // The drain has no end on the grid. Its counters are read when its last I/O has completed.
    if (drain) reading = ReadHost();
    int64_t end = drain ? clock_->MonotonicNs() : std::min(timeline_->EndOf(interval), read_at);
    // The last interval of a load that ended by itself ends with its last I/O, and so does the
    // drain. One that ran to its planned end measured until then, also where nothing completed.
    if ((drain ? AllFinished() : AllDone()) && LastFinish() > timeline_->BeginOf(interval)) {
      end = std::min(end, LastFinish());
    }
    Emit(interval, end, reading);
    if (AllFinished() && AllTaken()) return true;
  }
}

// The I/Os of the threads are those of the workloads: fairness over threads and the phase's rate
// are made from these two.
void Collector::CheckThreadSums() const {
  uint64_t of_threads = 0;
  for (const measure::OperationCounts& counts : thread_sums_) of_threads += counts.operations;
  uint64_t of_workloads = 0;
  const auto measured = totals_.find(v1::INTERVAL_CLASS_MEASURED);
  if (measured != totals_.end()) {
    for (const auto& [workload, kinds] : measured->second) {
      for (int kind = 0; kind < kIoKinds; ++kind) {
        if (static_cast<IoKind>(kind) == IoKind::kSync) continue;
        of_workloads += kinds[kind].counts().operations;
      }
    }
  }
  LOCKSTEP_CHECK(of_threads == of_workloads, "threads and workloads made different I/Os");
}

std::vector<v1::WorkloadResult> Collector::TakeResults() {
  CheckThreadSums();
  std::map<uint32_t, v1::WorkloadResult> results;
  for (const Source& source : sources_) results[source.workload].set_workload(source.workload);
  for (const auto& [interval_class, sums] : totals_) {
    for (const auto& [workload, stats] : sums) {
      ToProto(stats, measure::MutableCountersOf(&results[workload], interval_class));
    }
  }
  std::vector<v1::WorkloadResult> list;
  for (auto& [workload, result] : results) {
    result.set_ended_ns(EndedNs(workload));
    list.push_back(std::move(result));
  }
  return list;
}

}  // namespace lockstep::worker
