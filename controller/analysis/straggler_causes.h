#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

struct Cause {
  std::string cause;   // v1::Straggler says which there are
  std::string reason;  // what it is concluded from, a sentence
};

// Why a host of `report` was slower than its peers, as far as their samples tell, and what was
// different before. `slow`: the points of the hosts' series in which it was slow, ascending; there
// may be others between. Hosts are numbers in `report`, whose hosts, kernels and devices are there.
Cause CauseOf(const PhaseView& view, const v1::PhaseReport& report, int host,
              const std::vector<int>& peers, const std::vector<size_t>& slow);

}  // namespace lockstep::controller
