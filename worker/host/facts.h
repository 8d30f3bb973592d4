#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// The identity of this worker, kept in `state_directory` (made when missing): worker_id and host_id
// are UUIDs that stay the same from start to start. The directory is locked against a second worker
// while this lives.
struct Identity {
  std::string worker_id;
  std::string host_id;
  common::FileDescriptor lock;  // keeps other workers from the state directory while this lives
};
absl::StatusOr<Identity> LoadIdentity(const std::string& state_directory);

// Reads the facts about this machine from the kernel.
v1::HostFacts ReadHostFacts(const std::string& host_id);

// Settings that a result depends on, kept with the run: sysctl values, cpu governor, io_uring,
// transparent pages.
std::map<std::string, std::string> ReadEnvironment();
// The same about each device under a run's targets, and about what it observes:
// `device.vda.scheduler`, queue limits, firmware, and `mount.PATH`, the options of the mount. A
// device that it observes also has `device.vda.identity`.
std::map<std::string, std::string> ReadTargetFacts(const v1::Inspection& inspection);
// The type and the options of the mount that holds the path, by /proc/self/mountinfo; empty when
// none does.
std::string MountOf(const std::string& mounts, const std::string& path);

}  // namespace lockstep::worker
