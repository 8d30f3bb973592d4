#include "controller/api/archive_check.h"

#include "absl/strings/str_cat.h"
#include "controller/plan/loads.h"
#include "controller/plan/validate.h"
#include "controller/runs/reports.h"

namespace lockstep::controller {
namespace {

absl::Status Broken(const std::string& words) {
  return absl::InvalidArgumentError(absl::StrCat("the archive is broken: ", words));
}

// Results name workloads by an index into the phase's load, which an archive may set to anything.
uint32_t WorkloadsOf(const measure::RunData& data, const measure::PhaseRecord& phase) {
  return static_cast<uint32_t>(LoadOf(data.run.job, phase.spec).workloads_size());
}

// Whether results are of workloads that their phases have.
absl::Status CheckWorkloads(const measure::RunData& data) {
  for (const measure::PhaseData& phase : data.phases) {
    const uint32_t workloads = WorkloadsOf(data, phase.phase);
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        if (result.workload() >= workloads) return Broken("a result is of no workload");
      }
      for (const v1::ThreadResult& thread : worker.result.threads()) {
        if (thread.workload() >= workloads) return Broken("a thread is of no workload");
      }
    }
  }
  return absl::OkStatus();
}

// Hands intervals on while their workloads are those of the phase. Intervals are checked as they
// are read, since those of a whole run need not fit in memory.
TakeInterval Checked(uint32_t workloads, const TakeInterval& take) {
  return [workloads, take](uint32_t worker, const v1::IntervalSample& sample) {
    for (const v1::WorkloadSample& workload : sample.workloads()) {
      if (workload.workload() >= workloads) return Broken("an interval is of no workload");
    }
    return take(worker, sample);
  };
}

absl::Status CheckJob(v1::JobSpec job) {
  if (const auto beyond = CheckLimits(job); !beyond.empty()) {
    return Broken(absl::StrCat("its job's ", beyond[0].path(), " ", beyond[0].message()));
  }
  FillJob(&job);
  if (const auto problems = Validate(job); !problems.empty()) {
    return Broken(absl::StrCat("its job's ", problems[0].path(), " ", problems[0].message()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArchivedRun(const measure::RunData& data,
                              const storage::HistoryStore::ReadStored& read) {
  if (absl::Status status = CheckJob(data.run.job); !status.ok()) return status;
  for (const measure::RunWorker& worker : data.workers) {
    for (const v1::TargetInspection& target : worker.inspection.targets()) {
      if (target.target() >= static_cast<uint32_t>(data.run.job.targets_size())) {
        return Broken("a worker has a target that its job has not");
      }
    }
  }
  for (const measure::PhaseData& phase : data.phases) {
    if (phase.phase.job_phase >= static_cast<uint32_t>(data.run.job.phases_size()) ||
        phase.phase.interval_ns <= 0 || phase.phase.ramp_ns < 0) {
      return Broken(absl::StrCat("phase ", phase.phase.phase, " is none of its job"));
    }
    // The spec of a phase has a row of its own in the archive, which need not agree with the job
    // that was checked above.
    v1::JobSpec alone = data.run.job;
    alone.clear_phases();
    *alone.add_phases() = phase.phase.spec;
    // Only the limits are checked: Validate() would refuse a phase that refers to another one,
    // which this job of one phase lacks.
    if (const auto beyond = CheckLimits(alone); !beyond.empty()) {
      return Broken(absl::StrCat("phase ", phase.phase.phase, "'s ", beyond[0].path(), " ",
                                 beyond[0].message()));
    }
  }
  if (absl::Status status = CheckWorkloads(data); !status.ok()) return status;
  // Making the report is the last check: each later reader of the run does the same with the same
  // rows. The report itself is dropped.
  return BuildReport(
             data,
             [&](const measure::PhaseRecord& phase, WithIntervals with, const TakeInterval& take) {
               return read(IdOf(data.run.run_id, phase), DetailOf(with),
                           Checked(WorkloadsOf(data, phase), take));
             })
      .status();
}

}  // namespace lockstep::controller
