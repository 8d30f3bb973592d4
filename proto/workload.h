#pragma once

#include <cstdint>
#include <string>

#include "proto/job.pb.h"

namespace lockstep::v1 {

// The kinds of I/O that a workload of a valid job does, its defaults filled in and its access lines
// included. Pure.
bool Reads(const Workload& workload);
bool Writes(const Workload& workload);
bool Trims(const Workload& workload);
// Whether it reads, or writes, this one of its targets: a copy reads one and writes the other.
bool ReadsFrom(const Workload& workload, const std::string& target);
bool WritesTo(const Workload& workload, const std::string& target);
// How far each skip moves a sequential workload on, bytes: skip_after and skip together, or skip
// alone where it follows each I/O. If this is a multiple of a block, so are the offsets behind the
// skips, whatever each of the two is. 0 without skips. Pure.
int64_t SkipSpanOf(const Sequential& sequential);
// The end of the workload's runtime in a phase with this ramp, nanoseconds from T; 0 without one.
int64_t OwnEndNs(const Workload& workload, int64_t ramp_ns);

}  // namespace lockstep::v1
