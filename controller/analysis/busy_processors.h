#pragma once

#include <cstdint>
#include <string>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// How busy the processors of a kernel were over the measured time, and whose work that was.
struct ProcessorUse {
  // kOthers: less than half of the busy time was the workers'. kUnknown: the host does not tell how
  // many processors it has, or a worker of an earlier version counted ramp and drain, too.
  enum class By { kWorkers, kOthers, kUnknown };

  bool is_busy = false;  // nearly all the time
  By by = By::kUnknown;
  // "the processors of vm were busy for 99 % of the time, 4 % of that with the load generator". The
  // share is there if others had the rest.
  std::string text;
};
ProcessorUse ProcessorUseOf(const PhaseView& view, const v1::KernelReport& kernel);

// The same text for the kernel of a worker; empty if its processors were not busy. Needs the
// report's kernels. `worker`: its number in the run.
std::string BusyProcessorsOf(const PhaseView& view, const v1::PhaseReport& report, uint32_t worker);

}  // namespace lockstep::controller
