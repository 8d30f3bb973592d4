#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/safeguards.h"

namespace lockstep::controller {

// Bytes [begin, end) of a thing: a file or a disk, by a hash of what identifies it
// (proto/worker.proto, Place).
struct Place {
  uint64_t thing = 0;
  uint64_t begin = 0;
  uint64_t end = ~uint64_t{0};
};

// Which worker may be writing where. A place that a run writes is held for its worker while the run
// lasts; of a worker that was lost, also beyond the run's end until it has confirmed that it does
// nothing, or until it cannot do anything any more by its own hard stop. While a run lasts nothing
// of it is given to another: a worker that was lost may take part again. Pure; times are of the
// controller's monotonic clock, nanoseconds.
class PlaceLedger {
 public:
  explicit PlaceLedger(common::Safeguards safeguards = {}) : safeguards_(safeguards) {}

  // May be called again for the same run and worker: it holds these places too.
  void Hold(const std::string& run_id, const std::string& worker_id,
            const std::vector<Place>& places);
  // Who holds one of `places` at `now_ns`, and its number among them; an empty run when all are
  // free for `run_id`.
  struct Conflict {
    std::string run_id, worker_id;
    size_t place = 0;
  };
  Conflict Find(const std::string& run_id, const std::vector<Place>& places, int64_t now_ns);
  // The worker was lost: its places of the run become free at `free_ns`, or with Confirm().
  void Lose(const std::string& run_id, const std::string& worker_id, int64_t free_ns);
  // The worker does nothing: what it holds of runs in which it was lost is free.
  void Confirm(const std::string& worker_id);
  // Whether the worker, lost, still keeps anybody from anything.
  bool Holds(const std::string& worker_id, int64_t now_ns) const;
  // The run is over: places of workers that were not lost are free. Until when the lost ones' are
  // held, or 0.
  int64_t End(const std::string& run_id);

 private:
  using Holder = std::pair<std::string, std::string>;  // run and worker
  common::Safeguards safeguards_;
  std::map<Holder, std::vector<Place>> places_;  // by thing, then begin
  // All of them in one list, by thing, so that a look costs what is looked for; made anew when what
  // is held has changed.
  struct Entry {
    uint64_t thing, begin, end;
    const Holder* holder;
  };
  void Reindex();
  std::vector<Entry> index_;
  bool changed_ = false;
  std::map<Holder, int64_t> lost_;  // → free at
  // runs that have ended and still hold something
  std::set<std::string> over_;
};

}  // namespace lockstep::controller
