#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::worker {

// Many workers in one process, for rehearsing a fleet: each has an identity and two TCP connections
// of its own and speaks the real protocol (worker/link/protocol.h), but does no I/O: what it
// "measures" comes from a LatencyModel. It never opens a target, and says so in its label
// `synthetic` and its host's facts.
class SyntheticFleet {
 public:
  struct Options {
    uint32_t workers = 1;
    std::vector<std::string> controllers;  // HOST:PORT, tried in turn
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    std::string server_name;   // as common::TlsFiles has it
    std::string name = "sim";  // hosts are NAME-0001, …; identities follow from it
    std::vector<uint64_t> iops = {1000, 10000, 50000};  // of the workers, in turn
  };
  SyntheticFleet(Options options, const common::Clock* clock);
  ~SyntheticFleet();

  // Serves until Stop(). FAILED_PRECONDITION when the process may not open enough files, or a
  // controller refuses a worker for good.
  absl::Status Run();
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::worker
