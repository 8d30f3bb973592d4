#include "worker/host/control_groups.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"
#include "measure/sample_sums.h"
#include "worker/host/counter_step.h"
#include "worker/host/mount_table.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxWords = 16;
constexpr size_t kMaxSpans = 64;
constexpr size_t kMaxLimitLength = 200;

std::vector<ControlGroup> GroupsOf(const std::string& controller) {
  return ControlGroupsOf(common::ReadTrimmed("/proc/self/mountinfo"),
                         common::ReadTrimmed("/proc/self/cgroup"), controller);
}

// The name of a device from its numbers; these where it has none.
std::string DeviceName(const std::string& numbers) {
  char link[256] = {};
  const std::string path = absl::StrCat("/sys/dev/block/", numbers);
  const ssize_t length = readlink(path.c_str(), link, sizeof link - 1);
  if (length <= 0) return numbers;
  const std::string target(link, static_cast<size_t>(length));
  return target.substr(target.rfind('/') + 1);
}

// Each line that limits something, as "GROUP: FILE DEVICE VALUES".
void AddLimits(const ControlGroup& group, const std::string& file,
               std::vector<std::string>* words) {
  std::istringstream lines(common::ReadTrimmed(group.directory + "/" + file));
  for (std::string line; std::getline(lines, line) && words->size() < kMaxWords;) {
    std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 2) continue;
    // In version 2 a line also has values that are no limit: they say `max`.
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [](const std::string& field) {
                                  return field.size() > 4 &&
                                         field.compare(field.size() - 4, 4, "=max") == 0;
                                }),
                 fields.end());
    if (fields.size() < 2) continue;
    fields[0] = DeviceName(fields[0]);
    words->push_back(absl::StrCat(group.name, ": ", file, " ", absl::StrJoin(fields, " ")));
  }
}

// The length of the periods of a group's quota: "QUOTA PERIOD" in version 2, µs; 0 if not known.
double PeriodSecondsOf(const ControlGroup& group) {
  std::string text = common::ReadTrimmed(group.directory + "/cpu.cfs_period_us");
  if (text.empty()) {
    const std::string max = common::ReadTrimmed(group.directory + "/cpu.max");
    text = max.substr(std::min(max.size(), max.find(' ') + 1));
  }
  return std::strtod(text.c_str(), nullptr) / 1e6;
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(const std::string& mounts, const std::string& groups,
                                          const std::string& controller) {
  // Which group: "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2.
  std::string name;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    // The path may have colons of its own.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool found = controller.empty() ? parts[0] == "0" && parts[1].empty()
                                          : std::find(controllers.begin(), controllers.end(),
                                                      controller) != controllers.end();
    if (found) name = parts[2];
  }
  if (name.empty() || name[0] != '/') return {};
  for (const MountLine& line : ParseMountInfo(mounts)) {
    const std::vector<std::string> options = absl::StrSplit(line.filesystem_options, ',');
    const bool mounted = controller.empty()
                             ? line.type == "cgroup2"
                             : line.type == "cgroup" && std::find(options.begin(), options.end(),
                                                                  controller) != options.end();
    if (!mounted) continue;
    // A container's mount shows only the groups beneath its root.
    const std::string root = line.root == "/" ? "" : line.root;
    if (name.compare(0, root.size(), root) != 0) continue;
    if (name.size() > root.size() && name[root.size()] != '/') continue;
    std::vector<ControlGroup> found;
    for (std::string path = name.substr(root.size());; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      found.push_back({line.target + path, path.empty() ? "/" : root + path});
      if (path.empty()) return found;
    }
  }
  return {};
}

double AvailableMemoryBytes() {
  const std::string text = common::ReadTrimmed("/proc/meminfo");
  const size_t at = text.find("MemAvailable:");
  double available =
      at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 13, nullptr) * 1024;
  // A limit holds for all groups beneath it, so that the smallest one on the way up to the root
  // decides.
  for (const ControlGroup& group : GroupsOf("")) {
    const std::string most = common::ReadTrimmed(group.directory + "/memory.max");
    if (most.empty() || most == "max") continue;
    // memory.current counts the page cache, too, which the kernel would give back: the result is
    // rather too small than too large.
    const double left =
        std::strtod(most.c_str(), nullptr) -
        std::strtod(common::ReadTrimmed(group.directory + "/memory.current").c_str(), nullptr);
    // A full group is not 0, which would say that nothing is known.
    available = std::min(available, std::max(1.0, left));
  }
  return available;
}

std::vector<std::string> ThrottleReader::Read() {
  // As of quotas: the mounts are read only when the groups are others.
  const std::string names = common::ReadTrimmed("/proc/self/cgroup");
  if (names != names_) {
    first_ = GroupsOf("blkio");
    second_ = GroupsOf("");
    names_ = names;
  }
  std::vector<std::string> words;
  // A host may have both versions mounted, each with limits of its own. Those of version 1 hold for
  // the processes of the group itself, and not for the groups beneath it.
  if (!first_.empty()) {
    for (const char* what : {"read_bps", "write_bps", "read_iops", "write_iops"}) {
      AddLimits(first_.front(), absl::StrCat("blkio.throttle.", what, "_device"), &words);
    }
  }
  for (const ControlGroup& group : second_) AddLimits(group, "io.max", &words);
  return words;
}

void ThrottleSpans::Add(int64_t at_ns, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    const std::string text = common::Printable(limit, kMaxLimitLength);
    const auto open = std::find_if(spans_.begin(), spans_.end(), [&](const v1::ThrottleSpan& s) {
      return s.end_ns() == last_ns_ && s.throttle() == text;
    });
    if (open != spans_.end()) {
      open->set_end_ns(at_ns);
      continue;
    }
    // Somebody who sets another limit again and again fills no memory.
    if (spans_.size() >= kMaxSpans) continue;
    v1::ThrottleSpan span;
    span.set_throttle(text);
    span.set_begin_ns(at_ns);
    span.set_end_ns(at_ns);
    spans_.push_back(std::move(span));
  }
  last_ns_ = at_ns;
}

void ThrottleSpans::AddTo(v1::PhaseResult* result) const {
  std::set<std::string> told;
  for (const v1::ThrottleSpan& span : spans_) {
    *result->add_throttle_spans() = span;
    if (told.insert(span.throttle()).second) result->add_throttles(span.throttle());
  }
}

QuotaPeriods ParseQuotaPeriods(const std::string& stat) {
  QuotaPeriods periods;
  std::istringstream lines(stat);
  std::string key;
  uint64_t value = 0;
  while (lines >> key >> value) {
    if (key == "nr_periods") periods.periods = value;
    if (key == "nr_throttled") periods.throttled = value;
    // Version 1 counts nanoseconds under another name.
    if (key == "throttled_time") periods.throttled_ns = value;
    if (key == "throttled_usec") periods.throttled_ns = 1000 * value;
  }
  return periods;
}

std::map<std::string, QuotaPeriods> QuotaReader::Read() {
  // A process may be moved to another group at any time. The mounts stay, and a host may have
  // thousands of them: they are read only when the groups are others.
  const std::string names = common::ReadTrimmed("/proc/self/cgroup");
  if (names != names_) {
    groups_.clear();
    for (const char* controller : {"cpu", ""}) {
      for (ControlGroup& group : GroupsOf(controller)) groups_.push_back(std::move(group));
    }
    names_ = names;
  }
  std::map<std::string, QuotaPeriods> found;
  for (const ControlGroup& group : groups_) {
    const std::string stat = common::ReadTrimmed(group.directory + "/cpu.stat");
    if (stat.empty()) continue;
    QuotaPeriods periods = ParseQuotaPeriods(stat);
    // The kernel counts periods only in a group that has a quota.
    if (periods.periods > 0) periods.period_seconds = PeriodSecondsOf(group);
    found[group.directory] = periods;
  }
  return found;
}

std::map<std::string, QuotaPeriods> ReadQuotaPeriods() {
  std::map<std::string, QuotaPeriods> found = QuotaReader().Read();
  std::erase_if(found, [](const auto& group) { return group.second.periods == 0; });
  return found;
}

std::optional<v1::QuotaSample> Difference(const std::map<std::string, QuotaPeriods>& before,
                                          const std::map<std::string, QuotaPeriods>& now,
                                          double seconds) {
  std::optional<v1::QuotaSample> most;
  double max_throttled = 0;
  for (const auto& [directory, group] : now) {
    const auto earlier = before.find(directory);
    if (earlier == before.end()) continue;
    v1::QuotaSample sample;
    sample.set_periods(Step(earlier->second.periods, group.periods));
    if (sample.periods() == 0) continue;
    sample.set_throttled_periods(Step(earlier->second.throttled, group.throttled));
    sample.set_period_ns(static_cast<uint64_t>(std::llround(1e9 * group.period_seconds)));
    sample.set_throttled_time_ns(Step(earlier->second.throttled_ns, group.throttled_ns));
    const double throttled = measure::ThrottledSeconds(sample, seconds);
    if (most && throttled <= max_throttled) continue;
    most = std::move(sample);
    max_throttled = throttled;
  }
  return most;
}

double ThrottledRatio(const std::map<std::string, QuotaPeriods>& before,
                      const std::map<std::string, QuotaPeriods>& now, double seconds) {
  double most = 0;
  for (const auto& [directory, group] : now) {
    const auto found = before.find(directory);
    const QuotaPeriods earlier = found == before.end() ? QuotaPeriods() : found->second;
    double periods = static_cast<double>(Step(earlier.periods, group.periods));
    if (group.period_seconds > 0) periods = std::max(periods, seconds / group.period_seconds);
    if (!(periods > 0)) continue;
    most = std::max(most, static_cast<double>(Step(earlier.throttled, group.throttled)) / periods);
  }
  return std::min(1.0, most);
}

}  // namespace lockstep::worker
