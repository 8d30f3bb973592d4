#pragma once

#include "common/time_limit.h"

namespace lockstep::worker {

using common::BeginChange;
using common::ChangeWithinLimit;
using common::WithinLimit;

}  // namespace lockstep::worker
