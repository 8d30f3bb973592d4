#pragma once

#include <cstdint>

#include "controller/report/sysbench_layout.h"
#include "proto/controller.pb.h"

namespace lockstep::cli {

// Prints a line of sysbench while it runs, on standard output: its preamble when the load begins,
// and an interval line when an interval of --report-interval is complete. The report prints what is
// missing. Not thread-safe.
class LiveSysbench {
 public:
  // `job` as it is submitted. Nothing is printed of a job of several phases, which has reports of
  // earlier phases before the preamble, and of one without --report-interval.
  explicit LiveSysbench(v1::JobSpec job);

  bool is_wanted() const { return is_wanted_; }
  void Print(const v1::WatchEvent& event);
  // The printed lines, which the report leaves out.
  bool has_begun() const { return has_begun_; }
  int64_t printed_intervals() const { return printed_; }

 private:
  void Begin(const v1::PhaseChange& phase);
  void Add(const v1::FleetInterval& interval);

  v1::JobSpec job_;
  bool is_wanted_ = false;
  bool has_begun_ = false;
  bool is_broken_ = false;
  controller::SysbenchLook look_;
  controller::SysbenchInterval collected_;
  double seen_seconds_ = 0;  // the end of the last interval, from the begin of the measured time
  int64_t printed_ = 0;
};

}  // namespace lockstep::cli
