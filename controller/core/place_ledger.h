#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/guards.h"

namespace lockstep::controller {

// Which worker may be writing where. A place (a file, a device) that a run writes is held for its worker while the run lasts; of a
// worker that was lost, also beyond the run's end until it has confirmed that it does nothing, or until it cannot do anything any more
// by its own hard stop. While a run lasts nothing of it is given to another: a worker that was lost may take part again.
// Pure; times are of the controller's monotonic clock, nanoseconds.
class PlaceLedger {
 public:
  explicit PlaceLedger(common::Guards guards = {}) : guards_(guards) {}

  void Hold(const std::string& run_id, const std::string& worker_id, const std::vector<std::string>& places);
  // The run that holds one of `places` at `now_ns`, and that place; empty when they are free for `run_id`.
  struct Conflict {
    std::string run_id, worker_id, place;
  };
  Conflict Find(const std::string& run_id, const std::vector<std::string>& places, int64_t now_ns);
  // The worker was lost: its places of the run become free at `free_ns`, or with Confirm().
  void Lose(const std::string& run_id, const std::string& worker_id, int64_t free_ns);
  // The worker does nothing: what it holds of runs in which it was lost is free.
  void Confirm(const std::string& worker_id);
  // Whether the worker, lost, still keeps anybody from anything.
  bool Holds(const std::string& worker_id, int64_t now_ns) const;
  // The run is over: places of workers that were not lost are free. Until when the lost ones' are held, or 0.
  int64_t End(const std::string& run_id);

 private:
  using Holder = std::pair<std::string, std::string>;  // run and worker
  common::Guards guards_;
  std::map<std::string, std::set<Holder>> places_;
  std::map<Holder, int64_t> lost_;                     // → free at
  std::set<std::string> over_;                         // runs that have ended and still hold something
};

}  // namespace lockstep::controller
