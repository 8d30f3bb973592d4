#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::measure {

// Times in which a worker completed no I/O, of whole intervals, in their order. They are bounded in
// number: where there are more, the longest ones are kept. A value; not thread-safe.
class Silences {
 public:
  using Span = std::pair<int64_t, int64_t>;  // begin and end, nanoseconds from T

  explicit Silences(size_t max = 1000) : max_(max) {}

  // An interval without an I/O, after those before. It prolongs a silence that ends with its begin.
  void Add(int64_t begin_ns, int64_t end_ns);
  // At most 2 * max.
  const std::vector<Span>& spans() const { return spans_; }

 private:
  void DropShortest();

  size_t max_;
  std::vector<Span> spans_;
};

}  // namespace lockstep::measure
