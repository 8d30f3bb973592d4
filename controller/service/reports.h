#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/report.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// The report of a stored run; its intervals are read as a stream. Takes as long as the run has
// rows: do not call it on a thread for which others wait.
absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id);

}  // namespace lockstep::controller
