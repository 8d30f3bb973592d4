#pragma once

#include <cstdint>
#include <optional>

#include "proto/result.pb.h"

namespace lockstep::measure {

// The paths to a multipath device, over all intervals.
struct PathSums {
  uint32_t paths = 0;                         // the most; 0: it has but one
  uint32_t min_running = 0;                   // that ran at the end of an interval
  double begin_seconds = 0, end_seconds = 0;  // of the time with fewer than all, from T
  double seconds = 0;                         // of such intervals
  double silent_seconds = 0;                  // of those in which the worker completed no I/O
};

// The work of a block device, by one worker's samples.
struct DeviceSums {
  v1::DeviceSample measured;  // counters over the measured intervals
  double measured_seconds = 0;
  // Over all intervals, ramp and drain included.
  double read_bytes = 0, write_bytes = 0, discard_bytes = 0, reads = 0, writes = 0;
  PathSums paths;
  bool nested = false;  // as DeviceSample::nested: in no sum over devices
};

// A sum over the samples that know the figure.
struct KnownSum {
  double sum = 0, weight = 0;

  void Add(double value, double of_weight) {
    sum += value;
    weight += of_weight;
  }
  // The sum for each unit of weight.
  std::optional<double> mean() const {
    return weight > 0 ? std::optional(sum / weight) : std::nullopt;
  }
};

// A kernel's state over the measured intervals, by one worker's samples.
struct HostSums {
  int samples = 0;
  double seconds = 0;
  double context_switches = 0, interrupts = 0, cpu_busy_ns = 0;
  // Shares of the processors' time, times seconds.
  double user = 0, system = 0, iowait = 0, steal = 0, idle = 0;
  double run_queue = 0, blocked = 0;  // added up over the samples
  // Bytes at the samples' instants. `cache` is vmstat's: the page cache and slabs that can be
  // reclaimed.
  KnownSum swap_used, free, buffers, cache, dirty, writeback;
  double dirty_max = 0;
  // Bytes; the weight is the time, seconds.
  KnownSum swap_in, swap_out, block_in, block_out;
};

// The processor quota of a worker's control groups.
struct QuotaSums {
  int samples = 0;               // of all intervals; 0: no quota was counted
  double throttled_seconds = 0;  // of the measured intervals
  double max_ratio = 0;          // the largest share of one of them, at most 1
};

// The traffic of a network interface over the measured intervals, by one worker's samples.
struct InterfaceSums {
  double seconds = 0;
  double received_bytes = 0, received_packets = 0, received_drops = 0, received_errors = 0;
  double sent_bytes = 0, sent_packets = 0, sent_drops = 0, sent_errors = 0;
  // Bits that it can carry; the weight is the time in which its speed was known, seconds.
  KnownSum receive_capacity, send_capacity;
};

// One operation of an NFS mount over the measured intervals, by one worker's samples.
struct NfsSums {
  double operations = 0, transmissions = 0, timeouts = 0, sent_bytes = 0, received_bytes = 0;
  double queue_time_ms = 0, round_trip_ms = 0, execution_ms = 0;
};

// How long the quota was used up in an interval of so many seconds: the length of the throttled
// periods. It may exceed the interval by one period, because periods do not begin with intervals.
double ThrottledSeconds(const v1::QuotaSample& quota, double seconds);

// Each adds what one interval of so many seconds says. For paths, `is_silent` is whether the worker
// completed no I/O in the interval.
void AddDevice(const v1::DeviceSample& device, bool measured, double seconds, DeviceSums* sums);
void AddPaths(const v1::DeviceSample& device, const v1::IntervalSample& sample, bool is_silent,
              PathSums* sums);
void AddHost(const v1::HostSample& host, double seconds, HostSums* sums);
void AddQuota(const v1::QuotaSample& quota, bool measured, double seconds, QuotaSums* sums);
void AddInterface(const v1::InterfaceSample& interface, double seconds, InterfaceSums* sums);
void AddNfs(const v1::NfsSample& nfs, NfsSums* sums);

}  // namespace lockstep::measure
