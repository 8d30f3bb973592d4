#pragma once

#include "absl/status/status.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Brings the schema to this program's version, in one transaction under a lock on its table of
// versions. FAILED_PRECONDITION when the schema is newer than the program, or when an applied
// migration is not the one that this program knows.
absl::Status Migrate(PgConnection* connection);

}  // namespace lockstep::storage
