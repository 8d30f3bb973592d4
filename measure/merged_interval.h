#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "measure/common_window.h"
#include "measure/latency_blocks.h"
#include "measure/operation_stats.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// The sums over devices and time from which iostat's figures are computed.
struct DeviceLoad {
  double requests = 0, bytes = 0;
  // Milliseconds: requests' times, requests' times in the queue, and with a request in flight.
  double time_ms = 0, queue_time_ms = 0, busy_ms = 0;
  double seconds = 0;  // of all devices together

  void Add(const DeviceLoad& other);
  bool empty() const { return !(seconds > 0); }
  // await, aqu-sz, areq-sz and %util of iostat(1): of a request, or of one device on average.
  double await_ns() const { return requests > 0 ? time_ms * 1e6 / requests : 0; }
  double queue_size() const { return empty() ? 0 : queue_time_ms / 1e3 / seconds; }
  double request_bytes() const { return requests > 0 ? bytes / requests : 0; }
  double busy_ratio() const { return empty() ? 0 : busy_ms / 1e3 / seconds; }
};

// One interval of all workers together.
struct MergedInterval {
  struct Part {
    double begin_seconds = 0, seconds = 0;
    uint64_t operations = 0, bytes = 0, errors = 0;  // of I/Os; syncs are none
    // The I/Os of each of its workloads; more than one entry of a workload add up.
    std::vector<std::pair<uint32_t, uint64_t>> workloads;
    double latency_sum_ns = 0;
    double p99_ns = 0;
    common::Buckets latencies;  // where they are kept
    double longest_await_ns = 0;
    std::string slowest_device;
  };
  uint32_t interval = 0;
  v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
  double end_seconds = 0;
  std::map<uint32_t, Part> workers;                    // by worker index
  std::map<uint32_t, IoSums> workloads;                // by workload, over the workers: I/Os
  std::map<v1::OperationKind, OperationCounts> kinds;  // over the workers, syncs too
  double p50_ns = 0, p99_ns = 0, p999_ns = 0;
  // Over all workers, where histograms are needed: of I/Os, and of each kind of operation.
  common::Buckets latencies;
  LatenciesOfKinds kind_latencies;
  DeviceLoad devices;
  bool whole = false;  // every worker from whom one was due is in it
};

}  // namespace lockstep::measure
