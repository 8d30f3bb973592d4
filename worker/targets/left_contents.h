#pragma once

#include <vector>

#include "proto/result.pb.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// What a load left on the devices, LUNs and expendable files among `files` that it could write,
// once its last I/O has ended: the next phase of the run that writes them finds exactly that, or
// writes nothing. Of several workers that write one device, the one that looks last sees what all
// have left. None of enrolled devices, whose stamps say who writes them; none of what does not
// answer within limits::kProbeNs. Looks at several at once; thread-safe.
std::vector<v1::LeftContent> LeftContentsOf(const std::vector<OpenedFile>& files);

}  // namespace lockstep::worker
