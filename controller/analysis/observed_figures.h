#pragma once

#include <optional>
#include <string>

#include "measure/report_states.h"
#include "proto/comparison.pb.h"
#include "proto/device_report.pb.h"
#include "proto/observed.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The figures of observe phases that comparisons show. All functions are pure.

struct ObservedFigureKind {
  const char* kind;  // read, write, discard, flush; empty: of all requests, or of a host
  const char* name;
  measure::Unit unit;
  // Nothing where the figure is not known. Null for the figures of a host.
  std::optional<double> (*of_device)(const v1::DeviceReport& device);
  // Null for the figures of a device.
  std::optional<double> (*of_host)(const v1::KernelReport& kernel);
};
extern const ObservedFigureKind kObservedFigures[];
extern const int kObservedFigureCount;

// The sum over devices, as if it was one.
v1::DeviceReport AsDevice(const v1::ObservedFigures& total);

// Adds the observe phases of the run's report.
void AddObservedPhases(const v1::Report& report, v1::RunFigures* run);

// Why the run's observe phases are not compared with those of others; empty when they are.
std::string WhyNotObserved(const v1::RunFigures& run);

}  // namespace lockstep::controller
