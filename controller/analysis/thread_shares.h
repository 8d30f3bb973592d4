#pragma once

#include <string>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The shares of the threads' time of one workload, as means.
struct ThreadShares {
  double io = 0, fsync = 0, rate = 0, think = 0, cpu = 0;
  int threads = 0;
};
ThreadShares ThreadSharesOf(const v1::PhaseReport& report, const std::string& workload);

// The mean share of the time in which the workload's threads had their queue full.
double QueueFull(const PhaseView& view, int workload);

// The part of the workload's hosts in the phase that were not lost: each has an equal share of its
// rates.
double PartOfHosts(const PhaseView& view, const v1::Workload& workload);

}  // namespace lockstep::controller
