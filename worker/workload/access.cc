#include "worker/workload/access.h"

#include <algorithm>

namespace lockstep::worker {

Access::Access(const BlockSpace* space, const Options& options)
    : space_(space),
      order_(options.order),
      always_read_(options.read_ratio >= 1),
      always_write_(options.read_ratio <= 0),
      // Exact to 2^-53, the resolution of the ratio itself.
      read_below_(always_read_ ? ~uint64_t{0} : static_cast<uint64_t>(options.read_ratio * 18446744073709551616.0)),
      random_(common::DeriveSeed(options.seed, options.thread)) {
  const uint64_t blocks = space->blocks();
  begin_ = std::min(blocks - 1, blocks * options.thread / options.threads);
  const uint64_t end = blocks * (options.thread + 1) / options.threads;
  length_ = std::max<uint64_t>(1, end > begin_ ? end - begin_ : 1);
}

}  // namespace lockstep::worker
