#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/report.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// The report of a stored run; its intervals are read as a stream. It takes longer the more rows the
// run has: never on a thread that somebody else waits for.
absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id);

}  // namespace lockstep::controller
