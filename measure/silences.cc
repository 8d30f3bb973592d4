#include "measure/silences.h"

#include <algorithm>

namespace lockstep::measure {

void Silences::Add(int64_t begin_ns, int64_t end_ns) {
  if (end_ns <= begin_ns) return;
  if (!spans_.empty() && spans_.back().second == begin_ns) {
    spans_.back().second = end_ns;
    return;
  }
  if (spans_.size() >= 2 * max_) DropShortest();
  spans_.emplace_back(begin_ns, end_ns);
}

// Half of them at once, so that a load of which every second interval is empty costs no more than
// another one.
void Silences::DropShortest() {
  std::vector<int64_t> lengths;
  lengths.reserve(spans_.size());
  for (const auto& [begin_ns, end_ns] : spans_) lengths.push_back(end_ns - begin_ns);
  size_t surplus = spans_.size() - max_;
  const auto min_kept = lengths.begin() + static_cast<ptrdiff_t>(surplus);
  std::nth_element(lengths.begin(), min_kept, lengths.end());
  const int64_t least = *min_kept;
  // Of equally long ones the earliest go, of which there may be more than are to go.
  surplus -= static_cast<size_t>(
      std::count_if(lengths.begin(), lengths.end(), [&](int64_t ns) { return ns < least; }));
  std::erase_if(spans_, [&](const Span& span) {
    const int64_t length = span.second - span.first;
    if (length == least && surplus > 0) {
      --surplus;
      return true;
    }
    return length < least;
  });
}

}  // namespace lockstep::measure
