#pragma once

#include "proto/worker.pb.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// Writes or removes stamps, as a controller orders, within limits::kStampNs. `is_allowed`: this
// host's operator lets admins enrol devices (--allow-enroll); otherwise only stamps that count are
// removed.
v1::StampResults StampAll(const Guard& guard, bool is_allowed, const v1::StampDevices& orders);

}  // namespace lockstep::worker
