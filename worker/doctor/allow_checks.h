#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doctor/findings.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// The values of --allow and --allow-expendable, and the means to check what they name.
struct AllowFlags {
  std::vector<std::string> allow;
  std::vector<std::string> allow_expendable;
  std::shared_ptr<Luns> luns;      // may be null
  std::shared_ptr<MarkKeys> keys;  // may be null: stamps of this fleet are then not known as such
};

// Checks what each entry finds now: a directory's file system and space, a device's scheduler, and
// whether the guard would let a job write it, in the guard's words. Devices are opened for reading,
// as for `lockstep devices`. A file system or a device that does not answer is a finding.
void CheckAllowed(const AllowFlags& flags, doctor::Findings* findings);

// Checks a device of the inventory as the guard would, and its queue. Pure.
void CheckAllowedDevice(const v1::BlockDevice& device,
                        const std::vector<std::string>& allow_expendable,
                        doctor::Findings* findings);

// Facts about an allowed directory or file.
struct PathFacts {
  std::string path;
  std::string filesystem;  // ext4, nfs4, tmpfs
  uint64_t free_bytes = 0;
  uint64_t free_inodes = 0;
  uint64_t inodes = 0;  // 0: the file system has no such limit
  bool read_only = false;
  bool writable = false;  // by this user
};
// Pure.
void CheckAllowedPath(const PathFacts& facts, doctor::Findings* findings);

}  // namespace lockstep::worker
