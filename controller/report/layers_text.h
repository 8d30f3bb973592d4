#pragma once

#include <cstddef>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The stacks of storage underneath a phase's targets as trees: hosts, file systems, mapped devices,
// paths and disks, with the times of their requests. Empty where nothing lies on several devices or
// layers of devices. The report's texts are safe to show (SafeToShow()). `width` as TextTable's.
std::string RenderLayers(const v1::PhaseReport& phase, size_t width);

}  // namespace lockstep::controller
