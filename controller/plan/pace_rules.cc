#include "controller/plan/pace_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/loads.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

std::string Time(int64_t nanoseconds) {
  return common::FormatDuration(static_cast<double>(nanoseconds));
}

class PaceRules {
 public:
  PaceRules(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& w,
            const Complain& complain)
      : job_(job), run_(run), w_(w), add_(complain) {}

  void Check() {
    CheckEnd();
    CheckLoad();
    CheckEnding();
    CheckDirection(".read_limit", w_.has_read_limit(), w_.read_limit(), v1::Reads(w_));
    CheckFlow();
    CheckDirection(".write_limit", w_.has_write_limit(), w_.write_limit(), v1::Writes(w_));
  }

 private:
  void CheckEnd() {
    if (run_.duration_ns() == 0 && !HasOwnEnd(w_)) {
      add_("",
           "has no end: give the run a duration, or the workload operations, io_size, passes or a "
           "runtime");
    }
    // Without a duration nobody knows how long the load runs: all of it might be ramp.
    if (run_.ramp_ns() != 0 && run_.duration_ns() == 0) {
      add_("", "with a ramp the run needs a duration");
    }
    if (w_.has_copy() && w_.runtime_ns() != 0) {
      add_(".runtime", "would end the copy before it is whole");
    }
    if (run_.duration_ns() == 0) return;
    const int64_t end = run_.ramp_ns() + run_.duration_ns();
    if (w_.start_delay_ns() >= end) {
      add_(".start_delay", absl::StrCat("the run ends after ", Time(end), ", before it begins"));
    } else if (v1::OwnEndNs(w_, run_.ramp_ns()) > end) {
      add_(".runtime", absl::StrCat("would end after ", Time(v1::OwnEndNs(w_, run_.ramp_ns())),
                                    ", and the run ends after ", Time(end),
                                    "; leave it out, or give the run a longer duration"));
    }
  }

  void CheckLoad() {
    if (w_.has_open_loop()) {
      const v1::OpenLoop& loop = w_.open_loop();
      if (loop.rate_case() == v1::OpenLoop::RATE_NOT_SET) {
        add_(".open_loop", "has no rate: write `rate: 20000`, or `measured: {phase: NAME}`");
      }
      // The negated comparison also refuses NaN.
      if (loop.rate_case() == v1::OpenLoop::kRatePerSecond && !(loop.rate_per_second() > 0)) {
        add_(".open_loop.rate", "must be above 0");
      }
      if (loop.has_measured()) CheckMeasured(loop.measured());
      if (loop.ramp_to_ratio() != 1 && run_.duration_ns() == 0 && w_.runtime_ns() == 0) {
        add_(".open_loop.ramp_to", "needs a duration to change over");
      }
      if (w_.max_iops() > 0 || w_.max_throughput_bytes_per_second() > 0) {
        add_(".open_loop",
             "has its rate already; max_iops and max_throughput are rate limits of closed loops");
      }
      if (w_.think_time_ns() > 0) {
        add_(".think_time", "cannot be combined with open_loop: its schedule says when I/Os start");
      }
    }
    if (w_.max_iops() < 0) add_(".max_iops", "must not be negative");
    if (w_.think_every() > 1 && w_.think_time_ns() == 0) {
      add_(".think_every", "without a think_time there is no pause");
    }
  }

  void CheckMeasured(const v1::MeasuredRate& measured) {
    for (const v1::PhaseSpec& phase : job_.phases()) {
      // Compared by address: `run_` is the job's own message. Only the points of a sweep are
      // copies, and their phase has been checked as it stands in the job.
      if (phase.has_run() && &phase.run() == &run_) break;
      if (phase.name() == measured.phase() &&
          (phase.run().has_curve() || phase.run().has_sweep())) {
        return add_(".open_loop.measured.phase",
                    absl::StrCat("'", measured.phase(),
                                 "' has a curve or a sweep: it becomes several phases, of which "
                                 "none has this name"));
      }
      if (phase.name() == measured.phase() && IsLoad(phase) && !phase.has_observe()) return;
    }
    add_(".open_loop.measured.phase",
         absl::StrCat("no earlier phase with load is named '", measured.phase(), "'"));
  }

  void CheckEnding() {
    if (w_.ends_phase() && !HasOwnEnd(w_)) {
      add_(".ends_phase",
           "this workload has no end of its own: give it operations, io_size, passes or a runtime");
    }
    if (!w_.has_min_rate()) return;
    const v1::MinimumRate& least = w_.min_rate();
    if (!(least.iops() > 0) && !(least.throughput_bytes_per_second() > 0)) {
      add_(".min_rate", "says nothing: write iops or throughput");
    }
    // The limit alone would then end each run.
    if (w_.max_iops() > 0 && least.iops() > w_.max_iops()) {
      add_(".min_rate.iops", "is above max_iops");
    }
    if (w_.max_throughput_bytes_per_second() > 0 &&
        least.throughput_bytes_per_second() > w_.max_throughput_bytes_per_second()) {
      add_(".min_rate.throughput", "is above max_throughput");
    }
    // Only whole windows are judged: this one would never end.
    if (run_.duration_ns() > 0 && least.window_ns() > run_.duration_ns()) {
      add_(".min_rate.window", absl::StrCat("is longer than the run, ", Time(run_.duration_ns())));
    }
  }

  void CheckFlow() {
    if (w_.flow() == 0) {
      if (w_.flow_group() != 0) add_(".flow_group", "says nothing without a flow");
      return;
    }
    const bool has_others = std::any_of(
        run_.workloads().begin(), run_.workloads().end(), [&](const v1::Workload& other) {
          return &other != &w_ && other.flow() != 0 && other.flow_group() == w_.flow_group();
        });
    // A flow keeps workloads in proportion to each other. A single one would wait for nobody.
    if (!has_others) {
      add_(".flow",
           "is a share, and no other workload of this phase has a flow with the same flow_group");
    }
  }

  void CheckDirection(const std::string& field, bool is_set, const v1::DirectionLimit& limit,
                      bool is_done) {
    if (!is_set) return;
    if (!(limit.iops() > 0) && !(limit.throughput_bytes_per_second() > 0)) {
      add_(field, "says nothing: write iops or throughput");
    }
    if (!is_done) add_(field, "this workload has no I/O of this direction");
    if (w_.has_open_loop()) {
      add_(field, "cannot be combined with open_loop: its schedule says when I/Os start");
    }
    // A block of a copy is read and written; max_iops and max_throughput count both.
    if (w_.has_copy()) add_(field, "a copy writes what it reads; use max_iops or max_throughput");
    if (v1::Trims(w_)) add_(field, "a workload with trims has a third direction; use max_iops");
    // An I/O whose direction changes would no longer be its line's, or join its neighbours.
    if (w_.has_read_limit() && w_.has_write_limit() && (!w_.access().empty() || w_.merge() > 1)) {
      add_(field, "limits of both directions change the mix, which access and merge fix");
    }
  }

  const v1::JobSpec& job_;
  const v1::RunPhase& run_;
  const v1::Workload& w_;
  const Complain& add_;
};

}  // namespace

void CheckPace(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& workload,
               const Complain& complain) {
  PaceRules(job, run, workload, complain).Check();
}

}  // namespace lockstep::controller
