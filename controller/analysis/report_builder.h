#pragma once

#include "proto/result.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// Everything that is to be said of a run, from what the store holds of it. Pure. A run in progress
// gives a report of the phases so far.
v1::Report BuildReport(const storage::RunData& data);

}  // namespace lockstep::controller
