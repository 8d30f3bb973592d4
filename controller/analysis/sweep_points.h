#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/analysis/rate_axes.h"
#include "controller/analysis/sweep_conclusion.h"
#include "controller/plan/steady_rounds.h"
#include "controller/plan/sweep.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// The runs of one point of a sweep, each figure by itself.
struct RunsOfPoint {
  std::vector<double> iops, bytes, mean, p50, p99, jain, thread_jain;
  bool is_p50_uncertain = false;  // in one of the runs
  bool is_p99_uncertain = false;
  // Of the runs in which they are known; only where the last axis is a rate.
  std::vector<ServedRate> served;
  bool ramps = false;  // the rate changes while the phase runs
  std::vector<uint32_t> phases;
  std::vector<v1::TimeSpent> spent;
  std::vector<RoundFigures> rounds;
  std::vector<std::string> limits;
};

// The points that have run, by the indices of their values on the axes.
using RunsByPoint = std::map<std::vector<uint32_t>, RunsOfPoint>;

// Adds a phase of the sweep `load` to the runs of its point. Its figures count if its round does.
void AddRun(const v1::PhaseReport& phase, const v1::RunPhase& load, const SweepPoint& point,
            const RoundWindow& counted, RunsOfPoint* runs);

// The medians of a point's runs; without figures if none of them counts. Pure.
v1::SweepPointReport SweepPointOf(const std::vector<uint32_t>& indices, const RunsOfPoint& runs);

}  // namespace lockstep::controller
