#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/cli/client.h"

namespace lockstep::cli {

// Writes the rows of these runs in every view of the store's interface that is by run, as gzipped
// JSON lines: DIRECTORY/VIEW/month=2026-11/run=ID/rows.jsonl.gz, where the month is that of
// submission (UTC). A histogram is a list of [low_ns, high_ns, count]; high_ns of the last bucket
// is null. A view without rows of a run has no file. Files of an earlier export of the same run are
// replaced. `intervals`: with interval_latency, the largest by far.
absl::Status ExportTables(v1::Controller::Stub* stub, const std::vector<std::string>& runs,
                          const std::string& directory, bool intervals);

}  // namespace lockstep::cli
