#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "worker/host/block_devices.h"
#include "worker/host/guard.h"
#include "worker/targets/foreign_files.h"

namespace lockstep::worker {

// Whether both descriptors are open on the same file.
bool SameInode(const common::FileDescriptor& a, const common::FileDescriptor& b);

// Makes an empty file at `allowed`, and the directories above it. `number` is the file's number in
// the target. A new file has this mode, less the process' umask. An existing file is truncated to 0
// bytes if `consent` permits it and nothing uses the file. Otherwise it is refused. Returns the
// file's identity (IdentityOf()).
absl::StatusOr<std::string> MakeEmptyFile(const Guard& guard, const Guard::AllowedPath& allowed,
                                          const FilesUnderDevices& under,
                                          const FileConsent& consent, uint32_t number, int mode);

}  // namespace lockstep::worker
