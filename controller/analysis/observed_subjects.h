#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// What an observe phase of one run saw of a subject.
struct ObservedSample {
  std::string name;              // of a device; it may differ from run to run
  std::map<int, double> values;  // by the index in kObservedFigures
};

// All devices together, a host, or a device, as the observe phases of one name saw it in some runs.
struct ObservedSubject {
  enum class Kind { kAllDevices, kHost, kDevice };
  Kind kind = Kind::kDevice;
  std::string phase;
  std::string host;      // empty for all devices together
  std::string identity;  // of a device, if a run knows it
  // One for each run; none where the run did not see it.
  std::vector<std::optional<ObservedSample>> samples;
};

struct ObservedSubjects {
  // Phase by phase: all devices, if a run has several, then each host and its devices.
  std::vector<ObservedSubject> subjects;
  // Hosts that are not among them, as "phase host": several hosts of a run have that name.
  std::vector<std::string> ambiguous;
};

// Finds the same subjects in several runs. Phases and hosts are the same by their names, devices by
// their host and identity. A device whose identity its run does not know is the same as the one of
// its name. So is, if the identities agree, each path of a LUN, because all paths have the LUN's
// identity. Pure.
ObservedSubjects ObservedSubjectsOf(const std::vector<const v1::RunFigures*>& runs);

}  // namespace lockstep::controller
