#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// INVALID_ARGUMENT, with the field, when the filter names a state or a time that does not exist.
// Times become RFC 3339 in UTC.
absl::Status NormaliseFilter(v1::RunFilter* filter);

// An instant as people write it: 2026-11-22, 2026-11-22T08:00 (UTC), RFC 3339. INVALID_ARGUMENT
// with the field's name for anything else.
absl::StatusOr<absl::Time> ParseInstant(const char* field, const std::string& text);

}  // namespace lockstep::controller
