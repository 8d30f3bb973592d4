#include "controller/plan/pace_rules.h"

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

class Rules {
 public:
  Rules(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& w,
        const Complain& complain)
      : job_(job), run_(run), w_(w), add_(complain) {}

  void Check() {
    CheckEnd();
    CheckLoad();
  }

 private:
  void CheckEnd() {
    if (run_.duration_ns() == 0 && !HasOwnEnd(w_)) {
      add_("",
           "has no end: give the run a duration, or the workload operations, io_size, passes or a "
           "runtime");
    }
    if (run_.ramp_ns() != 0 && run_.duration_ns() == 0) {
      add_("", "with a ramp the run needs a duration");
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

  const v1::JobSpec& job_;
  const v1::RunPhase& run_;
  const v1::Workload& w_;
  const Complain& add_;
};

}  // namespace

void CheckPace(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& workload,
               const Complain& complain) {
  Rules(job, run, workload, complain).Check();
}

}  // namespace lockstep::controller
