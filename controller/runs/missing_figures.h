#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/runs/loop.h"
#include "storage/store.h"

namespace lockstep::controller {

// Makes what the store keeps of reports (Store::SaveReport) for runs that have ended without it:
// their controller ended first, or was older. One run after the other, newest first, off the
// deciding thread. One that cannot be reported is left out until the next start.
void MakeMissingFigures(Loop* loop, storage::Store* store);

}  // namespace lockstep::controller
