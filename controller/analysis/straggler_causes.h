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

// Points of the hosts' series in which one was slow: the first, and the one after the last.
struct Stretch {
  size_t begin = 0, end = 0;
};

// Why a host of `report` was slower than its peers in the stretch, as far as their samples tell,
// and what was different before. Hosts are numbers in `report`, whose hosts, kernels and devices
// are there.
Cause CauseOf(const PhaseView& view, const v1::PhaseReport& report, int host,
              const std::vector<int>& peers, const Stretch& stretch);

}  // namespace lockstep::controller
