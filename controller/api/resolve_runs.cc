// The runs that a job names: their ids, and what is taken from them.

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "controller/analysis/measured_limits.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"
#include "controller/api/job_problems.h"
#include "controller/plan/copy_rules.h"

namespace lockstep::controller {

grpc::Status ControllerService::FindLimits(v1::ObservePhase* observe) const {
  std::string run_id;
  if (const grpc::Status found = Resolve(observe->compare_with(), &run_id); !found.ok()) {
    return found;
  }
  const auto refuse = [&](const std::string& reason) {
    return grpc::Status(
        grpc::StatusCode::FAILED_PRECONDITION,
        absl::StrCat("nothing can be compared with run ", run_id.substr(0, 8), ": ", reason));
  };
  const auto run = parts_.store->GetRun(run_id);
  if (!run.ok()) return ToGrpc(run.status());
  if (run->state != measure::RunState::kDone) {
    return refuse(absl::StrCat("it is ", Text(run->state), "; name a run that is done"));
  }
  v1::Report report;
  if (const grpc::Status found = FindReport(run_id, ReportFrom::kSaved, &report); !found.ok()) {
    return found;
  }
  if (report.run().synthetic())
    return refuse("its workers were synthetic: its figures are made up");
  const auto limits = LimitsOf(report);
  if (!limits.ok()) return refuse(std::string(limits.status().message()));
  observe->set_compare_with(run_id);
  observe->mutable_limits()->Assign(limits->begin(), limits->end());
  return grpc::Status::OK;
}

grpc::Status ControllerService::ResolveComparisons(v1::JobSpec* job) const {
  std::map<std::string, v1::ObservePhase> known;  // by the run, as the job names it
  int taken = 0;
  for (int p = 0; p < job->phases_size(); ++p) {
    if (!job->phases(p).has_observe()) continue;
    v1::ObservePhase* observe = job->mutable_phases(p)->mutable_observe();
    // Only what the store has counts. A caller could write limits that nobody measured.
    observe->clear_limits();
    if (observe->compare_with().empty()) continue;
    const std::string path = absl::StrCat("phases[", p, "].observe.compare_with");
    const auto [found, is_new] = known.emplace(observe->compare_with(), *observe);
    if (known.size() > static_cast<size_t>(limits::kMeasuredRuns)) {
      return InvalidField(path, absl::StrCat("is one run too many: a job is compared with at most ",
                                             limits::kMeasuredRuns));
    }
    if (is_new) {
      const grpc::Status status = FindLimits(&found->second);
      // A store that is unavailable is no fault of the job.
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return status;
      if (!status.ok()) return InvalidField(path, status.error_message());
    }
    // The limits are kept with the job. The report says the same when the other run has been
    // pruned, and in another store.
    observe->set_compare_with(found->second.compare_with());
    *observe->mutable_limits() = found->second.limits();
    taken += observe->limits_size();
    if (taken > limits::kMeasuredLimits) {
      return InvalidField(path, absl::StrCat("brings ", taken, " limits of devices into the job, ",
                                             "which may have ", limits::kMeasuredLimits,
                                             "; compare fewer phases, or with other runs"));
    }
  }
  return grpc::Status::OK;
}

grpc::Status ControllerService::ResolveRuns(v1::JobSpec* job) const {
  if (grpc::Status compared = ResolveComparisons(job); !compared.ok()) return compared;
  for (int p = 0; p < job->phases_size(); ++p) {
    // The full id is stored with the job. `last` or the start of an id may mean another run by the
    // time the phase begins.
    if (job->phases(p).verify().of_run().empty()) continue;
    v1::VerifyPhase* verify = job->mutable_phases(p)->mutable_verify();
    std::string run_id;
    const grpc::Status found = Resolve(verify->of_run(), &run_id);
    if (!found.ok()) {
      return InvalidField(absl::StrCat("phases[", p, "].verify.of_run"), found.error_message());
    }
    verify->set_of_run(run_id);
    const auto run = parts_.store->GetRun(run_id);
    if (!run.ok()) return ToGrpc(run.status());
    // A block that the run has copied names the source, and would be found misplaced.
    HeaderOwners owners;
    for (const v1::PhaseSpec& phase : run->job.phases()) owners.Check(phase, [](auto&&...) {});
    grpc::Status copied;
    owners.Check(job->phases(p), [&](const std::string& field, const std::string& problem) {
      copied = InvalidField(absl::StrCat("phases[", p, "].", field),
                            absl::StrCat("in run ", run_id.substr(0, 8), " ", problem));
    });
    if (!copied.ok()) return copied;
  }
  return grpc::Status::OK;
}

}  // namespace lockstep::controller
