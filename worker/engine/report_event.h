#pragma once

#include <functional>
#include <string>

#include "measure/states.h"

namespace lockstep::worker {

// Tells the run's users that something has happened: an I/O that is stuck, a session that is lost
// or back, a setting that could not be restored. Called from any thread of the worker.
using ReportEvent = std::function<void(measure::Severity severity, const std::string& text)>;
inline const ReportEvent kReportNothing = [](measure::Severity, const std::string&) {};

}  // namespace lockstep::worker
