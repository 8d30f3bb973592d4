#include "measure/common_window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/timing.h"

namespace lockstep::measure {
namespace {

// Two parts' ends of an interval that differ by less are the same. Each part is rated over the
// longest one's time, so the hundredth bounds the error of a short interval's rates to 1 %.
int64_t SameNs(int64_t length_ns) { return std::min(2 * timing::kMs, length_ns / 100); }

// A shorter piece of an interval is no time to rate parts over: hosts' clocks and single I/Os
// decide what falls into it.
int64_t LeastNs(int64_t length_ns) { return length_ns / 100; }

// Whole numbers of operations, of which the sum is right, too. Each rounded by itself, a hundred
// hosts with 0.4 operations each would have none together.
class Shares {
 public:
  IoSums Of(const IoSums& sums, double share) {
    const int64_t before = std::llround(given_);
    given_ += static_cast<double>(sums.operations) * share;
    const auto operations = static_cast<uint64_t>(std::llround(given_) - before);
    if (sums.operations == 0 || operations == sums.operations) return {operations, sums.bytes};
    // Both are of the same I/Os, whatever was rounded.
    const double each = static_cast<double>(sums.bytes) / static_cast<double>(sums.operations);
    return {operations,
            static_cast<uint64_t>(std::llround(each * static_cast<double>(operations)))};
  }

 private:
  double given_ = 0;
};

}  // namespace

void CommonWindow::Add(const std::vector<const PartInterval*>& parts) {
  if (closed_ || parts.empty()) return;
  int64_t first_begin = std::numeric_limits<int64_t>::max();
  int64_t last_begin = 0;
  int64_t first_end = std::numeric_limits<int64_t>::max();
  int64_t last_end = 0;
  bool is_last = false;
  for (const PartInterval* part : parts) {
    first_begin = std::min(first_begin, part->begin_ns);
    last_begin = std::max(last_begin, part->begin_ns);
    first_end = std::min(first_end, part->end_ns);
    last_end = std::max(last_end, part->end_ns);
    is_last = is_last || part->is_over;
  }
  closed_ = is_last;
  // A part was over before another one, or the interval, began.
  if (first_end <= last_begin) return;
  const int64_t same = SameNs(last_end - first_begin);
  const bool ends_apart = last_end - first_end > same;
  if (ends_apart || last_begin - first_begin > same) {
    // A worker's load may also end within an interval without an end of its own: it was stopped.
    closed_ = closed_ || ends_apart;
    // Only first intervals are cut. Counts are of whole intervals, and a share of them is an
    // estimate, which a window with a whole interval does not need.
    const bool is_long = first_end - last_begin >= LeastNs(last_end - first_begin);
    if (is_long && (empty() || is_cut_)) Cut(parts, last_begin, first_end);
    return;
  }
  if (is_cut_) {
    is_cut_ = false;
    covered_ns_ = 0;
    workers_.clear();
  }
  if (empty()) begin_ns_ = first_begin;
  end_ns_ = last_end;
  // Lengths are added up instead of taken from begin_ns_: in an interval that was left out nothing
  // was counted, so its time must not dilute the rates.
  covered_ns_ += last_end - first_begin;
  for (const PartInterval* part : parts) {
    Counts& counts = workers_[part->worker];
    for (const auto& [kind, sums] : part->kinds) counts[{part->workload, kind}].Add(sums);
  }
}

void CommonWindow::Cut(const std::vector<const PartInterval*>& parts, int64_t begin_ns,
                       int64_t end_ns) {
  if (empty()) begin_ns_ = begin_ns;
  is_cut_ = true;
  end_ns_ = end_ns;
  covered_ns_ += end_ns - begin_ns;
  std::map<v1::OperationKind, Shares> shares;
  for (const PartInterval* part : parts) {
    // A division by a length of 0 would give a NaN or an infinity, which no count can hold.
    if (part->end_ns <= part->begin_ns) continue;
    const double share =
        std::clamp(static_cast<double>(end_ns - std::max(begin_ns, part->begin_ns)) /
                       static_cast<double>(part->end_ns - part->begin_ns),
                   0.0, 1.0);
    Counts& counts = workers_[part->worker];
    for (const auto& [kind, sums] : part->kinds) {
      counts[{part->workload, kind}].Add(shares[kind].Of(sums, share));
    }
  }
}

const CommonWindow::Counts& CommonWindow::Of(uint32_t worker) const {
  static const auto* const kNone = new Counts();
  const auto found = workers_.find(worker);
  return found == workers_.end() ? *kNone : found->second;
}

}  // namespace lockstep::measure
