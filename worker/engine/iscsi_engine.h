#pragma once

#include <memory>

#include "worker/engine/io_engine.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {

// LUNs through libiscsi: a session of this engine's own with each, many commands in flight. Nothing
// in the kernel knows of the LUN. A lost session is opened again, and the commands that were in
// flight are sent again, for as long as LunSpec says. After that, I/Os fail with ENOTCONN. If a
// different LUN answers, they fail with ESTALE.
std::unique_ptr<IoEngine> NewIscsiEngine(const EngineContext& context);

}  // namespace lockstep::worker
