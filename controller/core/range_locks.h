#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/safeguards.h"

namespace lockstep::controller {

// Bytes [begin, end) of a thing: a file or a disk, by a hash of what identifies it
// (proto/worker.proto, ByteRange).
struct ByteRange {
  uint64_t thing = 0;
  uint64_t begin = 0;
  uint64_t end = ~uint64_t{0};
};

// Keeps which worker may be writing to which ranges. A range that a run writes is held for its
// worker until the run ends. The ranges of a worker that was lost stay held beyond that, until the
// worker confirms that it is idle, or until its own hard stop has passed. While the run lasts they
// go to nobody else: a lost worker may take part again. Pure; times are of the controller's
// monotonic clock, nanoseconds.
class RangeLocks {
 public:
  explicit RangeLocks(common::Safeguards safeguards = {}) : safeguards_(safeguards) {}

  // Adds `ranges` to those that the worker holds in the run.
  void Lock(const std::string& run_id, const std::string& worker_id,
            const std::vector<ByteRange>& ranges);
  // Nobody knows to which ranges the worker of `host` may be writing in the run: all are held.
  void LockAll(const std::string& run_id, const std::string& worker_id, const std::string& host);
  // The first of `ranges` that another run holds at `now_ns`: that run and worker, and the index in
  // `ranges`. `run_id` is empty when all are free.
  struct Conflict {
    std::string run_id, worker_id;
    size_t range = 0;
    std::string locks_all;  // the host of a worker that LockAll() was called for
  };
  Conflict Find(const std::string& run_id, const std::vector<ByteRange>& ranges, int64_t now_ns);
  // The worker was lost: its ranges of the run become free at `free_ns`, or with Confirm().
  void Lose(const std::string& run_id, const std::string& worker_id, int64_t free_ns);
  // The worker is idle: frees what it held as a lost worker of runs that have ended.
  void Confirm(const std::string& worker_id);
  // Whether ranges are still held for this worker because it was lost.
  bool Holds(const std::string& worker_id, int64_t now_ns) const;
  // The run has ended: frees the ranges of its workers, but not of the lost ones. Returns until
  // when those are held, 0 when there are none.
  int64_t End(const std::string& run_id);

 private:
  using Holder = std::pair<std::string, std::string>;  // run and worker
  common::Safeguards safeguards_;
  // Whether what a lost worker held is free by now.
  bool IsFree(const Holder& holder, int64_t now_ns) const;
  bool HoldsAnything(const std::string& run_id) const;
  std::map<Holder, std::vector<ByteRange>> ranges_;  // by thing, then begin
  std::map<Holder, std::string> all_;                // → host
  // All held ranges sorted by `thing`, for fast lookups; rebuilt when what is held has changed.
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
