#pragma once

#include <vector>

#include "proto/result.pb.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// The contents that a load left on the devices, LUNs and expendable files among `files` that it
// could write, once its last I/O has ended. The next phase of the run that writes them finds
// exactly these, or writes nothing. If several workers write one device, the one that looks last
// sees the writes of all. Enrolled devices are left out, since their stamps tell who writes them,
// and so are devices that do not answer within limits::kProbeNs. Looks at several at once;
// thread-safe.
std::vector<v1::LeftContent> LeftContentsOf(const std::vector<OpenedFile>& files);

}  // namespace lockstep::worker
