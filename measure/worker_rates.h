#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/common_window.h"
#include "measure/rate_series.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// The work of a block device per second: bytes, requests, and the seconds that these took.
struct DeviceRates {
  RateSeries bytes, requests, request_seconds;
};

// One direction of an interface, bits per second: what it carried, and what it can carry, 0 where
// its speed is not known.
struct LineRates {
  RateSeries bits, capacity_bits;
};

struct InterfaceRates {
  LineRates received, sent;
};

// A worker's measured intervals, one after the other, as rates. All series have one step. An
// interval that did not arrive, between others that did, is not a number, and so is a point that is
// a mean over it. A value; not thread-safe.
struct WorkerRates {
  RateSeries iops;
  // The rest is empty where it is not kept. The latencies are those of I/Os, seconds per second:
  // divided by `iops` they are the mean latency.
  RateSeries bytes, latency_seconds;
  RateSeries steal_ratio, run_queue;  // of the host; 0 without a sample
  // Of the worker's control groups; 0 without a sample. Seconds per second in which a quota was
  // used up, and in which processors kept threads waiting for it (QuotaSample::throttled_time_ns).
  RateSeries throttled_ratio, throttled_time;
  std::map<std::string, DeviceRates> devices;
  std::map<std::string, InterfaceRates> interfaces;

  // Adds an interval as it was sampled, with `ios` and the sum of their latencies. `all`: not the
  // IOPS alone.
  void Append(const v1::IntervalSample& sample, const IoSums& ios, double latency_seconds_sum,
              bool all, uint32_t step);
  // Adds an interval that did not arrive.
  void AppendMissing(bool all, uint32_t step);
  // No-op for series that have this step already.
  void ThinTo(uint32_t step);

 private:
  // Without those of devices and interfaces.
  std::vector<RateSeries*> OwnSeries();
  void AppendDevices(const v1::IntervalSample& sample, double seconds, uint32_t step);
  void AppendInterfaces(const v1::IntervalSample& sample, double seconds, uint32_t step);

  uint32_t intervals_ = 0;
  bool all_arrived_ = true;
};

}  // namespace lockstep::measure
