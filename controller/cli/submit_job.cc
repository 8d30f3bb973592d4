// Submits a job, once, also when the connection to its controller breaks.

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/cli/follow.h"
#include "controller/cli/ssh/certificates.h"

namespace lockstep::cli {
namespace {

// A worker of `fleet up --pki` whose certificate expires is lost to the run.
void WarnOfCertificates(const Context& context, const v1::PlanReply& plan) {
  double seconds = 0;
  for (const v1::PlannedPhase& phase : plan.phases()) seconds += phase.duration_seconds();
  const auto fleet = FleetRecords(common::DefaultStateDirectory()).Load();
  if (!fleet.ok()) return;  // of another user; `fleet list` says so
  const std::string warning =
      WarnOfExpiry(*fleet, context.controller, absl::Now(), absl::Seconds(seconds));
  if (!warning.empty()) std::cerr << "warning: " << common::Printable(warning, 1000) << "\n";
}

// Asks a person before the job overwrites foreign data. Without a terminal, the token of a plan is
// needed. Other problems of the plan are not shown here, because Submit() and the run report them.
int Confirm(const Context& context, v1::Controller::Stub* stub, const JobFile& file,
            const Submitter& by, std::string* token) {
  grpc::ClientContext call;
  v1::PlanRequest request;
  *request.mutable_job() = JobOf(file, by);
  v1::PlanReply plan;
  const grpc::Status status = stub->Plan(&call, request, &plan);
  if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) return PrintProblems(file, status);
  if (!status.ok()) return kOk;
  WarnOfCertificates(context, plan);
  if (plan.overwrites().empty()) return kOk;
  std::cerr << "this job overwrites what Lockstep did not make:\n";
  for (const std::string& what : plan.overwrites()) {
    std::cerr << "  " << common::Printable(what) << "\n";
  }
  // A script cannot have seen what the job overwrites, so it must bring the token of a plan.
  if (!IsInteractive()) {
    std::cerr << "to run it, look at `lockstep plan`, and give the plan's token: --confirm "
              << common::Printable(plan.token()) << "\n";
    return kInvalidJob;
  }
  if (!SaysYes("type yes to overwrite it: ")) return Fail("nothing was submitted");
  *token = plan.token();
  return kOk;
}

v1::Problems ProblemsOf(const grpc::Status& status) {
  v1::Problems problems;
  if (!problems.ParseFromString(status.error_details())) problems.Clear();
  return problems;
}

// The controller answers, and not enough workers are attached. After a restart they come back
// within seconds.
bool IsForLackOfWorkers(const grpc::Status& status) {
  const v1::Problems problems = ProblemsOf(status);
  return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT &&
         problems.problems_size() == 1 && problems.problems(0).path() == "hosts";
}

// Calls Submit, and calls it again with the same key as long as it is not known whether there is a
// run. The first call may also be refused by a controller whose store is unavailable: there is no
// run then (controller.proto). Later ones may not: the call before may have submitted one.
grpc::Status SubmitOnce(const Context& context, const v1::SubmitRequest& request,
                        std::unique_ptr<v1::Controller::Stub>* stub, v1::SubmitReply* reply) {
  Successors successors(context);
  for (bool is_first = true;; is_first = false) {
    grpc::ClientContext call;
    const grpc::Status status = (*stub)->Submit(&call, request, reply);
    const absl::Status said = ToAbsl(status);
    const bool is_settled = is_first
                                ? !IsControllerLost(said) || ProblemsOf(status).problems_size() > 0
                                : !IsControllerLost(said) && !IsForLackOfWorkers(status);
    if (is_settled) return status;
    auto next = successors.Next(
        said, "the job is submitted again with the same key, so that it runs once; ");
    if (next != nullptr) {
      *stub = std::move(next);
      continue;
    }
    // Either this controller has no such run, which it would have said first, or the controller has
    // ended with this command.
    if (IsForLackOfWorkers(status) || context.is_local) return status;
    return {status.error_code(),
            absl::StrCat("it is not known whether the job was submitted, because the connection to "
                         "the controller broke before the answer (",
                         status.error_message(),
                         "); lockstep history --limit 5 shows it if it was. Submit it again only "
                         "if it was not")};
  }
}

}  // namespace

v1::JobSpec JobOf(const JobFile& file, const Submitter& by) {
  v1::JobSpec job = file.job;
  if (by.store_filesystem) job.set_store_filesystem(true);
  return job;
}

int SubmitJob(const Context& context, std::unique_ptr<v1::Controller::Stub>* stub,
              const JobFile& file, const Submitter& by, std::string* run_id) {
  std::string confirm = by.confirm;
  // A token comes from a plan that the caller has already seen.
  if (confirm.empty()) {
    const int status = Confirm(context, stub->get(), file, by, &confirm);
    if (status != kOk) return status;
  }
  v1::SubmitRequest request;
  request.set_confirm(confirm);
  *request.mutable_job() = JobOf(file, by);
  // The store keeps the source, which Rerun() parses again for --set.
  request.set_source(file.source);
  request.set_owner(by.owner);
  request.set_idempotency_key(
      absl::StrFormat("%016x%016x", common::RandomSeed(), common::RandomSeed()));
  v1::SubmitReply reply;
  const grpc::Status status = SubmitOnce(context, request, stub, &reply);
  if (!status.ok()) return PrintProblems(file, status);
  for (const std::string& warning : reply.warnings()) {
    std::cerr << "warning: " << common::Printable(warning) << "\n";
  }
  if (reply.was_submitted_before()) {
    std::cerr << "the controller has the job from before the connection broke\n";
  }
  if (reply.position() > 0) {
    std::cerr << "queued behind " << reply.position() << (reply.position() == 1 ? " run" : " runs")
              << "\n";
  }
  *run_id = reply.run_id();
  return kOk;
}

}  // namespace lockstep::cli
