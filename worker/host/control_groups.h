#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/result.pb.h"

namespace lockstep::worker {

// The limits of this process's control groups, versions 1 and 2: its own group and those above it,
// as far as they are mounted here (cgroups(7)).

// A group's directory and those above it, the innermost first. `mounts` and `groups` are
// /proc/self/mountinfo and /proc/self/cgroup; `controller` is one of version 1, or empty for
// version 2.
struct ControlGroup {
  std::string directory;  // where its files are
  std::string name;       // as /proc/self/cgroup has it
};
std::vector<ControlGroup> ControlGroupsOf(const std::string& mounts, const std::string& groups,
                                          const std::string& controller);

// The memory that the kernel could give out without swapping, or that the groups of version 2 leave
// of it; 0 when it does not say.
double AvailableMemoryBytes();
// Reads the limits on I/O of this process's groups again and again. Not thread-safe.
class ThrottleReader {
 public:
  // In words: "/slow: blkio.throttle.read_iops_device vda 200".
  std::vector<std::string> Read();

 private:
  std::string names_;                         // /proc/self/cgroup when these were made
  std::vector<ControlGroup> first_, second_;  // of version 1, and of version 2
};
// When limits held, by such readings. A limit may be set, changed or removed at any time.
class ThrottleSpans {
 public:
  // Readings come in the order of their time, nanoseconds from T.
  void Add(int64_t at_ns, const std::vector<std::string>& limits);
  void AddTo(v1::PhaseResult* result) const;

 private:
  std::vector<v1::ThrottleSpan> spans_;
  int64_t last_ns_ = 0;  // of the reading before
};

// Processor quotas. The kernel gives a group its quota anew in each period, mostly 100 ms. A group
// that uses it up waits for the next period, and the period counts as throttled (sched-bwc.rst).
//
// What is sampled: in each interval, each worker reads nr_periods, nr_throttled and the throttled
// time in cpu.stat of its own group and of those above it. The sample has the differences of the
// group that was throttled most. The unit is the period. The throttled time is summed over
// processors, so it may be longer than the interval.
//
// The share of a stretch is the length of its throttled periods over the length of its intervals
// (measure::ThrottledSeconds()). Each throttled period counts as a whole. An interval may have one
// period more or less than its length says, so the share is limited to 1 over the stretch and not
// in each interval. The share of a phase is that of all its measured intervals.

// The periods of a group's processor quota so far, and those in which it was used up.
struct QuotaPeriods {
  uint64_t periods = 0, throttled = 0;
  double period_seconds = 0;  // 0: not known
  uint64_t throttled_ns = 0;  // summed over processors
};
// The text of cpu.stat, of version 1 or 2. It does not say how long a period is.
QuotaPeriods ParseQuotaPeriods(const std::string& stat);
// Reads the groups of this process again and again. Not thread-safe.
class QuotaReader {
 public:
  // By the group's directory: all groups with a cpu.stat, also those that never had a quota.
  std::map<std::string, QuotaPeriods> Read();

 private:
  std::string names_;  // /proc/self/cgroup when groups_ was made
  std::vector<ControlGroup> groups_;
};
// By the group's directory, without groups that never had a quota.
std::map<std::string, QuotaPeriods> ReadQuotaPeriods();
// The sample between two readings `seconds` apart. Nothing where no quota was counted. A group that
// is not in `before` has nothing to subtract: this process has come into it since.
std::optional<v1::QuotaSample> Difference(const std::map<std::string, QuotaPeriods>& before,
                                          const std::map<std::string, QuotaPeriods>& now,
                                          double seconds);
// The share of so many seconds in which one of the groups had used up its quota: the largest one.
// The kernel counts periods only while a group has a quota and works, so that a quota of a few
// seconds is one of these seconds alone.
double ThrottledRatio(const std::map<std::string, QuotaPeriods>& before,
                      const std::map<std::string, QuotaPeriods>& now, double seconds);

}  // namespace lockstep::worker
