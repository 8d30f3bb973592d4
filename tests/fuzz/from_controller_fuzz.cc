// Messages of a controller, or of somebody in its place, to a worker: into its protocol, its
// inspection and its phase runner with real threads. Messages are separated by their lengths (two
// bytes, little endian). Nothing is allowed but a directory of this process.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/clock.h"
#include "tests/fuzz/directory.h"
#include "worker/link/outbox.h"
#include "worker/link/protocol.h"
#include "worker/load/phase_runner.h"
#include "worker/targets/inspect.h"

namespace {

using namespace lockstep;
using namespace lockstep::worker;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Directory directory;
  static const auto guard = Guard::Make({directory.path()}, {});
  Outbox outbox(Outbox::Limits{}, {});
  std::unique_ptr<Protocol> protocol;
  static const HostPolicy policy;
  EnvironmentKeeper environment(directory.path());
  PhaseRunner::Parts parts;
  parts.guard = &*guard;
  parts.policy = &policy;
  parts.environment = &environment;
  parts.clock = &common::SystemClock();
  parts.host = "node1";
  parts.mismatch_directory = directory.path() + "/mismatches";
  PhaseRunner runner(parts,
                     {[&](const v1::Armed& armed) { protocol->OnArmed(armed); },
                      [&](const v1::PhaseFailed& failed) { protocol->OnFailed(failed); },
                      [&](const v1::PhaseProgress& progress) { protocol->OnProgress(progress); },
                      [&](const v1::PhaseId& phase, v1::IntervalSample sample) {
                        protocol->OnSample(phase, std::move(sample));
                      },
                      [&](const v1::PhaseId& phase, v1::PhaseResult result) {
                        protocol->OnResult(phase, std::move(result));
                      }});
  Protocol::Ports ports;
  ports.executor = &runner;
  ports.outbox = &outbox;
  ports.send = [](const v1::WorkerMessage&) {};
  ports.inspect = [](const v1::Inspect& inspect) {
    RunIdentity who;
    who.host = "node1";
    (void)InspectTargets(*guard, policy, inspect, who);
  };
  ports.now = [] { return common::SystemClock().MonotonicNs(); };
  protocol = std::make_unique<Protocol>(ports);
  v1::ControllerMessage welcome;
  welcome.set_epoch(1);
  welcome.mutable_welcome()->set_store_id("store");
  welcome.mutable_welcome()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  (void)protocol->OnFirst(welcome);
  int count = 0;
  for (size_t at = 0; at + 2 <= size && count < 16; ++count) {
    const size_t length = std::min<size_t>(data[at] + 256 * data[at + 1], size - at - 2);
    v1::ControllerMessage message;
    if (message.ParseFromArray(data + at + 2, static_cast<int>(length))) {
      message.set_epoch(1);
      protocol->OnCommand(message, common::SystemClock().MonotonicNs());
    }
    at += 2 + length;
  }
  protocol->Tick();
  runner.StopNow("");
  return 0;
}
