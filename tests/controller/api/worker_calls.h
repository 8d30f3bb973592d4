#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "proto/worker.grpc.pb.h"

namespace lockstep::controller {

// A service for workers on a socket of its own, and a stub that calls it. The service outlives it.
class ServedWorkers {
 public:
  explicit ServedWorkers(grpc::Service* service) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    stub_ = v1::WorkerService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                           grpc::InsecureChannelCredentials()));
  }
  // Cuts the calls that are still open after a second.
  ~ServedWorkers() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }

  v1::WorkerService::Stub* stub() { return stub_.get(); }

  // The first answer to a first message.
  v1::ControllerMessage Say(const v1::WorkerMessage& message) {
    grpc::ClientContext context;
    auto call = stub_->Control(&context);
    call->Write(message);
    v1::ControllerMessage answer;
    call->Read(&answer);
    context.TryCancel();
    call->Finish();
    return answer;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
};

}  // namespace lockstep::controller
