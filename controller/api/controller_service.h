#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/limits.h"
#include "common/mutex.h"
#include "controller/analysis/comparison.h"
#include "controller/api/audit_log.h"
#include "controller/api/call_pool.h"
#include "controller/api/callers.h"
#include "controller/api/principal.h"
#include "controller/api/submissions.h"
#include "controller/fleet/fleet.h"
#include "controller/ingest/ingest_pipeline.h"
#include "controller/ingest/watchers.h"
#include "controller/runs/coordinator.h"
#include "proto/controller.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// The parts of the two gRPC services; all outlive them.
struct ServiceParts {
  uint64_t epoch = 0;
  storage::Store* store = nullptr;
  Coordinator* coordinator = nullptr;
  Fleet* fleet = nullptr;
  IngestPipeline* ingest = nullptr;
  Watchers* watchers = nullptr;
  AuditLog* audit = nullptr;
  Callers* callers = nullptr;  // null: no stream is ended because of its certificate
  // For a stream, which must drop it in OnDone().
  std::shared_ptr<void> Admission(grpc::CallbackServerContext* context) const {
    return callers == nullptr ? nullptr : callers->Add(context);
  }
};

// Requests of people and pages. Each handler checks the caller's role and the message first. Kinds
// of calls that may take long have threads of their own, so that stop and status are always
// answered at once.
class ControllerService final : public v1::Controller::CallbackService {
 public:
  explicit ControllerService(ServiceParts parts) : parts_(parts), submissions_(parts.store) {}

  // HOST:PORT of each address that listens, for GetStatus: known when the server has started.
  void SetListen(std::vector<std::string> addresses) {
    const common::MutexLock lock(&listen_mutex_);
    listen_ = std::move(addresses);
  }

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext*, const v1::SubmitRequest*,
                                   v1::SubmitReply*) override;
  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext*, const v1::PlanRequest*,
                                 v1::PlanReply*) override;
  grpc::ServerWriteReactor<v1::WatchEvent>* Watch(grpc::CallbackServerContext*,
                                                  const v1::WatchRequest*) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext*, const v1::StopRequest*,
                                 v1::StopReply*) override;
  grpc::ServerUnaryReactor* GetReport(grpc::CallbackServerContext*, const v1::ReportRequest*,
                                      v1::Report*) override;
  grpc::ServerUnaryReactor* GetSeries(grpc::CallbackServerContext*, const v1::SeriesRequest*,
                                      v1::SeriesReply*) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext*, const v1::JobRequest*,
                                   v1::JobReply*) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext*, const v1::HistoryRequest*,
                                       v1::HistoryReply*) override;
  grpc::ServerUnaryReactor* Compare(grpc::CallbackServerContext*, const v1::CompareRequest*,
                                    v1::Comparison*) override;
  grpc::ServerUnaryReactor* GetTrends(grpc::CallbackServerContext*, const v1::TrendsRequest*,
                                      v1::TrendsReply*) override;
  grpc::ServerUnaryReactor* SetLabels(grpc::CallbackServerContext*, const v1::LabelsRequest*,
                                      v1::LabelsReply*) override;
  grpc::ServerUnaryReactor* AddNote(grpc::CallbackServerContext*, const v1::NoteRequest*,
                                    v1::NoteReply*) override;
  grpc::ServerUnaryReactor* RemoveNote(grpc::CallbackServerContext*, const v1::RemoveNoteRequest*,
                                       v1::NoteReply*) override;
  grpc::ServerUnaryReactor* Prune(grpc::CallbackServerContext*, const v1::PruneRequest*,
                                  v1::PruneReply*) override;
  grpc::ServerWriteReactor<v1::HistogramsReply>* GetHistograms(
      grpc::CallbackServerContext*, const v1::HistogramsRequest*) override;
  grpc::ServerWriteReactor<v1::ArchivePart>* ExportRun(grpc::CallbackServerContext*,
                                                       const v1::ExportRequest*) override;
  grpc::ServerReadReactor<v1::ArchivePart>* ImportRun(grpc::CallbackServerContext*,
                                                      v1::ImportReply*) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const v1::StatusRequest*,
                                      v1::StatusReply*) override;
  grpc::ServerUnaryReactor* GetDevices(grpc::CallbackServerContext*, const v1::DevicesRequest*,
                                       v1::DevicesReply*) override;
  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext*, const v1::EnrollRequest*,
                                   v1::EnrollReply*) override;
  grpc::ServerUnaryReactor* Forget(grpc::CallbackServerContext*, const v1::ForgetRequest*,
                                   v1::ForgetReply*) override;
  grpc::ServerUnaryReactor* GetStoreAddress(grpc::CallbackServerContext*,
                                            const v1::StoreAddressRequest*,
                                            v1::StoreAddressReply*) override;
  grpc::ServerUnaryReactor* GetAuditLog(grpc::CallbackServerContext*, const v1::AuditRequest*,
                                        v1::AuditReply*) override;

 private:
  // Queued and in progress, without the store. UNAVAILABLE when the controller is ending.
  absl::StatusOr<std::vector<v1::RunSummary>> KnownRuns() const;
  // Find the run that a caller's text means: in progress, or else in the store.
  grpc::Status FindKnown(const std::string& text, v1::RunSummary* run) const;
  grpc::Status FindStored(const std::string& text, v1::RunSummary* run) const;
  // To those who watch the run, if it is queued or in progress.
  void ReportToWatchers(const std::string& run_id, const v1::EventReport& event) const;
  // The run that is meant to be stopped.
  grpc::Status FindStoppable(const std::string& text, v1::RunSummary* run) const;
  // The full id of a run for a question about it.
  grpc::Status Resolve(const std::string& text, std::string* run_id) const;
  // The run's report: as it was saved, if it was, or made anew, which takes longer. Only a report
  // that is made anew has series.
  enum class ReportFrom { kSaved, kSamples };
  grpc::Status FindReport(const std::string& run_id, ReportFrom from, v1::Report* report) const;
  // The run that a request asks for: checked by itself, and neither stored nor resolved.
  grpc::Status MakeRun(const Principal& caller, const v1::SubmitRequest& request,
                       measure::RunRecord* run) const;
  // Whether the fleet, the queue and the store take the run now. Resolves the runs that it names.
  grpc::Status AdmitRun(const Principal& caller, measure::RunRecord* run) const;
  grpc::Status SubmitRun(const Principal& caller, const v1::SubmitRequest& request,
                         v1::SubmitReply* reply);
  // False when the caller, or all together, have too many plans made already; else EndPlan() must
  // follow.
  bool BeginPlan(const Principal& caller);
  void EndPlan(const std::string& caller);
  // Full ids for the runs that a job names, and the limits that these measured.
  grpc::Status ResolveRuns(v1::JobSpec* job) const;
  grpc::Status ResolveComparisons(v1::JobSpec* job) const;
  grpc::Status FindLimits(v1::ObservePhase* observe) const;
  void ForgetRuns(const v1::PruneReply& pruned) const;
  // The runs of a set, oldest first.
  grpc::Status Gather(const v1::RunsOf& of, RunSet* set) const;
  // How a call that changes something stands in the audit log.
  struct Audited {
    std::string action;  // empty: the call changes nothing
    std::string details;
    // The subject of the call, asked when it is answered.
    std::function<std::string()> subject = [] { return std::string(); };
  };
  // Checks the role and the message: answered already when either is refused.
  Call* Admit(grpc::CallbackServerContext* context, Role role,
              const google::protobuf::Message& request, bool* admitted) const {
    return Admit(context, role, request, admitted, Audited());
  }
  Call* Admit(grpc::CallbackServerContext* context, Role role,
              const google::protobuf::Message& request, bool* admitted,
              const Audited& audited) const;

  const ServiceParts parts_;
  Submissions submissions_;
  common::Mutex listen_mutex_;
  std::vector<std::string> listen_ ABSL_GUARDED_BY(listen_mutex_);
  // Plans that are being made, by caller.
  common::Mutex plans_mutex_;
  std::map<std::string, int> plans_ ABSL_GUARDED_BY(plans_mutex_);
  // One pool for each duration of calls. These four: a job is checked and stored; a job is checked
  // and planned; the store is asked; a whole run is read.
  CallPool submit_{2, limits::kCallsWaiting};
  CallPool plan_{2, limits::kSlowCallsWaiting, CallPool::Pace::kInBackground};
  CallPool ask_{static_cast<int>(limits::kSlowThreads), limits::kSlowCallsWaiting};
  CallPool report_{static_cast<int>(limits::kSlowThreads), limits::kSlowCallsWaiting};
  // Parts of reports, and series: what a page asks for beside others' questions.
  CallPool page_{static_cast<int>(limits::kSlowThreads), limits::kSlowCallsWaiting};
  // Calls that last as long as their callers read, or write.
  CallPool transfer_{static_cast<int>(limits::kTransfersAtOnce), limits::kTransfersWaiting};
  // Calls that are answered at once. Declared last: it hands slow work to the others.
  CallPool quick_{static_cast<int>(limits::kQuickThreads), limits::kCallsWaiting};
};

// The workers' streams.
class WorkerGateway final : public v1::WorkerService::CallbackService {
 public:
  explicit WorkerGateway(ServiceParts parts) : parts_(parts) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* Deliver(
      grpc::CallbackServerContext* context) override;
  grpc::ServerWriteReactor<v1::WriteLogPart>* LoadWriteLog(
      grpc::CallbackServerContext* context, const v1::WriteLogRequest* request) override;

 private:
  const ServiceParts parts_;
  // When a whole fleet arms at once, only some workers load the write log at a time.
  CallPool write_log_{static_cast<int>(limits::kMaxWriteLogReads), limits::kWorkers};
  CallPool following_{static_cast<int>(limits::kMaxWriteLogReads), limits::kFollowersWaiting};
};

}  // namespace lockstep::controller
