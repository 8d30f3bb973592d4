#pragma once

#include <string>

#include "common/files.h"

namespace lockstep::worker {

// The path without links; empty where it leads nowhere.
std::string RealPath(const std::string& path);
// What a descriptor that was opened to look (O_PATH) refers to, opened for use: the same thing,
// whatever its name leads to by now. Invalid, with errno, when it cannot be.
common::FileDescriptor Reopen(const common::FileDescriptor& look, int flags);

}  // namespace lockstep::worker
