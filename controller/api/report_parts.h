#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Leaves only the requested part of a whole report, with its verdict. Returns a message if the
// report lacks the requested phase, otherwise an empty string.
std::string CutTo(const v1::ReportRequest& request, v1::Report* report);

// Puts notes among the report's events, each before the first event that is later.
void AddNotes(const std::vector<v1::EventReport>& notes, v1::Report* report);

}  // namespace lockstep::controller
