#pragma once

#include "proto/report.pb.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// Adds sentences on where the time of the points went, as far as the points differ: the one with
// most and the one with least context switches for each I/O, and time in fsync. If every point
// spent nearly all of its time in fsync, a sentence says so.
void AddSweepRemarks(v1::SweepReport* sweep);

// Adds a sentence if a device was busy all the time at points of different throughput. `phases`: of
// the report, those of the sweep's points among them.
void AddBusyRemark(const google::protobuf::RepeatedPtrField<v1::PhaseReport>& phases,
                   v1::SweepReport* sweep);

}  // namespace lockstep::controller
