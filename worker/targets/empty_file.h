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
// the target. An existing file is truncated to 0 bytes if `consent` permits it and nothing uses the
// file. Otherwise it is refused. With `owner_only` the file has mode 0600 from the start: one that
// others could have open is replaced if a worker made it, and refused otherwise, and so is one that
// Lockstep did not make and another user owns. Returns the file's
// identity (IdentityOf()).
absl::StatusOr<std::string> MakeEmptyFile(const Guard& guard, const Guard::AllowedPath& allowed,
                                          const FilesUnderDevices& under,
                                          const FileConsent& consent, uint32_t number,
                                          bool owner_only);

// Why no file is made: its file system gives it no identity (IdentityOf()).
absl::Status WithoutIdentity(const std::string& path);

inline constexpr int kOwnerOnlyMode = 0600;
// Whether other users may open the file, and so may have it open already: a change of its mode does
// not close what they have.
bool IsOpenToOthers(const common::FileDescriptor& file);
// Removes the file, which is open as `file`, and makes an empty one in its place that only its
// owner can open.
absl::StatusOr<common::FileDescriptor> ReplaceByOwnerOnly(const Guard& guard,
                                                          const Guard::AllowedPath& allowed,
                                                          const common::FileDescriptor& file);
// Whether its owner, who may open it at any time, is another user than the worker's.
bool IsOfAnotherUser(const common::FileDescriptor& file);
// Why a copy does not write to such a file, which Lockstep did not make or may not replace here.
absl::Status OpenToOthers(const std::string& path);
absl::Status OwnedByOther(const std::string& path);

}  // namespace lockstep::worker
