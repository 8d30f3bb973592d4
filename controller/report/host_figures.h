#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// Longer tables would bury the rest of the phase. --format json has all devices.
inline constexpr int kDevicesShown = 256;

// The figures of `iostat -x` for a phase's first devices: a line for each device and kind of
// request that there was, in iostat's units but for MiB, of lines at most `width` wide. Empty
// without devices.
std::string RenderIostat(const v1::PhaseReport& phase, size_t width);

// "node1", "node1 and 1 more on one kernel".
std::string HostsOf(const v1::KernelReport& kernel);

// The figures of `vmstat` for the processors, in its abbreviations; and for memory, swap space and
// block devices, without figures that are not known: empty if none is.
std::string RenderVmstat(const v1::KernelReport& kernel);
std::string RenderMemory(const v1::KernelReport& kernel);
// The cost of an I/O of the phase on the kernel, and in its workers; empty where nothing is known.
std::string RenderPerIo(const v1::PhaseReport& phase, const v1::KernelReport& kernel);

// The processor quotas of the hosts that have one, the most used first: "node2 for 33 % of the time
// (97 % of its worst interval)". Empty without any.
std::string RenderQuotas(const v1::PhaseReport& phase);

}  // namespace lockstep::controller
