#include "controller/service/controller_service.h"

#include <future>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/version.h"
#include "controller/analysis/report_builder.h"
#include "controller/fleet/control_stream.h"
#include "controller/analysis/describe.h"
#include "controller/plan/loads.h"
#include "controller/plan/validate.h"
#include "controller/service/deliver_stream.h"

namespace lockstep::controller {
namespace {

constexpr int kThreads = 4;
// For the coordinator.
constexpr auto kAnswerWait = std::chrono::seconds(10);
// A store that is just being restarted is waited for.
constexpr auto kSubmitWait = std::chrono::seconds(5);
constexpr auto kSubmitPause = std::chrono::milliseconds(250);

grpc::Status ToGrpc(const absl::Status& status) {
  return status.ok() ? grpc::Status::OK : grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

grpc::Status Invalid(const std::vector<v1::Problem>& problems) {
  v1::Problems details;
  std::string text;
  for (const v1::Problem& problem : problems) {
    *details.add_problems() = problem;
    absl::StrAppend(&text, text.empty() ? "" : "; ", problem.path(), problem.path().empty() ? "" : ": ", problem.message());
  }
  return {grpc::StatusCode::INVALID_ARGUMENT, text, details.SerializeAsString()};
}

// Fills in what was left out and says what is wrong.
grpc::Status Settle(v1::JobSpec* job) {
  FillDefaults(job);
  const std::vector<v1::Problem> problems = Validate(*job);
  if (!problems.empty()) return Invalid(problems);
  ExpandCurves(job);
  return grpc::Status::OK;
}

}  // namespace

ControllerService::ControllerService(ServiceParts parts) : parts_(parts) {
  for (int i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this] {
      while (auto call = queue_.Pop()) (*call)();
    });
  }
}

ControllerService::~ControllerService() {
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
}

grpc::ServerUnaryReactor* ControllerService::Serve(grpc::CallbackServerContext* context, Role role, std::function<grpc::Status()> work) {
  auto* reactor = context->DefaultReactor();
  const grpc::Status allowed = Require(PrincipalOf(*context), role);
  if (!allowed.ok()) {
    reactor->Finish(allowed);
    return reactor;
  }
  const bool queued = queue_.Push([reactor, work = std::move(work)] { reactor->Finish(work()); });
  if (!queued) reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller is shutting down"));
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::Submit(grpc::CallbackServerContext* context, const v1::SubmitRequest* request, v1::SubmitReply* reply) {
  const Principal principal = PrincipalOf(*context);
  return Serve(context, Role::kSubmitter, [this, principal, request, reply] {
    storage::RunRecord run;
    run.job = request->job();
    if (const grpc::Status status = Settle(&run.job); !status.ok()) return status;
    if (const absl::Status status = parts_.coordinator->CanEverRun(run.job); !status.ok()) {
      v1::Problem problem;
      problem.set_path("hosts");
      problem.set_message(std::string(status.message()));
      return Invalid({problem});
    }
    run.run_id = common::NewUuid();
    run.source = request->source();
    // An authenticated caller's own name; on loopback, what the caller says.
    run.owner = principal.name != "local" ? principal.name : request->owner().empty() ? "local" : request->owner();
    run.seed = run.job.seed() != 0 ? run.job.seed() : common::RandomSeed() >> 1;
    run.state = "queued";
    const auto until = std::chrono::steady_clock::now() + kSubmitWait;
    absl::Status queued = parts_.store->Enqueue(run);
    while (absl::IsUnavailable(queued) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kSubmitPause);
      queued = parts_.store->Enqueue(run);
    }
    if (absl::IsUnavailable(queued)) parts_.coordinator->Abandon(run);
    if (!queued.ok()) return ToGrpc(queued);
    reply->set_run_id(run.run_id);
    auto position = std::make_shared<std::promise<uint32_t>>();
    parts_.coordinator->Enqueue(run, [position](uint32_t before) { position->set_value(before); });
    auto answer = position->get_future();
    if (answer.wait_for(std::chrono::seconds(5)) == std::future_status::ready) reply->set_position(answer.get());
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::Plan(grpc::CallbackServerContext* context, const v1::PlanRequest* request, v1::PlanReply* reply) {
  return Serve(context, Role::kViewer, [this, request, reply] {
    v1::JobSpec job = request->job();
    if (const grpc::Status status = Settle(&job); !status.ok()) return status;
    auto promise = std::make_shared<std::promise<v1::PlanReply>>();
    auto answer = promise->get_future();
    parts_.coordinator->Plan(job, [promise](v1::PlanReply planned) { promise->set_value(std::move(planned)); });
    if (answer.wait_for(std::chrono::seconds(40)) != std::future_status::ready) {
      return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "the workers do not answer");
    }
    *reply = answer.get();
    for (const v1::PhaseSpec& phase : job.phases()) {
      v1::PlannedPhase* planned = reply->add_phases();
      planned->set_name(phase.name());
      planned->set_kind(KindName(phase));
      const v1::RunPhase load = LoadOf(job, phase);
      planned->set_duration_seconds(static_cast<double>(load.ramp_ns() + load.duration_ns()) / 1e9);
      for (const v1::Workload& w : load.workloads()) planned->add_lines(absl::StrCat(w.name(), ": ", DescribeWorkload(w)));
    }
    return grpc::Status::OK;
  });
}

grpc::ServerWriteReactor<v1::WatchEvent>* ControllerService::Watch(grpc::CallbackServerContext* context, const v1::WatchRequest* request) {
  auto stream = WatchStream::Make(parts_.watchers);
  const grpc::Status allowed = Require(PrincipalOf(*context), Role::kViewer);
  if (!allowed.ok()) {
    stream->End(allowed);
    return stream.get();
  }
  queue_.Push([this, stream, text = request->run_id()] {
    const auto run_id = parts_.store->ResolveRun(text);
    if (!run_id.ok()) return stream->End(ToGrpc(run_id.status()));
    // First attached, then asked: nothing falls between.
    stream->Attach(*run_id);
    const auto run = parts_.store->GetRun(*run_id);
    if (!run.ok()) return stream->End(ToGrpc(run.status()));
    v1::RunSummary summary;
    summary.set_run_id(run->run_id);
    summary.set_job_name(run->job.name());
    summary.set_owner(run->owner);
    summary.set_state(run->state);
    summary.set_outcome(run->outcome);
    parts_.coordinator->Watch(*run_id, stream, summary);
  });
  return stream.get();
}

std::vector<v1::RunSummary> ControllerService::KnownRuns() const {
  auto promise = std::make_shared<std::promise<std::vector<v1::RunSummary>>>();
  auto answer = promise->get_future();
  parts_.coordinator->Runs([promise](std::vector<v1::RunSummary> runs) { promise->set_value(std::move(runs)); });
  return answer.wait_for(kAnswerWait) == std::future_status::ready ? answer.get() : std::vector<v1::RunSummary>();
}

// A run in progress is found without the store, which may be away.
grpc::Status ControllerService::FindRun(const std::string& text, std::string* run_id, std::string* owner) const {
  std::vector<v1::RunSummary> matches;
  for (v1::RunSummary& run : KnownRuns()) {
    if (!text.empty() && run.run_id().rfind(text, 0) == 0) matches.push_back(std::move(run));
  }
  if (matches.size() == 1) {
    *run_id = matches[0].run_id();
    *owner = matches[0].owner();
    return grpc::Status::OK;
  }
  const auto found = parts_.store->ResolveRun(text);
  if (!found.ok()) return ToGrpc(found.status());
  const auto run = parts_.store->GetRun(*found);
  if (!run.ok()) return ToGrpc(run.status());
  *run_id = *found;
  *owner = run->owner;
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* ControllerService::Stop(grpc::CallbackServerContext* context, const v1::StopRequest* request, v1::StopReply* reply) {
  const Principal principal = PrincipalOf(*context);
  return Serve(context, Role::kSubmitter, [this, principal, request, reply] {
    std::string run_id;
    std::string owner;
    if (const grpc::Status found = FindRun(request->run_id(), &run_id, &owner); !found.ok()) return found;
    if (principal.role != Role::kAdmin && owner != principal.name) {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, absl::StrCat("the run is ", owner, "'s; only its owner or an admin stops it"));
    }
    auto promise = std::make_shared<std::promise<absl::StatusOr<std::string>>>();
    auto answer = promise->get_future();
    const std::string reason = absl::StrCat("stopped by ", principal.name, request->now() ? " (now)" : "", request->reason().empty() ? "" : ": ", request->reason());
    parts_.coordinator->StopRun(run_id, request->now(), reason, [promise](absl::StatusOr<std::string> state) { promise->set_value(std::move(state)); });
    if (answer.wait_for(kAnswerWait) != std::future_status::ready) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller is shutting down");
    }
    const auto state = answer.get();
    if (!state.ok()) return ToGrpc(state.status());
    reply->set_state(*state);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::GetReport(grpc::CallbackServerContext* context, const v1::ReportRequest* request, v1::Report* reply) {
  return Serve(context, Role::kViewer, [this, request, reply] {
    const auto run_id = parts_.store->ResolveRun(request->run_id());
    if (!run_id.ok()) return ToGrpc(run_id.status());
    auto data = parts_.store->LoadRun(*run_id);
    if (!data.ok()) return ToGrpc(data.status());
    *reply = BuildReport(*data);
    reply->set_store(parts_.store->Describe());
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::GetJob(grpc::CallbackServerContext* context, const v1::JobRequest* request, v1::JobReply* reply) {
  return Serve(context, Role::kViewer, [this, request, reply] {
    const auto run_id = parts_.store->ResolveRun(request->run_id());
    if (!run_id.ok()) return ToGrpc(run_id.status());
    auto run = parts_.store->GetRun(*run_id);
    if (!run.ok()) return ToGrpc(run.status());
    *reply->mutable_job() = run->job;
    reply->set_source(run->source);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::History(grpc::CallbackServerContext* context, const v1::HistoryRequest* request, v1::HistoryReply* reply) {
  return Serve(context, Role::kViewer, [this, request, reply] {
    auto history = parts_.store->History(*request);
    if (!history.ok()) return ToGrpc(history.status());
    for (v1::RunSummary& run : *history) *reply->add_runs() = std::move(run);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::Status(grpc::CallbackServerContext* context, const v1::StatusRequest*, v1::StatusReply* reply) {
  const Principal principal = PrincipalOf(*context);
  return Serve(context, Role::kViewer, [this, principal, reply] {
    reply->set_version(common::kSoftwareVersion);
    reply->set_epoch(parts_.epoch);
    reply->set_store(parts_.store->Describe());
    *reply->mutable_store_state() = parts_.ingest->state();
    reply->set_principal(principal.name);
    reply->set_role(RoleName(principal.role));
    auto promise = std::make_shared<std::promise<std::map<std::string, std::string>>>();
    auto answer = promise->get_future();
    parts_.coordinator->Leases([promise](std::map<std::string, std::string> leases) { promise->set_value(std::move(leases)); });
    if (answer.wait_for(kAnswerWait) != std::future_status::ready) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller is shutting down");
    }
    const std::map<std::string, std::string> leases = answer.get();
    for (v1::AttachedWorker& worker : parts_.fleet->List()) {
      const auto lease = leases.find(worker.hello().worker_id());
      if (lease != leases.end()) worker.set_run_id(lease->second);
      *reply->add_workers() = std::move(worker);
    }
    const auto without_the_store = [&] {
      for (v1::RunSummary& run : KnownRuns()) *reply->add_runs() = std::move(run);
      return grpc::Status::OK;
    };
    if (reply->store_state().away()) return without_the_store();
    v1::HistoryRequest request;
    request.set_limit(100);
    auto history = parts_.store->History(request);
    if (!history.ok()) {
      reply->mutable_store_state()->set_away(true);
      reply->mutable_store_state()->set_reason(std::string(history.status().message()));
      return without_the_store();
    }
    for (v1::RunSummary& run : *history) {
      if (run.state() == "queued" || run.state() == "running") *reply->add_runs() = std::move(run);
    }
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* ControllerService::GetStoreAddress(grpc::CallbackServerContext* context, const v1::StoreAddressRequest*, v1::StoreAddressReply* reply) {
  return Serve(context, Role::kViewer, [this, reply] {
    reply->set_conninfo(parts_.store->ReaderConninfo());
    return grpc::Status::OK;
  });
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* WorkerGateway::Control(grpc::CallbackServerContext* context) {
  const grpc::Status allowed = Require(PrincipalOf(*context), Role::kWorker);
  if (!allowed.ok()) return new RefusedControlStream(allowed);
  return new ControlStream(parts_.fleet, context);
}

grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* WorkerGateway::Deliver(grpc::CallbackServerContext* context) {
  const grpc::Status allowed = Require(PrincipalOf(*context), Role::kWorker);
  if (!allowed.ok()) return new RefusedDeliverStream(allowed);
  return DeliverStream::Make(parts_.fleet, parts_.ingest);
}

}  // namespace lockstep::controller
