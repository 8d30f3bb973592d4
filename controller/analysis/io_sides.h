#pragma once

#include <optional>
#include <string>

#include "controller/analysis/phase_view.h"
#include "proto/load.pb.h"

namespace lockstep::controller {

// The time of one workload's reads and writes over the measured time, all workers together.
struct IoSides {
  struct Side {
    double ios = 0, time_ns = 0;  // completed I/Os, and their times in flight added up
    double longest_ns = 0;
    double mean_ns() const { return ios > 0 ? time_ns / ios : 0; }
  };
  Side reads, writes;
  // How long the threads waited for I/Os.
  double waited_ns = 0;

  // The reads' share of the time of both sides; 0 if there was none.
  double ReadShare() const;
  // The share of the threads' waiting that I/Os explain that completed: no thread waits for longer
  // than an I/O that it has in flight takes. 1 where nothing was waited for.
  double Explained() const;
};
IoSides IoSidesOf(const PhaseView& view, int workload);

// The side of a copy that took most of its I/Os' time.
struct CopySide {
  bool is_source = false;
  v1::Workload workload;  // the copy's, with this side's target alone
  IoSides::Side ios;
  // "its reads of src took 98 % of its I/Os' time (20.3 ms each, its writes of dst 330 µs)"
  std::string because;
};
// Nothing where neither side took clearly more than the other.
std::optional<CopySide> CopySideOf(const v1::Workload& copy, const IoSides& sides);

}  // namespace lockstep::controller
