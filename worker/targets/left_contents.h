#pragma once

#include <vector>

#include "proto/result.pb.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// What a load left on the devices and LUNs among `files` that it wrote, once its last I/O has
// ended: the next phase of the run that writes them finds exactly that, or writes nothing. Of
// several workers that write one device, the one that looks last sees what all have left. None of
// enrolled devices, whose stamps say who writes them; none of one that does not answer in time.
std::vector<v1::LeftContent> LeftContentsOf(const std::vector<OpenedFile>& files);

}  // namespace lockstep::worker
