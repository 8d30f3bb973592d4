#pragma once

#include "proto/sweep.pb.h"

namespace lockstep::controller {

// Adds sentences on where the time of the points went, as far as the points differ: the one with
// most and the one with least context switches for each I/O, and time in fsync.
void AddSweepRemarks(v1::SweepReport* sweep);

}  // namespace lockstep::controller
