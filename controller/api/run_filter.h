#pragma once

#include "absl/status/status.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// INVALID_ARGUMENT, with the field, when the filter names a state or a time that does not exist.
// Times become RFC 3339 in UTC.
absl::Status NormaliseFilter(v1::RunFilter* filter);

}  // namespace lockstep::controller
