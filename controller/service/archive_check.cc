#include "controller/service/archive_check.h"

#include "absl/strings/str_cat.h"
#include "controller/plan/validate.h"
#include "controller/service/reports.h"

namespace lockstep::controller {

absl::Status CheckArchivedRun(const measure::RunData& data,
                              const storage::Store::ReadStored& read) {
  const auto broken = [](const std::string& words) {
    return absl::InvalidArgumentError(absl::StrCat("the archive is broken: ", words));
  };
  const auto check_job = [&](v1::JobSpec job) {
    if (const auto beyond = CheckLimits(job); !beyond.empty()) {
      return broken(absl::StrCat("its job's ", beyond[0].path(), " ", beyond[0].message()));
    }
    FillJob(&job);
    if (const auto problems = Validate(job); !problems.empty()) {
      return broken(absl::StrCat("its job's ", problems[0].path(), " ", problems[0].message()));
    }
    return absl::OkStatus();
  };
  if (absl::Status status = check_job(data.run.job); !status.ok()) return status;
  for (const measure::RunWorker& worker : data.workers) {
    for (const v1::TargetInspection& target : worker.inspection.targets()) {
      if (target.target() >= static_cast<uint32_t>(data.run.job.targets_size())) {
        return broken("a worker has a target that its job has not");
      }
    }
  }
  for (const measure::PhaseData& phase : data.phases) {
    if (phase.phase.job_phase >= static_cast<uint32_t>(data.run.job.phases_size()) ||
        phase.phase.interval_ns <= 0 || phase.phase.ramp_ns < 0) {
      return broken(absl::StrCat("phase ", phase.phase.phase, " is none of its job"));
    }
    v1::JobSpec alone = data.run.job;
    alone.clear_phases();
    *alone.add_phases() = phase.phase.spec;
    // What a phase refers to may lie in others.
    if (const auto beyond = CheckLimits(alone); !beyond.empty()) {
      return broken(absl::StrCat("phase ", phase.phase.phase, "'s ", beyond[0].path(), " ",
                                 beyond[0].message()));
    }
  }
  return BuildReport(
             data,
             [&](const measure::PhaseRecord& phase, WithIntervals with, const TakeInterval& take) {
               return read(IdOf(data.run.run_id, phase), DetailOf(with), take);
             })
      .status();
}

}  // namespace lockstep::controller
