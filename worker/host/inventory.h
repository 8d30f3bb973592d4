#pragma once

#include <vector>

#include "proto/worker.pb.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// The block devices as they are now. Those that the guard allows, and that nobody uses, are looked
// at: what they carry stands in `in_use`. No other device is opened, and none is waited for longer
// than limits::kProbeNs, all together.
std::vector<v1::BlockDevice> TakeInventory(const Guard& guard);

}  // namespace lockstep::worker
