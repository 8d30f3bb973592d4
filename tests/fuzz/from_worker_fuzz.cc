// Messages of a worker, or of somebody who says so: into the real streams, over a socket. Messages
// are separated by their lengths (two bytes, little endian); a first byte `c` means Control, `d`
// Deliver, `i` an inspection for the planner.

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/api/deliver_stream.h"
#include "controller/fleet/control_stream.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/selection.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/worker.grpc.pb.h"
#include "tests/fakes/memory_spool.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

class Gateway final : public v1::WorkerService::CallbackService {
 public:
  Gateway(Fleet* fleet, IngestPipeline* ingest) : fleet_(fleet), ingest_(ingest) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(
      grpc::CallbackServerContext* context) override {
    return new ControlStream(fleet_, context, {});
  }
  grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* Deliver(
      grpc::CallbackServerContext*) override {
    return DeliverStream::Make(fleet_, ingest_, "");
  }

 private:
  Fleet* fleet_;
  IngestPipeline* ingest_;
};

v1::PhaseId Phase() {
  v1::PhaseId phase;
  phase.set_run_id("00000000-0000-4000-8000-000000000001");
  phase.set_attempt(1);
  return phase;
}

// One controller for all inputs. Never ended: the process is.
struct World {
  World()
      : fleet({1, "store", 1000000000}, &common::SystemClock(),
              {[](const v1::Hello&) {}, [](const std::string&, const v1::WorkerMessage&) {},
               [](const std::string&, const std::string&) {}}),
        ingest(Options()),
        gateway(&fleet, &ingest) {
    (void)store.AcquireEpoch("fuzz");
    measure::RunRecord run;
    run.run_id = Phase().run_id();
    (void)store.Enqueue(run);
    (void)store.BeginPhase(run.run_id, {}, {}, {0});
    // A socket: gRPC 1.51's channel within the process never frees a call of two streams.
    const std::string address = "unix-abstract:lockstep-fuzz-" + std::to_string(getpid());
    grpc::ServerBuilder builder;
    builder.RegisterService(&gateway);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    server = builder.BuildAndStart();
    stub = std::make_unique<grpc::GenericStub>(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  IngestPipeline::Options Options() {
    IngestPipeline::Options options;
    options.store = &store;
    options.spool = &spool;
    options.clock = &common::SystemClock();
    return options;
  }
  storage::MemoryDatabase database;
  storage::MemoryStore store{&database, {}};
  storage::MemorySpool spool{1 << 20};
  Fleet fleet;
  IngestPipeline ingest;
  Gateway gateway;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::GenericStub> stub;
};

class Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(World* world, const std::string& method, const std::vector<std::string>& messages) {
    for (const std::string& message : messages) {
      grpc::Slice slice(message);
      messages_.emplace_back(&slice, 1);
    }
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    world->stub->PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    StartRead(&answer_);
    Next();
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) Next();
  }
  void OnDone(const grpc::Status&) override {
    std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }

 private:
  void Next() {
    if (next_ < messages_.size()) {
      StartWrite(&messages_[next_++]);
    } else if (!ended_) {
      ended_ = true;
      StartWritesDone();
    }
  }
  grpc::ClientContext context_;
  std::vector<grpc::ByteBuffer> messages_;
  size_t next_ = 0;
  bool ended_ = false;
  grpc::ByteBuffer answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

std::vector<std::string> Split(const std::string& bytes) {
  std::vector<std::string> messages;
  for (size_t at = 0; at + 2 <= bytes.size() && messages.size() < 64;) {
    const size_t length =
        static_cast<uint8_t>(bytes[at]) + 256 * static_cast<uint8_t>(bytes[at + 1]);
    messages.push_back(bytes.substr(at + 2, length));
    at += 2 + length;
  }
  return messages;
}

void Inspect(const std::string& bytes) {
  PlanWorker worker;
  if (!worker.inspection.ParseFromString(bytes)) return;
  v1::JobSpec job;
  job.set_name("x");
  for (int i = 0; i < 3; ++i) {
    job.add_targets()->set_name(std::to_string(i));
    job.mutable_targets(i)->mutable_file()->set_path("/x");
    job.mutable_targets(i)->mutable_file()->set_size_bytes(4096);
  }
  job.add_phases()->mutable_prepare();
  (void)CheckFleet(job, {worker, worker}, {});
}

}  // namespace
}  // namespace lockstep::controller

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::controller;
  static World* const world = new World();
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> messages = Split(bytes);
  if (data[0] == 'c') Stream(world, "/lockstep.v1.WorkerService/Control", messages).Wait();
  if (data[0] == 'd') Stream(world, "/lockstep.v1.WorkerService/Deliver", messages).Wait();
  if (data[0] == 'i') Inspect(bytes);
  if (data[0] == 'b') {
    // A batch of a worker that is one: what its stream would hand on.
    lockstep::v1::RunPhase load;
    load.add_workloads();
    world->ingest.Open(Phase(), {{"w", {0, "node1"}}}, load, 1000000000,
                       {[](const lockstep::v1::FleetInterval&) {}, [](const std::string&) {},
                        [](const std::string&) {},
                        [](uint32_t, const lockstep::v1::PhaseResult&, const std::string&) {}},
                       {});
    for (const std::string& message : messages) {
      lockstep::v1::DeliveryBatch batch;
      if (!batch.ParseFromString(message)) continue;
      *batch.mutable_phase() = Phase();
      world->ingest.Deliver("w", batch, [](const lockstep::v1::DeliveryAck&) {});
      (void)world->ingest.Pump();
    }
    (void)world->ingest.Close(Phase());
  }
  return 0;
}
