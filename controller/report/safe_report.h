#pragma once

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// A report that came from elsewhere, as it can be shown: texts without control characters, figures
// that are none as 0, and no point of a sweep that its axes have not.
v1::Report SafeToShow(const v1::Report& report);

// Whether a histogram has a count for each bucket, and counts and buckets that can be.
bool IsWhole(const v1::LatencyHistogram& histogram);

}  // namespace lockstep::controller
