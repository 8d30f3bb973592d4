#pragma once

#include <string>
#include <vector>

#include "controller/cli/client.h"

namespace lockstep::cli {

// How a report is printed.
struct ReportFormat {
  std::string name = "text";
  bool detail = false;             // of text
  std::string host;                // histograms of this host alone
  std::string output;              // a file; empty: standard output
  bool require_all_hosts = false;  // a degraded run is a failure
};

// The names, in the order in which --help lists them.
std::vector<std::string> ReportFormats();

// Fetches the run's report, and its histograms where the format has them, into `text`. Returns kOk
// with `report` filled in, or kError after a message.
int FetchReport(const Context& context, v1::Controller::Stub* stub, const std::string& run_id,
                const ReportFormat& format, v1::Report* report, std::string* text);

}  // namespace lockstep::cli
