#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// A point of a sweep: a value for each axis, and which repetition of it this is (from 0). Pure, all
// of it: the same sweep gives the same points in the same order.
struct SweepPoint {
  std::vector<std::pair<std::string, std::string>> values;  // field and text, by axis
  std::vector<uint32_t> indices;                            // of the values on their axes
  uint32_t repeat = 0;
};

// How many phases it becomes; 0 where axes of a zip differ in length.
uint64_t PointsOf(const v1::Sweep& sweep);
// The point that is run as the `step`-th, from 0.
SweepPoint PointAt(const v1::Sweep& sweep, uint32_t step);

// "block_size=4KiB queue_depth=16"; of repetitions after the first with "(2)" at the end.
std::string NameOf(const SweepPoint& point);

// Sets the fields in the phase. INVALID_ARGUMENT when there is no such field, or the text is no
// value of it.
absl::Status Apply(const SweepPoint& point, v1::RunPhase* run);
absl::Status Apply(const std::string& field, const std::string& text, v1::RunPhase* run);

}  // namespace lockstep::controller
