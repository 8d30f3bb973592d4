#pragma once

#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The subject of a question: the load of a phase, or the devices and hosts, which an observe phase
// samples, too.
enum class About { kLoad, kDevices };

// An analysis answers one question about a measured phase: it reads what was measured and what
// earlier analyses have added to the phase's report, and adds its own answer. Pure.
struct Analysis {
  int order = 0;  // analyses run in ascending order
  const char* name = "";
  void (*add)(const PhaseView& view, v1::PhaseReport* report) = nullptr;
  About about = About::kLoad;
};

// The order of the analyses. A new one takes a number after those whose answers it reads.
namespace order {
inline constexpr int kWindow = 100;
inline constexpr int kWorkloads = 200;
inline constexpr int kThroughput = 210;
inline constexpr int kVerification = 220;
inline constexpr int kHosts = 300;
inline constexpr int kThreads = 310;
inline constexpr int kOutages = 320;
inline constexpr int kOmissions = 325;
inline constexpr int kSteady = 330;
inline constexpr int kChanges = 335;
inline constexpr int kSettings = 340;
inline constexpr int kDevices = 400;
inline constexpr int kKernels = 410;
inline constexpr int kNetwork = 412;
inline constexpr int kTimeSpent = 415;
inline constexpr int kFindings = 420;
inline constexpr int kObserved = 425;
inline constexpr int kObservedShares = 427;
inline constexpr int kFairness = 430;
inline constexpr int kStragglers = 440;
inline constexpr int kSkew = 500;
inline constexpr int kLimits = 600;
inline constexpr int kExpectations = 700;
inline constexpr int kPromises = 710;
inline constexpr int kValidity = 800;
inline constexpr int kRemarks = 900;
}  // namespace order

// Registers an analysis. A file with an analysis defines a constant of this type, and linking the
// file is enough: `const RegisterAnalysis kTail(order::kRemarks + 10, "tail", &AddTail);`
class RegisterAnalysis {
 public:
  RegisterAnalysis(int order, const char* name, void (*add)(const PhaseView&, v1::PhaseReport*),
                   About about = About::kLoad);
};

// All registered analyses, by order, then by name.
std::vector<Analysis> Analyses();

}  // namespace lockstep::controller
