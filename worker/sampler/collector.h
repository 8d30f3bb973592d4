#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "proto/result.pb.h"
#include "worker/host/control_groups.h"
#include "worker/host/disk_stats.h"
#include "worker/host/host_stats.h"
#include "worker/host/storage_network.h"
#include "worker/sampler/recorder.h"
#include "worker/sampler/timeline.h"

namespace lockstep::worker {

using StatsByKind = std::array<measure::OperationStats, kIoKinds>;

// Merges the records of a phase's I/O threads into interval samples, adds the host's own counters
// on the same grid, and sums the samples to the phase's result. Runs on one thread, which calls
// Run(). It waits for a thread that hangs in an I/O for a second, or four intervals, beyond the
// interval's end. Then it takes the I/Os that the thread completed before. If the thread hangs
// elsewhere, its records are added to the first interval after its return.
//
// Intervals are emitted once each, in order. The measured I/Os by thread and by workload are the
// same. Both are checked.
class Collector {
 public:
  struct Source {
    Recorder* recorder = nullptr;
    uint32_t workload = 0;  // index in the phase
  };
  struct Options {
    std::set<std::string> sample_devices;  // names in /proc/diskstats
    std::set<std::string> nested_devices;  // among them, as DeviceSample::nested
    bool sample_host = false;
    bool sample_quota = false;  // and limits on I/O, of this process's own control groups
    // The network between this worker and the servers of its targets; outlives this. Null: not
    // sampled.
    StorageNetwork* network = nullptr;
    // The number of a device's paths, and the number of those that work. 0 and 0 for a device with
    // one path.
    std::function<std::pair<uint32_t, uint32_t>(const std::string& device)> paths =
        [](const std::string&) { return std::pair(0U, 0U); };
    // Devices whose counters end here: they were detached or exchanged since the last call. Called
    // after each reading.
    std::function<std::vector<std::string>()> ended_devices = [] {
      return std::vector<std::string>();
    };
    // Called between polls, some 50 times a second.
    std::function<void()> tick = [] {};
  };
  using Sink = std::function<void(v1::IntervalSample)>;

  // `timeline` and `clock` outlive this; `sink` is called from Run().
  Collector(const Timeline* timeline, const common::Clock* clock, std::vector<Source> sources,
            Options options, Sink sink);

  // Reads the host's counters for the first time, at T.
  void Begin();
  // Returns true when every recorder has finished, false when `give_up_ns` has passed before.
  bool Run(const std::function<int64_t()>& give_up_ns);

  // After Run(): the sums over all intervals by class, one entry per workload. thread_sums() has
  // the measured operations by source.
  std::vector<v1::WorkloadResult> TakeResults();
  const std::vector<measure::OperationCounts>& thread_sums() const { return thread_sums_; }
  // Processor time of this process in the measured intervals, nanoseconds.
  int64_t cpu_user_ns() const { return cpu_user_ns_; }
  int64_t cpu_system_ns() const { return cpu_system_ns_; }
  // The time between the readings that the measured intervals' counters are differences of,
  // nanoseconds.
  int64_t sampled_ns() const { return sampled_ns_; }
  uint32_t intervals() const { return intervals_; }
  // Limits on the I/O of this process's control groups, and when they held.
  const ThrottleSpans& throttles() const { return throttles_; }

 private:
  struct HostReading {
    std::map<std::string, v1::DeviceSample> devices;
    HostCounters host;
    std::map<std::string, QuotaPeriods> quotas;  // by the group's directory
    std::vector<std::string> throttles;
    StorageNetwork::Reading network;
    int64_t cpu_user_ns = 0, cpu_system_ns = 0;  // of this process
    int64_t at_ns = 0;
  };
  using Sums = std::map<uint32_t, StatsByKind>;  // by workload

  HostReading ReadHost();
  bool AllFinished() const;  // every thread; never without one
  bool AllDone() const;      // all have done what they were to do, before the load's end
  bool AllTaken() const;
  int64_t LastFinish() const;
  // When the workload had done on this worker what it was to do, from T; 0 while it has not, and
  // where the load's end came first.
  int64_t EndedNs(uint32_t workload) const;
  void Sleep(uint32_t interval, int64_t until_ns);
  void TakeLate(uint32_t interval);
  bool WaitFor(uint32_t interval, const std::function<int64_t()>& give_up_ns);
  void TakeFrom(size_t source, uint32_t interval, v1::IntervalClass interval_class,
                StatsByKind* into);
  void CheckThreadSums() const;
  void Emit(uint32_t interval, int64_t end_ns, const HostReading& reading);
  v1::IntervalClass ClassOf(uint32_t interval) const;

  int64_t resumed_ns_ = 0;  // when the process was seen to run again after a pause
  const Timeline* timeline_;
  const common::Clock* clock_;
  std::vector<Source> sources_;
  const Options options_;
  const Sink sink_;
  HostReading last_reading_;
  QuotaReader quota_reader_;
  ThrottleReader throttle_reader_;
  ThrottleSpans throttles_;
  std::map<v1::IntervalClass, Sums> totals_;
  std::vector<measure::OperationCounts> thread_sums_;
  int64_t cpu_user_ns_ = 0, cpu_system_ns_ = 0;
  int64_t sampled_ns_ = 0;
  std::set<std::string> ended_devices_;
  // by source: of intervals that were emitted without it
  std::vector<StatsByKind> late_;
  uint32_t intervals_ = 0;
};

}  // namespace lockstep::worker
