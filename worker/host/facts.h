#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// Who this worker is, kept in `state_directory` (made when missing): worker_id and host_id are
// UUIDs that stay the same from start to start. The directory is locked against a second worker
// while this lives.
struct Identity {
  std::string worker_id;
  std::string host_id;
  common::FileDescriptor lock;  // keeps other workers from the state directory while this lives
};
absl::StatusOr<Identity> LoadIdentity(const std::string& state_directory);

// What the kernel says of this machine.
v1::HostFacts ReadHostFacts(const std::string& host_id);

// Settings that a result depends on, kept with the run: sysctl values, cpu governor, io_uring,
// transparent pages.
std::map<std::string, std::string> ReadEnvironment();

}  // namespace lockstep::worker
