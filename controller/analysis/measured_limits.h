#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/measured_limit.pb.h"
#include "proto/observed.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The kinds of requests that a device got. Sizes are means, and 0 without such requests.
struct RequestMix {
  double read_ratio = 0;
  double read_bytes = 0, write_bytes = 0;
};
RequestMix MixOf(const v1::ObservedFigures& figures);
RequestMix MixOf(const v1::MeasuredLimit& limit);

// The difference between two kinds of requests, as a message: "90 % of the requests are reads here,
// 50 % there". Empty if they are similar: their shares of reads differ by at most 10 percentage
// points, and the mean sizes of each kind that has 10 % of the requests or more by at most a factor
// of 1.5.
std::string DifferenceOf(const RequestMix& here, const RequestMix& there);
// How far they are apart. Only good for telling which of several is nearest.
double DistanceOf(const RequestMix& here, const RequestMix& there);

// The limits that a run measured of its targets' devices: each run phase in which a device was not
// held to a rate, but one only of several with the same requests. FAILED_PRECONDITION, with the
// reason, if the run has no such figures.
absl::StatusOr<std::vector<v1::MeasuredLimit>> LimitsOf(const v1::Report& report);

}  // namespace lockstep::controller
