#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// From this share of its line rate on, in one direction, an interface limits. Frames have further
// bytes on the line that the counters lack.
inline constexpr double kLineRateReached = 0.9;

// A direction of an interface.
struct LineUse {
  double ratio = 0;  // of the line rate
  std::string text;  // "eth0 sent at 96 % of its line rate of 16 Mbit/s"
};
// The direction of the interfaces of a worker's host that was nearest to its line rate at these
// points of the host's series; nothing where no speed is known all the time.
std::optional<LineUse> BusiestLineIn(const PhaseView& view, const v1::PhaseReport& report,
                                     uint32_t worker, const std::vector<size_t>& at);

// The network's figures for a workload, over its hosts and the routes of its targets. Texts are
// parts of sentences; empty where the figures do not say it.
struct NetworkEvidence {
  // On at least half of the hosts an interface reached its line rate.
  std::string line_rate;
  // On at least half of the hosts packets were lost.
  std::string losses;
  // Most of the time of NFS operations was their way to the server and back.
  std::string round_trips;
  // How busy the interfaces were otherwise.
  std::string use;
};
// `report` must have the phase's interfaces and mounts already.
NetworkEvidence NetworkEvidenceOf(const PhaseView& view, const v1::PhaseReport& report,
                                  const v1::Workload& workload);

}  // namespace lockstep::controller
