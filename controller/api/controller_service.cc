#include "controller/api/controller_service.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "common/version.h"
#include "controller/analysis/describe.h"
#include "controller/api/await.h"
#include "controller/api/deliver_stream.h"
#include "controller/api/job_problems.h"
#include "controller/fleet/control_stream.h"
#include "controller/plan/environments.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/settle.h"
#include "controller/plan/validate.h"
#include "proto/fields.h"
#include "proto/protocol_version.h"

namespace lockstep::controller {
namespace {

// The steps that the job becomes, in the words of a plan.
void DescribePhases(const v1::JobSpec& job, v1::PlanReply* reply) {
  const TargetIndex targets(job);
  ForEachStep(job, [&](const v1::PhaseSpec& phase) {
    v1::PlannedPhase* line = reply->add_phases();
    line->set_name(phase.name());
    line->set_kind(KindName(phase));
    const v1::RunPhase load = LoadOf(job, phase);
    line->set_duration_seconds(static_cast<double>(load.ramp_ns() + load.duration_ns()) / 1e9);
    line->set_ramp_seconds(static_cast<double>(load.ramp_ns()) / 1e9);
    if (const std::string settings = DescribeEnvironment(load.environment()); !settings.empty()) {
      line->add_lines(absl::StrCat("with ", settings, ", restored afterwards"));
    }
    if (phase.has_observe()) {
      line->add_lines(absl::StrCat("samples ",
                                   phase.observe().devices().empty()
                                       ? "the devices that each worker may observe"
                                       : absl::StrJoin(phase.observe().devices(), ", "),
                                   ", and the hosts; opens no device and writes nothing"));
      if (!phase.observe().limits().empty()) {
        line->add_lines(absl::StrCat("compares them with what run ",
                                     phase.observe().compare_with().substr(0, 8), " measured"));
      }
    }
    for (const v1::Workload& w : load.workloads()) {
      line->add_lines(absl::StrCat(w.name(), ": ", DescribeWorkload(w)));
    }
    for (const std::string& name : phase.prepare().targets()) {
      const int index = targets.Find(name);
      if (index < 0) continue;
      const v1::Target& target = job.targets(index);
      line->add_lines(
          absl::StrCat(name, ": ", target.file().count(),
                       target.file().count() == 1 ? " file of " : " files of ",
                       common::FormatSize(static_cast<double>(target.file().size_bytes())),
                       target.sharing() == v1::SHARING_PRIVATE ? " on each host" : ""));
    }
  });
}

}  // namespace

Call* ControllerService::Admit(grpc::CallbackServerContext* context, Role role,
                               const google::protobuf::Message& request, bool* admitted,
                               const Audited& audited) const {
  auto* call = new Call;
  const std::string name = request.GetDescriptor()->name();  // StopRequest
  grpc::Status refused = parts_.audit->Require(
      *context, role,
      audited.action.empty() ? name.substr(0, name.rfind("Request")) : audited.action);
  // Require() has recorded a refusal by role already. From here on the entry is written with the
  // answer, whichever check or thread gives it.
  if (refused.ok() && !audited.action.empty()) {
    v1::AuditEntry entry = AuditLog::EntryOf(*context, PrincipalOf(*context), audited.action);
    entry.set_details(audited.details);
    call->OnAnswer(
        // Some subjects are known only from the reply: a new run has no id before it is queued.
        // gRPC frees the reply after Finish(), and this runs before.
        [log = parts_.audit, entry, subject = audited.subject](const grpc::Status& answer) mutable {
          entry.set_subject(subject());
          log->Add(std::move(entry), answer);
        });
  }
  // A job is left to SettleJob(), which reports all its problems with their paths, not the first
  // one alone.
  if (refused.ok() && request.GetDescriptor()->FindFieldByName("job") == nullptr) {
    if (const std::string wrong = v1::FirstProblem(request); !wrong.empty()) {
      refused = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, wrong);
    }
  }
  *admitted = refused.ok();
  if (!refused.ok()) call->Answer(refused);
  return call;
}

bool ControllerService::BeginPlan(const Principal& caller) {
  const common::MutexLock lock(&plans_mutex_);
  int all = 0;
  for (const auto& [name, count] : plans_) all += count;
  if (all >= limits::kPlansAtOnce) return false;
  // Without certificates all callers have one name.
  int& own = plans_[caller.name];
  if (caller.authenticated && own >= limits::kPlansOfACaller) return false;
  ++own;
  return true;
}

void ControllerService::EndPlan(const std::string& caller) {
  const common::MutexLock lock(&plans_mutex_);
  const auto found = plans_.find(caller);
  // An entry for each caller that has ever made a plan would grow without end.
  if (--found->second == 0) plans_.erase(found);
}

grpc::ServerUnaryReactor* ControllerService::Plan(grpc::CallbackServerContext* context,
                                                  const v1::PlanRequest* request,
                                                  v1::PlanReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kSubmitter, *request, &admitted);
  if (!admitted) return call;
  const Principal principal = PrincipalOf(*context);
  const std::string caller = principal.name;
  if (!BeginPlan(principal)) {
    call->Answer(grpc::Status(
        grpc::StatusCode::RESOURCE_EXHAUSTED,
        absl::StrCat("too many plans are being made (at most ", limits::kPlansOfACaller,
                     " of one caller, ", limits::kPlansAtOnce, " in all); try again")));
    return call;
  }
  // The place is given back when the last owner of the answer is gone. This covers an answer, a
  // refusal and a coordinator that drops its queries.
  const std::shared_ptr<Answer> answer(new Answer(call), [this, caller](Answer* a) {
    EndPlan(caller);
    delete a;
  });
  const bool taken = plan_.Run([this, call, answer, request, reply] {
    // A plan asks every worker for an inspection. Nobody waits for this one any more.
    if (call->abandoned()) return;
    auto job = std::make_shared<v1::JobSpec>(request->job());
    const std::vector<v1::Problem> problems = SettleJob(job.get());
    if (!problems.empty()) return answer->Give(InvalidJob(problems));
    if (const grpc::Status known = ResolveRuns(job.get()); !known.ok()) return answer->Give(known);
    // The description is made on this thread. The callback below runs on the coordinator's thread,
    // where every run waits for it.
    auto phases = std::make_shared<v1::PlanReply>();
    DescribePhases(*job, phases.get());
    for (const std::string& warning : Warnings(*job)) phases->add_warnings(warning);
    parts_.coordinator->Plan(job, [answer, reply, phases](v1::PlanReply planned) {
      *reply = std::move(planned);
      reply->mutable_warnings()->MergeFrom(phases->warnings());
      *reply->mutable_phases() = std::move(*phases->mutable_phases());
      answer->Give(grpc::Status::OK);
    });
  });
  if (!taken) {
    answer->Give(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                              "too many calls wait for an answer; try again"));
  }
  return call;
}

grpc::ServerWriteReactor<v1::WatchEvent>* ControllerService::Watch(
    grpc::CallbackServerContext* context, const v1::WatchRequest* request) {
  auto stream = WatchStream::Make(parts_.watchers, request->all_hosts(), parts_.Admission(context));
  if (request->latencies()) stream->IncludeLatencies();
  grpc::Status refused = parts_.audit->Require(*context, Role::kViewer, "Watch");
  if (refused.ok()) {
    if (const std::string wrong = v1::FirstProblem(*request); !wrong.empty()) {
      refused = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, wrong);
    }
  }
  if (refused.ok() && parts_.watchers->count() >= static_cast<size_t>(limits::kWatchersAtOnce)) {
    refused = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                           absl::StrCat(limits::kWatchersAtOnce, " callers watch already"));
  }
  if (!refused.ok()) {
    stream->End(refused);
    return stream.get();
  }
  std::optional<uint64_t> after;
  if (request->from_begin()) after = request->after();
  const bool taken = ask_.Run([this, stream, after, text = request->run_id()] {
    std::string run_id;
    if (const grpc::Status found = Resolve(text, &run_id); !found.ok()) return stream->End(found);
    // The stream attaches before the store is queried. In the opposite order, events between the
    // query and the attachment would be lost.
    stream->Attach(run_id, after);
    const auto run = parts_.store->GetRun(run_id);
    if (!run.ok()) return stream->End(ToGrpc(run.status()));
    v1::RunSummary summary;
    summary.set_run_id(run->run_id);
    summary.set_job_name(run->job.name());
    summary.set_owner(run->owner);
    summary.set_state(Text(run->state));
    summary.set_outcome(run->outcome);
    parts_.coordinator->Watch(run_id, stream, summary);
  });
  if (!taken) {
    stream->End(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "too many calls wait for an answer; try again"));
  }
  return stream.get();
}

grpc::ServerUnaryReactor* ControllerService::Stop(grpc::CallbackServerContext* context,
                                                  const v1::StopRequest* request,
                                                  v1::StopReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(
      context, Role::kSubmitter, *request, &admitted,
      {"stop",
       absl::StrCat(request->phase_only() ? "the phase only" : "the run",
                    request->now() ? ", now" : "", request->reason().empty() ? "" : ": ",
                    request->reason()),
       [request, reply] { return reply->run_id().empty() ? request->run_id() : reply->run_id(); }});
  if (!admitted) return call;
  const auto answer = std::make_shared<Answer>(call);
  const auto end = [this, principal, request, reply, answer](const v1::RunSummary& run) {
    if (principal.role != Role::kAdmin && run.owner() != principal.name) {
      return answer->Give(grpc::Status(
          grpc::StatusCode::PERMISSION_DENIED,
          absl::StrCat("the run is ", run.owner(), "'s; only its owner or an admin stops it")));
    }
    const std::string reason = absl::StrCat(
        request->phase_only() ? "the phase is ended by " : "stopped by ", principal.name,
        request->now() ? " (now)" : "", request->reason().empty() ? "" : ": ", request->reason());
    const auto done = [reply, answer, run](const absl::StatusOr<v1::StopReply>& stopped) {
      if (!stopped.ok()) return answer->Give(ToGrpc(stopped.status()));
      *reply = *stopped;
      reply->set_run_id(run.run_id());
      reply->set_job_name(run.job_name());
      answer->Give(grpc::Status::OK);
    };
    if (!request->phase_only()) {
      return parts_.coordinator->StopRun(
          run.run_id(), request->now() ? Cleanup::kSkip : Cleanup::kRun, reason, done);
    }
    parts_.coordinator->EndLoad(run.run_id(), reason, [done](const absl::Status& ended) {
      v1::StopReply ending;
      ending.set_outcome(v1::StopReply::OUTCOME_ENDING_PHASE);
      ended.ok() ? done(ending) : done(ended);
    });
  };
  const grpc::Status busy(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "too many calls wait for an answer; try again");
  const bool taken = quick_.Run([this, request, end, answer, busy] {
    v1::RunSummary run;
    if (const grpc::Status found = FindStoppable(request->run_id(), &run); !found.ok()) {
      return answer->Give(found);
    }
    if (!run.run_id().empty()) return end(run);
    // The run has ended or never existed, which only the store can tell. The store may be slow, so
    // the query moves to other threads and no other stop waits for it.
    const bool asked = ask_.Run([this, request, end, answer] {
      v1::RunSummary ended;
      const grpc::Status found = FindStored(request->run_id(), &ended);
      found.ok() ? end(ended) : answer->Give(found);
    });
    if (!asked) answer->Give(busy);
  });
  if (!taken) answer->Give(busy);
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetJob(grpc::CallbackServerContext* context,
                                                    const v1::JobRequest* request,
                                                    v1::JobReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  ask_.Serve(call, [this, request, reply] {
    std::string run_id;
    if (const grpc::Status found = Resolve(request->run_id(), &run_id); !found.ok()) return found;
    auto run = parts_.store->GetRun(run_id);
    if (!run.ok()) return ToGrpc(run.status());
    *reply->mutable_job() = run->job;
    reply->set_source(run->source);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetStatus(grpc::CallbackServerContext* context,
                                                       const v1::StatusRequest* request,
                                                       v1::StatusReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  quick_.Serve(call, [this, principal, reply] {
    reply->set_version(common::kSoftwareVersion);
    const v1::ProtocolOffer own = v1::OwnProtocol();
    reply->mutable_protocol()->set_lowest(own.lowest);
    reply->mutable_protocol()->set_highest(own.highest);
    for (const int number : own.features) {
      reply->mutable_protocol()->add_features(static_cast<v1::ProtocolFeature>(number));
    }
    reply->set_epoch(parts_.epoch);
    reply->set_store(parts_.store->Describe());
    {
      const common::MutexLock lock(&listen_mutex_);
      reply->mutable_listen()->Assign(listen_.begin(), listen_.end());
    }
    *reply->mutable_store_state() = parts_.ingest->state();
    reply->set_principal(principal.name);
    reply->set_role(RoleName(principal.role));
    if (parts_.callers != nullptr) parts_.callers->Describe(reply);
    const auto leases = Await<std::map<std::string, std::string>>(
        [&](auto done) { parts_.coordinator->Leases(done); });
    if (!leases.ok()) return ToGrpc(leases.status());
    for (v1::AttachedWorker& worker : parts_.fleet->List()) {
      const auto lease = leases->find(worker.hello().worker_id());
      if (lease != leases->end()) worker.set_run_id(lease->second);
      // GetDevices() has them. In a large fleet they would be most of this reply.
      worker.mutable_hello()->clear_devices();
      // The worker's ids and its key stay between it and the controller: every viewer may read this
      // reply.
      worker.mutable_hello()->clear_worker_id();
      worker.mutable_hello()->clear_instance_id();
      worker.mutable_hello()->clear_mark_key();
      worker.mutable_hello()->mutable_host()->clear_host_id();
      *reply->add_workers() = std::move(worker);
    }
    auto runs = KnownRuns();
    if (!runs.ok()) return ToGrpc(runs.status());
    for (v1::RunSummary& run : *runs) *reply->add_runs() = std::move(run);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetStoreAddress(grpc::CallbackServerContext* context,
                                                             const v1::StoreAddressRequest* request,
                                                             v1::StoreAddressReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  quick_.Serve(call, [this, reply] {
    // Viewers get the reading role's connection only. The controller's own would let them change
    // the store.
    reply->set_conninfo(parts_.store->ReaderConninfo());
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetAuditLog(grpc::CallbackServerContext* context,
                                                         const v1::AuditRequest* request,
                                                         v1::AuditReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kAdmin, *request, &admitted);
  if (!admitted) return call;
  ask_.Serve(call, [this, request, reply] {
    auto entries = parts_.store->Audit(*request);
    if (!entries.ok()) return ToGrpc(entries.status());
    *reply = *std::move(entries);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* WorkerGateway::Control(
    grpc::CallbackServerContext* context) {
  const grpc::Status allowed = parts_.audit->Require(*context, Role::kWorker, "Control");
  if (!allowed.ok()) return new RefusedControlStream(allowed);
  const auto certificate = CertificateOf(*context);
  return new ControlStream(
      parts_.fleet, context,
      {PrincipalOf(*context).certificate(), certificate.ok() ? *certificate : std::nullopt,
       parts_.Admission(context)});
}

grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* WorkerGateway::Deliver(
    grpc::CallbackServerContext* context) {
  const grpc::Status allowed = parts_.audit->Require(*context, Role::kWorker, "Deliver");
  if (!allowed.ok()) return new RefusedDeliverStream(allowed);
  return DeliverStream::Make(parts_.fleet, parts_.ingest, PrincipalOf(*context).certificate(),
                             parts_.Admission(context));
}

}  // namespace lockstep::controller
