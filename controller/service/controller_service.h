#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/queue.h"
#include "controller/fleet/fleet.h"
#include "controller/service/coordinator.h"
#include "controller/service/ingest_pipeline.h"
#include "controller/service/principal.h"
#include "controller/service/watchers.h"
#include "proto/controller.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// What the two gRPC services are made of; all outlive them.
struct ServiceParts {
  uint64_t epoch = 0;
  storage::Store* store = nullptr;
  Coordinator* coordinator = nullptr;
  Fleet* fleet = nullptr;
  IngestPipeline* ingest = nullptr;
  Watchers* watchers = nullptr;
};

// Requests of people and pages. Each handler checks the caller's role first; what asks the store runs on a few
// threads of this object's own.
class ControllerService final : public v1::Controller::CallbackService {
 public:
  explicit ControllerService(ServiceParts parts);
  ~ControllerService() override;

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext*, const v1::SubmitRequest*, v1::SubmitReply*) override;
  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext*, const v1::PlanRequest*, v1::PlanReply*) override;
  grpc::ServerWriteReactor<v1::WatchEvent>* Watch(grpc::CallbackServerContext*, const v1::WatchRequest*) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext*, const v1::StopRequest*, v1::StopReply*) override;
  grpc::ServerUnaryReactor* GetReport(grpc::CallbackServerContext*, const v1::ReportRequest*, v1::Report*) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext*, const v1::JobRequest*, v1::JobReply*) override;
  grpc::ServerUnaryReactor* History(grpc::CallbackServerContext*, const v1::HistoryRequest*, v1::HistoryReply*) override;
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext*, const v1::StatusRequest*, v1::StatusReply*) override;
  grpc::ServerUnaryReactor* GetStoreAddress(grpc::CallbackServerContext*, const v1::StoreAddressRequest*, v1::StoreAddressReply*) override;

 private:
  std::vector<v1::RunSummary> KnownRuns() const;
  grpc::Status FindRun(const std::string& text, std::string* run_id, std::string* owner) const;
  // Checks the role, then runs `work` on a thread of the pool and finishes with its status.
  grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, Role role, std::function<grpc::Status()> work);

  const ServiceParts parts_;
  common::Queue<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
};

// The workers' streams.
class WorkerGateway final : public v1::WorkerService::CallbackService {
 public:
  explicit WorkerGateway(ServiceParts parts) : parts_(parts) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* Deliver(grpc::CallbackServerContext* context) override;

 private:
  const ServiceParts parts_;
};

}  // namespace lockstep::controller
