#include "worker/host/path_watch.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/timing.h"
#include "common/units.h"

namespace lockstep::worker {
namespace {

// After a query without an answer, multipathd is asked again so much later.
constexpr int64_t kRefreshNs = timing::kSecond;
// The last answer of multipathd counts for so long.
constexpr int64_t kForgetNs = 30 * timing::kSecond;
// Stacks of devices (LVM over md over multipath) have few levels. The limit ends the walk in any
// case.
constexpr int kDeepestPath = 8;
// Kept until they are taken; a path that flaps must not fill the memory.
constexpr size_t kMaxEvents = 1000;

// Whether I/O can take a path in this state: of SCSI, and of NVMe's asymmetric access.
bool Runs(const std::string& state) {
  return state == "running" || state == "optimized" || state == "non-optimized" || state == "live";
}

}  // namespace

PathWatch::PathWatch(const std::vector<std::string>& devices, Ports ports)
    : ports_(std::move(ports)),
      kernel_(ports_.root),
      ticker_(absl::Nanoseconds(ports_.pause_ns), [this] { Poll(); }) {
  std::set<std::string> sources;
  for (const std::string& device : devices) {
    std::vector<std::string> found;
    FindPaths(device, 0, &found);
    sources.insert(found.begin(), found.end());
    // Only multipath devices count their paths. The others are watched for their loss alone.
    std::erase_if(found, [this](const auto& name) { return !kernel_.IsMultipath(name); });
    watched_[device].multipaths = std::move(found);
  }
  // A watched device can be a path of another one, which already tells of its loss.
  for (const std::string& source : std::set<std::string>(sources)) {
    if (!kernel_.IsMultipath(source)) continue;
    for (const v1::DevicePath& path : kernel_.PathsOf(source)) sources.erase(path.name());
  }
  sources_.assign(sources.begin(), sources.end());
}

void PathWatch::FindPaths(const std::string& device, int depth,
                          std::vector<std::string>* found) const {
  const std::string disk = kernel_.WholeDiskOf(device);
  if (kernel_.IsMultipath(disk)) return found->push_back(disk);
  const std::vector<std::string> parts = kernel_.PartsOf(disk).underneath;
  if (parts.empty()) return found->push_back(disk);
  for (const std::string& part : parts) {
    if (depth < kDeepestPath) FindPaths(part, depth + 1, found);
  }
}

absl::Status PathWatch::Begin() {
  Poll();
  {
    common::MutexLock lock(&mutex_);
    // Without a path whose state is known, a thread that polls would only disturb the load.
    if (paths_.empty()) return absl::OkStatus();
  }
  return ticker_.Begin();
}

void PathWatch::End() {
  ticker_.End();
  common::MutexLock lock(&mutex_);
  MonitorStall(Watch::kEnds);
}

PathWatch::Count PathWatch::CountOf(const std::string& device) const {
  common::MutexLock lock(&mutex_);
  const auto found = watched_.find(device);
  return found == watched_.end() ? Count() : found->second.count;
}

std::vector<PathWatch::Event> PathWatch::TakeEvents() {
  common::MutexLock lock(&mutex_);
  return std::exchange(events_, {});
}

PathWatch::Paths PathWatch::ReadPaths() {
  const int64_t now = ports_.clock->MonotonicNs();
  const bool is_multipath = std::any_of(sources_.begin(), sources_.end(), [&](const auto& source) {
    return kernel_.IsMultipath(source);
  });
  if (is_multipath && now >= query_multipathd_at_ns_) {
    auto answer = QueryMultipathd(ports_.multipathd);
    if (answer.ok()) {
      asked_ = *std::move(answer);
      asked_ns_ = now;
    } else {
      query_multipathd_at_ns_ = now + kRefreshNs;
      // A multipathd that handles a failure does not answer for a while. Its last answer holds.
      if (now - asked_ns_ > kForgetNs) asked_.clear();
    }
  }
  Paths paths;
  for (const std::string& source : sources_) {
    for (const v1::DevicePath& read : kernel_.PathsOf(source)) {
      Path path = {read.state().empty() ? "gone" : common::Printable(read.state(), 64),
                   Runs(read.state())};
      const auto known = asked_.find(read.name());
      // The kernel may run a path to which dm sends nothing any more.
      if (path.runs && known != asked_.end() && known->second.dm == "failed") {
        path = {absl::StrCat("failed (", common::Printable(known->second.checker, 64), ")"), false};
      }
      paths[{source, read.name()}] = path;
    }
  }
  return paths;
}

void PathWatch::Poll() {
  // The paths are read without the lock: multipathd may take 200 ms to answer, and CountOf() and
  // TakeEvents() must not wait for it.
  const Paths now = ReadPaths();
  common::MutexLock lock(&mutex_);
  // Paths that were down before the load began are no event of the load.
  if (has_looked_) Compare(now);
  has_looked_ = true;
  paths_ = now;
  for (auto& [device, watched] : watched_) {
    watched.count = {};
    for (const auto& [key, path] : now) {
      const auto& names = watched.multipaths;
      if (std::find(names.begin(), names.end(), key.first) == names.end()) continue;
      ++watched.count.paths;
      if (path.runs) ++watched.count.running;
    }
  }
  MonitorStall(Watch::kGoesOn);
}

void PathWatch::Compare(const Paths& now) {
  std::set<std::pair<std::string, std::string>> all;
  for (const auto& [key, path] : paths_) all.insert(key);
  for (const auto& [key, path] : now) all.insert(key);
  // One event for each device, whatever number of its paths: a fabric that fails takes many.
  std::map<std::string, Event> events;
  for (const auto& key : all) {
    const auto old_path = paths_.find(key);
    const auto new_path = now.find(key);
    const Path before = old_path == paths_.end() ? Path{"not there", false} : old_path->second;
    const Path after = new_path == now.end() ? Path{"gone", false} : new_path->second;
    if (before.state == after.state) continue;
    // A device without multipath is listed as its own path.
    const bool is_alone = key.first == key.second;
    Event& event = events[key.first];
    event.is_loss = event.is_loss || (before.runs && !after.runs);
    absl::StrAppend(&event.text, event.text.empty() ? "" : ", ", is_alone ? "device " : "path ",
                    key.second, is_alone ? "" : absl::StrCat(" of ", key.first), ": ", before.state,
                    ", now ", after.state);
    // Stalls are followed one at a time: a further loss, while I/O still waits after the first one,
    // has its event and no stall of its own.
    if (before.runs && !after.runs && stall_since_ns_ == 0 && ports_.oldest_in_flight_ns) {
      stall_since_ns_ = ports_.clock->MonotonicNs();
      stall_cause_ = absl::StrCat(is_alone ? "device " : "path ", key.second,
                                  is_alone ? "" : absl::StrCat(" of ", key.first));
      stall_ns_ = 0;
    }
  }
  for (auto& [device, event] : events) {
    int paths = 0;
    int running = 0;
    for (const auto& [other, path] : now) {
      if (other.first != device || other.second == device) continue;
      ++paths;
      running += path.runs ? 1 : 0;
    }
    event.at_ns = ports_.clock->MonotonicNs();
    if (paths > 0) absl::StrAppend(&event.text, "; ", running, " of ", paths, " run");
    if (events_.size() < kMaxEvents) events_.push_back(std::move(event));
  }
}

// Follows the I/O after a loss until the oldest one in flight is younger than the loss: then
// everything that was in flight at that time has come back.
void PathWatch::MonitorStall(Watch watch) {
  if (stall_since_ns_ == 0) return;
  const int64_t now = ports_.clock->MonotonicNs();
  const int64_t oldest = ports_.oldest_in_flight_ns();
  stall_ns_ = std::max(stall_ns_, oldest);
  const bool is_over = oldest < now - stall_since_ns_;
  if (!is_over && watch == Watch::kGoesOn) return;
  Event event;
  event.at_ns = now;
  event.text = absl::StrCat(
      "after the loss of ", stall_cause_, " the I/O that waited longest was in flight for ",
      stall_ns_ == 0
          ? absl::StrCat("less than ", common::FormatDuration(static_cast<double>(ports_.pause_ns)))
          : absl::StrCat("at least ", common::FormatDuration(static_cast<double>(stall_ns_))),
      is_over ? "" : ", and it is still");
  if (events_.size() < kMaxEvents) events_.push_back(event);
  stall_since_ns_ = 0;
}

}  // namespace lockstep::worker
