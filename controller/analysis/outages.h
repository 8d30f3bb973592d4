#pragma once

#include "proto/report.pb.h"

namespace lockstep::controller {

// Whether the outage is of hosts that completed no I/O in all of the measured time. It has no time
// before or after it, and tells nothing of when the rate of the others changed. Of a report with
// its hosts.
bool CompletedNone(const v1::PhaseReport& report, const v1::Outage& outage);

}  // namespace lockstep::controller
