#pragma once

#include <cstdint>

namespace lockstep::worker {

// How much a counter of the kernel grew; 0 if it began anew, as that of a control group or a
// process that was made again under its old name.
inline uint64_t Step(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

}  // namespace lockstep::worker
