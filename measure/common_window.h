#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "measure/operation_stats.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

struct IoSums {
  uint64_t operations = 0;
  uint64_t bytes = 0;

  void Add(const IoSums& other) {
    operations += other.operations;
    bytes += other.bytes;
  }
  bool operator==(const IoSums&) const = default;
};

// A workload on a worker, and what it did in an interval. Instants are nanoseconds from T.
struct PartInterval {
  uint32_t worker = 0;
  uint32_t workload = 0;
  int64_t begin_ns = 0;  // of the interval, or of the part where that is later
  int64_t end_ns = 0;    // of the interval, or of the part where that is earlier
  bool is_over = false;  // the part ended in this interval or before
  std::vector<std::pair<v1::OperationKind, IoSums>> kinds;
};

// The time in which all parts of a set ran, and what each did in that time. The rate of the set,
// and of each of its parts, is what was done over that time, so that the rate of a sum is never
// below a part's.
//
// It begins with the measurement, or when the last part begins where that is later, and ends when
// the first part ends: one of so many operations, bytes or passes with its last completion, one
// with a runtime with that, others with the load. Samples are counts of whole intervals. If parts
// end at different instants within an interval, it ends with the interval before; if they begin at
// different instants within one, it begins with the interval after. If that would leave nothing, it
// lasts from the last part's begin to the first part's end, and of the other parts' operations in
// such an interval a share counts that is proportional to the time. Less than a hundredth of such
// an interval is no time. Pure; not thread-safe.
class CommonWindow {
 public:
  using Counts = std::map<WorkloadKind, IoSums>;

  // The next interval, measured by all parts of the set. Intervals that somebody lacks are left
  // out.
  void Add(const std::vector<const PartInterval*>& parts);

  bool empty() const { return covered_ns_ == 0; }
  // Whether a part has ended: nothing is added any more.
  bool closed() const { return closed_; }
  // From the first interval's begin to the end of the last.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }
  // The intervals' lengths added up: what rates are divided by. Less than end_ns - begin_ns where
  // an interval was left out.
  int64_t covered_ns() const { return covered_ns_; }
  double seconds() const { return static_cast<double>(covered_ns_) / 1e9; }
  // By worker; empty for a worker without a part.
  const Counts& Of(uint32_t worker) const;
  const std::map<uint32_t, Counts>& workers() const { return workers_; }

 private:
  // Adds a part of an interval.
  void Cut(const std::vector<const PartInterval*>& parts, int64_t begin_ns, int64_t end_ns);

  int64_t begin_ns_ = 0, end_ns_ = 0, covered_ns_ = 0;
  bool closed_ = false;
  bool is_cut_ = false;  // no whole interval yet
  std::map<uint32_t, Counts> workers_;
};

}  // namespace lockstep::measure
