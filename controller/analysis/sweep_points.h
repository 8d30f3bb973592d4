#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/analysis/sweep_conclusion.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// The runs of one point of a sweep, each figure by itself.
struct RunsOfPoint {
  std::vector<double> iops, bytes, mean, p50, p99, jain, thread_jain;
  bool is_p50_uncertain = false;  // in one of the runs
  bool is_p99_uncertain = false;
  std::vector<double> served;  // IOPS over the rate that was due; of open loops alone
  int workloads = 0;
  bool ramps = false;  // the rate changes while the phase runs
  std::vector<uint32_t> phases;
  std::vector<v1::TimeSpent> spent;
  std::vector<RoundFigures> rounds;
  std::vector<std::string> limits;
};

// The points that have run, by the indices of their values on the axes.
using RunsByPoint = std::map<std::vector<uint32_t>, RunsOfPoint>;

// Adds a phase to the runs of its point. `repeat`: the repetition of the sweep that it belongs to.
void AddRun(const v1::PhaseReport& phase, const v1::RunPhase& load, uint32_t repeat,
            RunsOfPoint* runs);

// The medians of a point's runs; without figures if none of them counts. Pure.
v1::SweepPointReport SweepPointOf(const std::vector<uint32_t>& indices, const RunsOfPoint& runs);

}  // namespace lockstep::controller
