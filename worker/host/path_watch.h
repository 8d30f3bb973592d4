#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/ticker.h"
#include "common/timing.h"
#include "worker/host/kernel_blocks.h"
#include "worker/host/multipathd.h"

namespace lockstep::worker {

// Watches, while a load runs, the paths to the devices underneath its targets: five times a second
// sysfs, and multipathd where there is one. It reports each path that is lost or comes back, and
// for how long I/O stood still then. Thread-safe but for Begin() and End(), which belong to one
// thread; another thread does the polling.
class PathWatch {
 public:
  struct Ports {
    std::string root;  // as KernelBlocks'
    std::string multipathd = kMultipathdSocket;
    // How long the load's oldest I/O in flight has been, nanoseconds; 0 when there is none. Null
    // without a load: then no stall is told.
    std::function<int64_t()> oldest_in_flight_ns = [] { return int64_t{0}; };
    const common::Clock* clock = nullptr;
    int64_t pause_ns = 200 * timing::kMs;  // between two looks
  };
  struct Count {
    uint32_t paths = 0;  // 0: not a multipath device
    uint32_t running = 0;
  };
  struct Event {
    int64_t at_ns = 0;  // of the monotonic clock
    bool is_loss = false;
    std::string text;
  };

  // Names of whole disks and mapped devices; what is a path to something is looked for underneath.
  PathWatch(const std::vector<std::string>& devices, Ports ports);
  // Looks once; goes on where there is a path whose state is known. RESOURCE_EXHAUSTED as Ticker's.
  absl::Status Begin();
  void End();

  // As of the last look.
  Count CountOf(const std::string& device) const;
  // The events since the last call.
  std::vector<Event> TakeEvents();
  // Once.
  void Poll();

 private:
  // A device that is watched, and the multipath devices that it is, or is made of.
  struct Watched {
    std::vector<std::string> multipaths;
    Count count;
  };
  struct Path {
    std::string state;
    bool runs = false;
  };
  using Paths = std::map<std::pair<std::string, std::string>, Path>;  // by device and path

  // Finds the devices with paths underneath a device: itself, or those that it is made of.
  void FindPaths(const std::string& device, int depth, std::vector<std::string>* found) const;
  Paths ReadPaths();
  void Compare(const Paths& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  enum class Watch { kGoesOn, kEnds };
  void MonitorStall(Watch watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Ports ports_;
  const KernelBlocks kernel_;
  std::vector<std::string> sources_;  // devices whose paths are read
  // Used by the polling thread alone: multipathd's last answers with their time, and when it is
  // queried again.
  std::map<std::string, MultipathdState> asked_;
  int64_t asked_ns_ = 0;
  int64_t query_multipathd_at_ns_ = 0;
  mutable common::Mutex mutex_;
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mutex_);  // by device
  Paths paths_ ABSL_GUARDED_BY(mutex_);
  bool has_looked_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  // The loss for which I/O may still wait: since when, which path, and the longest wait so far.
  int64_t stall_since_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string stall_cause_ ABSL_GUARDED_BY(mutex_);
  int64_t stall_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  common::Ticker ticker_;
};

}  // namespace lockstep::worker
