#pragma once

#include <optional>

#include "controller/core/run_machine.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// An order as workers keep and repeat it.
v1::StopOrder EncodeStopOrder(const StopOrder& order);
// Nothing where the kind is none that this version knows. The reason is made printable and cut:
// it comes from a worker.
std::optional<StopOrder> DecodeStopOrder(const v1::StopOrder& order);

}  // namespace lockstep::controller
