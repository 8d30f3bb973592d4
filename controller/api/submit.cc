// Submit: a job becomes a run, once, however often a client whose connection breaks submits it.

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"
#include "controller/api/job_problems.h"
#include "controller/plan/settle.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSubmitWait = std::chrono::nanoseconds(limits::kSubmitNs);
constexpr auto kSubmitPause = std::chrono::milliseconds(250);

const absl::Status& StatusOf(const absl::Status& status) { return status; }
const absl::Status& StatusOf(const absl::StatusOr<bool>& result) { return result.status(); }

// Tries again until `until` as long as the store is unavailable.
template <typename Try>
auto WhileUnavailable(Clock::time_point until, const Try& attempt) {
  auto result = attempt();
  while (absl::IsUnavailable(StatusOf(result)) && Clock::now() < until) {
    std::this_thread::sleep_for(kSubmitPause);
    result = attempt();
  }
  return result;
}

// A client takes UNAVAILABLE for a broken connection and submits again, unless the status has
// details (controller.proto): gRPC itself never sets them.
grpc::Status OfStore(const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    v1::Problems problems;
    problems.add_problems()->set_message(std::string(status.message()));
    return {grpc::StatusCode::UNAVAILABLE, ToGrpc(status).error_message(),
            problems.SerializeAsString()};
  }
  // Another controller has replaced this one, and knows the run if an earlier attempt has stored
  // it. The client is to ask that one.
  if (absl::IsAborted(status)) {
    return {grpc::StatusCode::UNAVAILABLE, ToGrpc(status).error_message()};
  }
  return ToGrpc(status);
}

}  // namespace

grpc::ServerUnaryReactor* ControllerService::Submit(grpc::CallbackServerContext* context,
                                                    const v1::SubmitRequest* request,
                                                    v1::SubmitReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(
      context, Role::kSubmitter, *request, &admitted,
      {"submit", absl::StrCat("job ", request->job().name()), [reply] { return reply->run_id(); }});
  if (!admitted) return call;
  submit_.Serve(
      call, [this, principal, request, reply] { return SubmitRun(principal, *request, reply); });
  return call;
}

grpc::Status ControllerService::MakeRun(const Principal& caller, const v1::SubmitRequest& request,
                                        measure::RunRecord* run) const {
  run->job = request.job();
  const std::vector<v1::Problem> problems = SettleJob(&run->job);
  if (!problems.empty()) return InvalidJob(problems);
  if (request.source().size() > static_cast<size_t>(limits::kJobBytes) ||
      !common::IsPlainText(request.source())) {
    return InvalidField("source",
                        absl::StrCat("must be text of at most ", limits::kJobBytes, " bytes"));
  }
  if (request.owner().size() > 128 || !common::IsPlainLine(request.owner())) {
    return InvalidField("owner", "must be text of at most 128 bytes, on one line");
  }
  const std::string& key = request.idempotency_key();
  if (!key.empty() && !Submissions::IsKey(key)) {
    return InvalidField("idempotency_key", "must be 32 hexadecimal digits in lower case");
  }
  run->run_id = key.empty() ? common::NewUuid() : Submissions::RunIdOf(caller.name, key);
  run->source = request.source();
  // An authenticated caller's own name; on loopback, what the caller says.
  run->owner = caller.authenticated      ? caller.name
               : request.owner().empty() ? "local"
                                         : request.owner();
  run->confirm = request.confirm();
  run->seed = run->job.seed() != 0 ? run->job.seed() : common::RandomSeed() >> 1;
  run->state = measure::RunState::kQueued;
  return grpc::Status::OK;
}

grpc::Status ControllerService::AdmitRun(const Principal& caller, measure::RunRecord* run) const {
  if (!run->confirm.empty()) {
    const absl::Status token = parts_.coordinator->CheckTokenAge(run->confirm);
    if (!token.ok()) return InvalidField("confirm", std::string(token.message()));
  }
  // A job for hosts that are not attached would wait in the queue without a word.
  if (const absl::Status status = parts_.coordinator->CanEverRun(run->job); !status.ok()) {
    return InvalidField("hosts", std::string(status.message()));
  }
  const auto known = KnownRuns();
  if (!known.ok()) return ToGrpc(known.status());
  if (known->size() >= static_cast<size_t>(limits::kQueuedRuns)) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            absl::StrCat(known->size(), " runs are queued or in progress; no more are taken")};
  }
  const auto own = std::count_if(known->begin(), known->end(), [&](const v1::RunSummary& other) {
    return other.owner() == caller.name;
  });
  // Without certificates all callers have one name, and would share one limit.
  if (caller.authenticated && own >= limits::kQueuedRunsOfACaller) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            absl::StrCat(own, " runs of ", caller.name,
                         " are queued or in progress; no more are taken from one caller")};
  }
  const grpc::Status resolved = ResolveRuns(&run->job);
  // Nothing is stored yet, so that the client must not take the run for one that may go on.
  if (resolved.error_code() == grpc::StatusCode::UNAVAILABLE && resolved.error_details().empty()) {
    return OfStore(absl::UnavailableError(resolved.error_message()));
  }
  return resolved;
}

// A run keeps its id over all attempts to store it, so a retry after an attempt that did succeed
// adds no second run. An attempt that seemed to fail may still succeed after the caller was told
// UNAVAILABLE: Abandon() then ends the run, which nobody expects any more.
grpc::Status ControllerService::SubmitRun(const Principal& caller, const v1::SubmitRequest& request,
                                          v1::SubmitReply* reply) {
  measure::RunRecord run;
  if (const grpc::Status made = MakeRun(caller, request, &run); !made.ok()) return made;
  const auto until = Clock::now() + kSubmitWait;
  // The second of two calls at once would not find the run, and would queue it after the first has.
  const std::shared_ptr<void> turn = submissions_.Begin(run.run_id);
  if (turn == nullptr) {
    return {grpc::StatusCode::UNAVAILABLE, "an earlier call still submits this; try again"};
  }
  if (!request.idempotency_key().empty()) {
    // Before AdmitRun(), which may refuse now what it has let through: after a restart of the
    // controller the workers are not attached yet.
    const auto stored = WhileUnavailable(until, [&] { return submissions_.IsStored(run); });
    if (!stored.ok()) return OfStore(stored.status());
    if (*stored) {
      reply->set_run_id(run.run_id);
      reply->set_was_submitted_before(true);
      return grpc::Status::OK;
    }
  }
  for (const std::string& warning : Warnings(run.job)) reply->add_warnings(warning);
  if (const grpc::Status admitted = AdmitRun(caller, &run); !admitted.ok()) return admitted;
  const absl::Status queued = WhileUnavailable(until, [&] { return parts_.store->Enqueue(run); });
  if (absl::IsUnavailable(queued)) parts_.coordinator->Abandon(run, turn);
  if (!queued.ok()) return OfStore(queued);
  reply->set_run_id(run.run_id);
  const auto position = Await<uint32_t>([&](auto done) { parts_.coordinator->Enqueue(run, done); });
  if (position.ok()) reply->set_position(*position);
  return grpc::Status::OK;
}

}  // namespace lockstep::controller
