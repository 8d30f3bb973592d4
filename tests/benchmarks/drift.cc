// For `tools/bench skew`: a worker whose clock has an injected rate, attached to a real Fleet over
// a real socket. Prints, once in half a second: the rate and the estimated one ± its bound (ppm),
// the estimate's error and its bound (ns).

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "common/clock.h"
#include "common/ids.h"
#include "controller/fleet/control_stream.h"
#include "controller/fleet/fleet.h"
#include "proto/worker.grpc.pb.h"

namespace lockstep::controller {
namespace {

class Gateway final : public v1::WorkerService::CallbackService {
 public:
  explicit Gateway(Fleet* fleet) : fleet_(fleet) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(
      grpc::CallbackServerContext* context) override {
    return new ControlStream(fleet_, context, {});
  }

 private:
  Fleet* fleet_;
};

int Main(double ppm, int looks) {
  const common::Clock& clock = common::SystemClock();
  const int64_t start = clock.MonotonicNs();
  constexpr int64_t kApartNs = int64_t{3} * 3600 * 1000000000;
  const auto its_clock = [&](int64_t now) {
    return now + kApartNs + static_cast<int64_t>(static_cast<double>(now - start) * ppm * 1e-6);
  };
  Fleet fleet({1, "store", 10000000000}, &clock,
              {[](const v1::Hello&) {}, [](const std::string&, const v1::WorkerMessage&) {},
               [](const std::string&, const std::string&) {}});
  Gateway gateway(&fleet);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&gateway);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::WorkerService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto call = stub->Control(&context);
  const std::string id = common::NewUuid();
  v1::WorkerMessage message;
  v1::Hello* hello = message.mutable_hello();
  hello->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello->set_worker_id(id);
  hello->set_instance_id(common::NewUuid());
  hello->mutable_host()->set_host_id(common::NewUuid());
  hello->mutable_host()->set_name("drifting");
  hello->mutable_host()->set_boot_id("boot");
  call->Write(message);
  std::thread answers([&] {
    v1::ControllerMessage command;
    while (call->Read(&command)) {
      if (!command.has_clock_ping()) continue;
      v1::WorkerMessage reply;
      reply.mutable_clock_reply()->set_id(command.clock_ping().id());
      reply.mutable_clock_reply()->set_received_ns(its_clock(clock.MonotonicNs()));
      reply.mutable_clock_reply()->set_replied_ns(its_clock(clock.MonotonicNs()));
      call->Write(reply);
    }
  });
  for (int look = 0; look < looks; ++look) {
    clock.SleepUntil(clock.MonotonicNs() + 500000000);
    const int64_t now = clock.MonotonicNs();
    const auto known = fleet.ClockAt(id, now);
    std::printf("%g %g %g %ld %ld\n", ppm, known.drift * 1e6, known.drift_bound * 1e6,
                static_cast<long>(known.offset_ns - (its_clock(now) - now)),
                static_cast<long>(known.bound_ns));
  }
  context.TryCancel();
  answers.join();
  fleet.Shutdown();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}

}  // namespace
}  // namespace lockstep::controller

int main(int argc, char** argv) {
  return lockstep::controller::Main(argc > 1 ? atof(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 40);
}
