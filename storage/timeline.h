#pragma once

#include "measure/timeline.h"
#include "proto/worker.pb.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Writes the timeline of a phase that has none in the store; inside a transaction.
absl::Status WriteTimeline(PgConnection* connection, const v1::PhaseId& phase,
                           const measure::Timeline& timeline);

}  // namespace lockstep::storage
