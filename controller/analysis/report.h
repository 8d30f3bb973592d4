#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "measure/run_data.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

using TakeInterval = std::function<absl::Status(uint32_t worker, const v1::IntervalSample&)>;
// The data that is read of an interval beside its counters.
enum class WithIntervals { kSamples, kLatencies };
// Hands out the intervals of a phase's attempt: in order of their numbers, and of one number in
// order of the workers. An error of `take` ends it.
using ReadIntervals = std::function<absl::Status(const measure::PhaseRecord& phase,
                                                 WithIntervals with, const TakeInterval& take)>;

// Builds the report of a run from what the store holds of it. The report of a run in progress
// covers the phases so far. Pure apart from `read`, whose error it returns.
//
// In memory it holds one phase's series at a time (measure/phase_series.h), however long that is.
absl::StatusOr<v1::Report> BuildReport(const measure::RunData& data, const ReadIntervals& read);

}  // namespace lockstep::controller
