#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/merged_interval.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Whether workloads keep the min_rate that the job wants, while a phase runs. A window is as many
// whole measured intervals in a row as its length takes, and the next one begins with the interval
// after it. An interval counts for a workload that ran on all its hosts from its begin to its end.
// Pure; not thread-safe.
class LiveMinimum {
 public:
  explicit LiveMinimum(const v1::RunPhase& load);

  // The workload has ended on one of its hosts, at this instant, nanoseconds from T. Before Add()
  // of the interval in which it did.
  void End(uint32_t workload, int64_t at_ns);
  // Takes the interval that follows. Returns which workload was too slow, and when; empty if none
  // was.
  std::string Add(const measure::MergedInterval& merged);

 private:
  struct Watch {
    std::string name;
    v1::MinimumRate rule;
    double begin_seconds = 0;  // when the workload begins, from T
    double end_seconds = 0;    // when it ended on its first host
    // The window so far.
    double from_seconds = 0, to_seconds = 0, seconds = 0;
    measure::IoSums sums;
  };
  static std::string Judge(const Watch& watch, double to_seconds);

  std::map<uint32_t, Watch> watches_;  // by workload
};

}  // namespace lockstep::controller
