#include "controller/plan/next_phase.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/plan/loads.h"
#include "controller/plan/repetition.h"
#include "controller/plan/steady_rounds.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {
namespace {

// The phase at one step of its sweep.
v1::PhaseSpec AtPoint(const v1::PhaseSpec& phase, uint32_t step, SweepSteps* steps) {
  const v1::Sweep& sweep = phase.run().sweep();
  const auto& [kind, point] = steps->At(step);
  v1::PhaseSpec spec;
  if (kind == StepKind::kRun) {
    spec = phase;
    DropSweep(spec.mutable_run());
    // Validate() has applied every value of every axis before the job was accepted.
    Apply(point, spec.mutable_run()).IgnoreError();
  } else {
    google::protobuf::RepeatedPtrField<std::string>* targets = nullptr;
    if (kind == StepKind::kPrepare) {
      *spec.mutable_prepare() = sweep.prepare();
      // Files that an earlier run left would be older than the files of the other points.
      spec.mutable_prepare()->set_rewrite(true);
      targets = spec.mutable_prepare()->mutable_targets();
    } else {
      targets = spec.mutable_cleanup()->mutable_targets();
      *targets = sweep.prepare().targets();
    }
    for (std::string& target : *targets) target = TargetAt(target, point);
    if (kind == StepKind::kCleanup && EndsRepetition(sweep, step)) {
      // A worker that came back may still have the files of an earlier point.
      targets->Clear();
      for (const std::string& name : FileVariantsOf(sweep)) *targets->Add() = name;
    }
  }
  const std::string name = NameOf(point);
  spec.set_name(absl::StrCat(phase.name(), name.empty() ? "" : " ", name,
                             kind == StepKind::kPrepare   ? ", prepare"
                             : kind == StepKind::kCleanup ? ", cleanup"
                                                          : ""));
  return spec;
}

// The phase at one point of its sweep, or one share of its rates.
v1::PhaseSpec AtStep(const v1::PhaseSpec& phase, uint32_t step, SweepSteps* steps) {
  if (phase.run().has_sweep()) return AtPoint(phase, step, steps);
  v1::PhaseSpec spec = phase;
  if (!phase.run().has_curve()) return spec;
  const double share = phase.run().curve().share_ratio(static_cast<int>(step));
  spec.set_name(absl::StrFormat("%s %g %%", phase.name(), 100 * share));
  spec.mutable_run()->clear_curve();
  for (v1::Workload& w : *spec.mutable_run()->mutable_workloads()) {
    if (!w.has_open_loop()) continue;
    v1::OpenLoop* loop = w.mutable_open_loop();
    if (loop->has_measured()) {
      loop->mutable_measured()->set_share_ratio(loop->measured().share_ratio() * share);
    } else {
      loop->set_rate_per_second(loop->rate_per_second() * share);
    }
  }
  return spec;
}

// Whether the sweep of the last result has been repeated often enough. Only a whole repetition may
// end it: after a part of one, some points would have a value less than others.
bool RepeatedEnough(const v1::PhaseSpec& phase, const std::vector<StepResult>& results) {
  const v1::Sweep& sweep = phase.run().sweep();
  if (!sweep.has_until() && !sweep.has_until_steady()) return false;
  if (!EndsRepetition(sweep, results.back().step)) return false;
  std::vector<StepResult> own;
  for (const StepResult& result : results) {
    if (result.job_phase == results.back().job_phase) own.push_back(result);
  }
  return sweep.has_until_steady() ? StateOfRounds(sweep, own).steady
                                  : StateOfRepetitions(sweep, own).enough;
}

// Whether the last result is of a point that ends its sweep: one that is too slow to go on. A point
// that ended early says nothing about those that follow.
bool IsStopped(const v1::PhaseSpec& phase, const StepResult& last) {
  const double limit = phase.run().sweep().stop_at_iops();
  return limit > 0 && last.done && last.figures.iops() <= limit;
}

// Whether a sweep that was begun, or is due, may have left files. Sets the step that removes them:
// the last one of the repetition, which removes those of all points. A preparation that was void is
// no result, so that the first step of a sweep may have made files, too.
bool GoToCleanup(const v1::PhaseSpec& phase, const std::vector<StepResult>& results,
                 PhaseStep* next) {
  const v1::Sweep& sweep = phase.run().sweep();
  if (!sweep.has_prepare()) return false;
  const StepResult last = results.empty() ? StepResult{.job_phase = UINT32_MAX} : results.back();
  // It is the phase that was running, or the one after that. Later ones have made nothing.
  const bool is_running = last.job_phase == next->job_phase;
  if (!is_running && last.job_phase + 1 != next->job_phase) return false;
  if (is_running && EndsRepetition(sweep, last.step)) {
    // The step before it is missing where this function chose it: nothing is left to remove.
    const StepResult* before = results.size() < 2 ? nullptr : &results[results.size() - 2];
    if (before == nullptr || before->job_phase != last.job_phase || before->step + 1 != last.step) {
      return false;
    }
  }
  while (!EndsRepetition(sweep, next->step)) ++next->step;
  return true;
}

// Makes figures of rates that are shares of what an earlier phase has reached.
absl::Status TakeMeasuredRates(const std::vector<StepResult>& results, PhaseStep* step) {
  for (v1::Workload& w : *step->spec.mutable_run()->mutable_workloads()) {
    if (!w.open_loop().has_measured()) continue;
    const v1::MeasuredRate measured = w.open_loop().measured();
    const auto found = std::find_if(results.rbegin(), results.rend(), [&](const StepResult& r) {
      return r.name == measured.phase() && r.done;
    });
    // The negated comparison also refuses NaN.
    if (found == results.rend() || !(found->figures.iops() > 0)) {
      return absl::FailedPreconditionError(
          absl::StrCat("phase ", step->spec.name(), ", workload ", w.name(), ": phase ",
                       measured.phase(), " reached no IOPS that its rate could be a share of"));
    }
    const double rate = found->figures.iops() * measured.share_ratio();
    w.mutable_open_loop()->set_rate_per_second(rate);
    step->notes.push_back(absl::StrFormat(
        "phase %s, workload %s: %g %% of the %s IOPS of phase %s are %s/s", step->spec.name(),
        w.name(), 100 * measured.share_ratio(), common::FormatCount(found->figures.iops()),
        measured.phase(), common::FormatCount(rate)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<PhaseStep>> NextPhase(const v1::JobSpec& job,
                                                   const std::vector<StepResult>& results,
                                                   Remaining remaining) {
  const auto phases = static_cast<uint32_t>(job.phases_size());
  const auto spec_of = [&](uint32_t phase) { return job.phases(static_cast<int>(phase)); };
  PhaseStep next;
  if (!results.empty()) {
    next.job_phase = results.back().job_phase;
    next.step = results.back().step + 1;
    if (next.job_phase >= phases || next.step >= CountSteps(spec_of(next.job_phase)) ||
        RepeatedEnough(spec_of(next.job_phase), results) ||
        IsStopped(spec_of(next.job_phase), results.back())) {
      ++next.job_phase;
      next.step = 0;
    }
  }
  // A run that ends early skips its other phases, and still removes the files that it made.
  while (remaining == Remaining::kCleanup && next.job_phase < phases &&
         !spec_of(next.job_phase).has_cleanup()) {
    if (GoToCleanup(spec_of(next.job_phase), results, &next)) break;
    ++next.job_phase;
    next.step = 0;
  }
  if (next.job_phase >= phases) return std::optional<PhaseStep>();
  const v1::PhaseSpec phase = spec_of(next.job_phase);
  SweepSteps steps(phase.run().sweep());
  next.spec = AtStep(phase, next.step, &steps);
  next.last = IsLast(job, next.job_phase, next.step);
  if (!next.spec.has_run()) return next;
  if (absl::Status status = TakeMeasuredRates(results, &next); !status.ok()) return status;
  return next;
}

// A sweep with `until`, `until_steady` or `stop_at_iops` may end before its last step, which
// depends on results. The steps before the last are therefore never called last.
bool IsLast(const v1::JobSpec& job, uint32_t job_phase, uint32_t step) {
  const auto index = static_cast<int>(job_phase);
  return index + 1 == job.phases_size() && step + 1 == CountSteps(job.phases(index));
}

void ForEachStep(const v1::JobSpec& job, absl::FunctionRef<void(const v1::PhaseSpec&)> visit) {
  for (const v1::PhaseSpec& phase : job.phases()) {
    // A phase without steps is visited in place: a job may have thousands of target names, and a
    // copy of each phase would copy them.
    if (!phase.run().has_sweep() && !phase.run().has_curve()) {
      visit(phase);
      continue;
    }
    SweepSteps steps(phase.run().sweep());
    const uint32_t count = CountSteps(phase);
    for (uint32_t step = 0; step < count; ++step) visit(AtStep(phase, step, &steps));
  }
}

uint32_t CountSteps(const v1::PhaseSpec& phase) {
  if (phase.run().has_sweep()) return static_cast<uint32_t>(StepsOf(phase.run().sweep()));
  return phase.run().has_curve() ? static_cast<uint32_t>(phase.run().curve().share_ratio_size())
                                 : 1;
}

uint32_t CountSteps(const v1::JobSpec& job) {
  uint32_t steps = 0;
  for (const v1::PhaseSpec& phase : job.phases()) steps += CountSteps(phase);
  return steps;
}

double PreparedBytes(const v1::JobSpec& job, size_t workers) {
  const TargetIndex targets(job);
  double bytes = 0;
  ForEachStep(job, [&](const v1::PhaseSpec& phase) {
    if (phase.prepare().fallocate_only()) return;
    for (const std::string& name : phase.prepare().targets()) {
      const int index = targets.Find(name);
      if (index < 0) continue;
      const v1::Target& target = job.targets(index);
      const double own = static_cast<double>(target.file().size_bytes()) * target.file().count();
      bytes += own * (target.sharing() == v1::SHARING_PRIVATE ? static_cast<double>(workers) : 1);
    }
  });
  return bytes;
}

v1::JobSpec Unrolled(const v1::JobSpec& job) {
  v1::JobSpec steps = job;
  steps.clear_phases();
  ForEachStep(job, [&](const v1::PhaseSpec& phase) { *steps.add_phases() = phase; });
  return steps;
}

}  // namespace lockstep::controller
