#pragma once

#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// One question about a phase with load: reads what was measured, and what the questions before it
// have answered, and adds its own answer to the phase's report. Pure.
struct Analysis {
  int order = 0;  // they are asked in ascending order
  const char* name = "";
  void (*add)(const PhaseView& view, v1::PhaseReport* report) = nullptr;
};

// What comes before what. A new analysis takes a number after those whose answers it reads.
namespace order {
inline constexpr int kWindow = 100;
inline constexpr int kWorkloads = 200;
inline constexpr int kThroughput = 210;
inline constexpr int kVerification = 220;
inline constexpr int kHosts = 300;
inline constexpr int kThreads = 310;
inline constexpr int kFairness = 320;
inline constexpr int kDevices = 400;
inline constexpr int kKernels = 410;
inline constexpr int kSkew = 500;
inline constexpr int kLimits = 600;
inline constexpr int kExpectations = 700;
inline constexpr int kValidity = 800;
inline constexpr int kRemarks = 900;
}  // namespace order

// A file with an analysis registers it by a constant of this type, and is found by its being
// linked: `const RegisterAnalysis kTail(order::kRemarks + 10, "tail", &AddTail);`
class RegisterAnalysis {
 public:
  RegisterAnalysis(int order, const char* name, void (*add)(const PhaseView&, v1::PhaseReport*));
};

// All that are linked, in order; equal orders by name.
std::vector<Analysis> Analyses();

}  // namespace lockstep::controller
