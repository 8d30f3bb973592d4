#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// Other tools' own layouts, for eyes and scripts that know them. Empty where a run has nothing of
// the kind.

// iops: a line for each block size of the run's sweeps over block_size alone, largest last.
std::string RenderIops(const v1::Report& report);

// iozone's matrices (iozone -R): kB/s by file size down and record size across, for each kind of
// operation. From sweeps whose last axis is block_size; the axis before it is the row, or the one
// row is "all". Phases that are named like iozone's columns (write, rewrite, read, reread, random
// read, random write) come first, in iozone's order and under its titles.
std::string RenderIozone(const v1::Report& report);

}  // namespace lockstep::controller
