#pragma once

#include <string>
#include <vector>

#include "controller/cli/client.h"
#include "controller/cli/live_sysbench.h"

namespace lockstep::cli {

// How a report is printed.
struct ReportFormat {
  std::string name = "text";
  bool detail = false;             // of text
  std::string host;                // histograms of this host alone
  std::string output;              // a file; empty: standard output
  bool require_all_hosts = false;  // a degraded run is a failure
  // For sysbench: the lines that were printed while the run was followed, or null.
  const LiveSysbench* live = nullptr;
};

// The names, in the order in which --help lists them.
std::vector<std::string> ReportFormats();

// Fetches the run's report into `report`, with its histograms where the format has them, and
// returns the text in that format. Errors: those of the controller, and FAILED_PRECONDITION where
// the run has nothing that the format shows.
absl::StatusOr<std::string> FetchReport(const Context& context, v1::Controller::Stub* stub,
                                        const std::string& run_id, const ReportFormat& format,
                                        v1::Report* report);

}  // namespace lockstep::cli
