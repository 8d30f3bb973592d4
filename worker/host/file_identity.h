#pragma once

#include <string>

#include "common/files.h"

namespace lockstep::worker {

// The identity of the file or directory that is open as `fd` (O_PATH will do): the inode and its
// birth time. If the file system has no birth times, the inode and the file handle
// (name_to_handle_at(2)), which contains the inode's generation: inode numbers are used again. FUSE
// gives numbers and generations anew at each mount: there the identity is of this mount. Empty
// where neither is available. No file system's name is in it: compare identities of one directory
// or mount only.
std::string IdentityOf(const common::FileDescriptor& fd);

}  // namespace lockstep::worker
