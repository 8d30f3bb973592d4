#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::worker {

// The limits of this process's control groups, versions 1 and 2: its own group and those above it,
// as far as they are mounted here (cgroups(7)).

// The memory that the kernel could give out without swapping, or that the groups of version 2 leave
// of it; 0 when it does not say.
double AvailableMemoryBytes();
// Limits on I/O, in words: "/slow: blkio.throttle.read_iops_device vda 200".
std::vector<std::string> IoThrottles();
// The periods of each group's processor quota so far, and those in which it was used up; by the
// group's directory, without groups that never had a quota.
struct QuotaPeriods {
  uint64_t periods = 0, throttled = 0;
  double period_seconds = 0;  // 0: not known
};
std::map<std::string, QuotaPeriods> ReadQuotaPeriods();
// The share of so many seconds in which one of the groups had used up its quota: the largest one.
// The kernel counts periods only while a group has a quota and works, so that a quota of a few
// seconds is one of these seconds alone.
double ThrottledRatio(const std::map<std::string, QuotaPeriods>& before,
                      const std::map<std::string, QuotaPeriods>& now, double seconds);

// A group's directory and those above it, the innermost first. `mounts` and `groups` are
// /proc/self/mountinfo and /proc/self/cgroup; `controller` is one of version 1, or empty for
// version 2.
struct ControlGroup {
  std::string directory;  // where its files are
  std::string name;       // as /proc/self/cgroup has it
};
std::vector<ControlGroup> ControlGroupsOf(const std::string& mounts, const std::string& groups,
                                          const std::string& controller);

}  // namespace lockstep::worker
