#pragma once

#include <cstdint>
#include <map>

#include "measure/merged_interval.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Which hosts complete no I/O now, while a phase runs. A host counts as silent from the first whole
// interval on in which it completes none, if its rate so far promised several: with a low rate an
// empty interval can be chance. If no host has ever completed an I/O, all of them are silent. Hosts
// whose threads pause as the job says are not judged, nor are single hosts that may have reached
// their workload's own end. Pure; not thread-safe.
class LiveSilence {
 public:
  struct Found {
    uint32_t hosts = 0;   // with a part in the interval
    uint32_t silent = 0;  // of them
    double seconds = 0;   // for which all of the silent ones have completed no I/O
  };

  explicit LiveSilence(const v1::RunPhase& load);
  // Takes the interval that follows.
  Found Add(const measure::MergedInterval& merged);

 private:
  struct Host {
    uint64_t operations = 0;
    double active_seconds = 0;  // of the intervals with I/Os
    double quiet_from = 0;      // the end of the last of them, or the load's begin, seconds from T
  };
  bool HasBegun(const measure::MergedInterval& merged) const;
  bool IsSilent(const Host& host, double end_seconds) const;

  const bool pauses_;
  const bool ends_;                 // a workload may end before the phase
  const double begins_;             // when the first workload does, seconds from T
  bool any_ = false;                // some host has completed an I/O
  std::map<uint32_t, Host> hosts_;  // by worker index
};

}  // namespace lockstep::controller
