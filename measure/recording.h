#pragma once

#include <vector>

#include "measure/rollups.h"
#include "measure/timeline.h"

namespace lockstep::measure {

// The data that is kept of a phase's intervals, merged over its workers, when it has ended.
struct Recording {
  std::vector<Rollup> rollups;
  Timeline timeline;
};

}  // namespace lockstep::measure
