#include "controller/plan/sweep_rules.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/plan/environments.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {

void CheckAxes(const v1::RunPhase& run, const Complain& complain) {
  v1::RunPhase alone = run;
  // Each value is applied to a phase without the other axes, so that a problem is its own.
  alone.clear_sweep();
  for (int a = 0; a < run.sweep().axes_size(); ++a) {
    const v1::SweepAxis& axis = run.sweep().axes(a);
    const std::string at = absl::StrCat(".axes[", a, "].values");
    std::set<std::string> seen;
    if (axis.values().empty()) complain(at, "is empty");
    for (int other = 0; other < a; ++other) {
      if (run.sweep().axes(other).field() != axis.field()) continue;
      complain(absl::StrCat(".axes[", a, "].field"),
               absl::StrCat("'", axis.field(), "' is on two axes"));
    }
    for (int v = 0; v < axis.values_size(); ++v) {
      v1::RunPhase probe = alone;
      const std::string where = absl::StrCat(at, "[", v, "]");
      const absl::Status status = Apply(axis.field(), axis.values(v), &probe);
      if (!status.ok()) complain(where, std::string(status.message()));
      // Points are checked up to the first that is wrong. A job of those days names several of
      // these, and all of them are to be said at once.
      if (const std::string& scheduler = probe.environment().scheduler();
          scheduler != alone.environment().scheduler()) {
        const std::string former = FormerSchedulerText(scheduler);
        if (!former.empty()) complain(where, former);
      }
      const bool zip = run.sweep().combine() == v1::SWEEP_COMBINE_ZIP;
      // In a zip an axis may repeat a value: the other axes tell the points apart.
      if (!seen.insert(axis.values(v)).second && !zip) {
        complain(where, absl::StrCat("'", axis.values(v), "' is there twice"));
      }
    }
  }
}

void CheckStop(const v1::Sweep& sweep, const Complain& complain) {
  if (sweep.stop_at_iops() <= 0) return;
  // With several axes or a random order, the points that are left out would depend on chance. The
  // points of a sweep over files end with a step that removes them.
  const bool is_plain = sweep.axes_size() == 1 && sweep.repeat() <= 1 &&
                        sweep.order() != v1::SWEEP_ORDER_RANDOM && !IsOfTarget(sweep.axes(0));
  if (is_plain) return;
  complain(".stop_at_iops",
           "is for a sweep over one axis in the given order that runs once and varies no target");
}

void CheckRepetitions(const v1::Sweep& sweep, const Complain& complain) {
  CheckStop(sweep, complain);
  if (sweep.has_until() && sweep.until().within_ratio() == 0) {
    complain(".until.within", "is missing; give the largest distance from the mean");
  }
  const uint32_t repeat = std::max(1U, sweep.repeat());
  if (sweep.warm_up() >= repeat) {
    complain(".warm_up", absl::StrCat("of ", sweep.warm_up(), " leaves none of the ", repeat,
                                      " repetitions; raise `repeat`"));
  } else if (sweep.has_until() && repeat - sweep.warm_up() < sweep.until().least()) {
    complain(".until",
             absl::StrCat("needs ", sweep.until().least(), " repetitions beside ", sweep.warm_up(),
                          " to warm up; `repeat` is their limit, raise it"));
  }
}

void CheckRounds(const v1::RunPhase& run, const Complain& complain) {
  const v1::Sweep& sweep = run.sweep();
  const v1::SteadyRounds& rule = sweep.until_steady();
  if (sweep.has_until()) {
    complain(".until_steady", "and `until` both end the repetitions; leave one of them out");
  }
  if (run.has_until_steady()) {
    complain(".until_steady",
             "is for rounds over all points, and until_steady of the phase for each point by "
             "itself; leave one of them out");
  }
  // One that is too large is another problem.
  const uint32_t warm_up = std::min(sweep.warm_up(), std::max(1U, sweep.repeat()));
  if (std::max(1U, sweep.repeat()) - warm_up < rule.window()) {
    complain(".until_steady",
             absl::StrCat("cannot be reached: its window has ", rule.window(), " rounds beside ",
                          warm_up, " to warm up; `repeat` is their limit, raise it"));
  }
  const uint64_t points = PointsOf(sweep) / std::max(1U, sweep.repeat());
  if (rule.track().empty() || points == 0 || points > limits::kJobSteps) return;
  std::set<std::string> names;
  std::string example;
  SweepSteps steps(sweep);
  for (uint64_t step = 0; step < StepsOf(sweep) / std::max(1U, sweep.repeat()); ++step) {
    const std::string name = NameOf(steps.At(static_cast<uint32_t>(step)).point);
    if (example.empty()) example = name;
    names.insert(name);
  }
  std::set<std::string> seen;
  for (int t = 0; t < rule.track_size(); ++t) {
    const std::string where = absl::StrCat(".until_steady.track[", t, "]");
    const std::string shown = common::Printable(rule.track(t), 200);
    if (!names.contains(rule.track(t)) || rule.track(t).empty()) {
      complain(where, absl::StrCat("'", shown, "' is no point of the sweep",
                                   example.empty() ? ", which has no axes"
                                                   : absl::StrCat("; one is '", example, "'")));
    } else if (!seen.insert(rule.track(t)).second) {
      complain(where, absl::StrCat("'", shown, "' is there twice"));
    }
  }
}

void CheckCurve(const v1::RunPhase& run, const Complain& complain) {
  if (run.curve().share_ratio().empty()) complain("", "has no shares");
  for (double share : run.curve().share_ratio()) {
    // The negated comparison also refuses NaN.
    if (!(share > 0)) complain("", "shares must be above 0");
  }
  const bool open = std::any_of(run.workloads().begin(), run.workloads().end(),
                                [](const v1::Workload& w) { return w.has_open_loop(); });
  if (!open) {
    complain("",
             "repeats the phase at shares of an open loop's rate; no workload has an open_loop");
  }
}

}  // namespace lockstep::controller
