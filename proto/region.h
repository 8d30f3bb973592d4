#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/pattern.pb.h"

namespace lockstep::v1 {

// Bytes [begin, end) of a host's part of a file or device, counted from the part's start.
struct RegionBytes {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The bytes of a part of `part_bytes` bytes that thread number `thread` of a worker uses. They lie
// in the part and hold at least one block of `block_bytes`, for any region: also for one that was
// not checked. OUT_OF_RANGE with the numbers where they would not. Pure.
absl::StatusOr<RegionBytes> RegionOf(const Region& region, uint64_t part_bytes, uint32_t thread,
                                     uint64_t block_bytes);

}  // namespace lockstep::v1
