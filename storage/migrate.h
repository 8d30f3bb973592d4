#pragma once

#include "absl/status/status.h"
#include "storage/pg.h"

namespace lockstep::storage {

// Brings the schema to this program's version, in one transaction under a lock on its table of
// versions: first the numbered files of schema/, each once, then the files of schema/interface/,
// anew whenever one of them has changed. FAILED_PRECONDITION when the schema is newer than the
// program or older than the baseline, or when an applied migration is not the one that this program
// has. Nothing has changed then.
absl::Status Migrate(PgConnection* connection);

}  // namespace lockstep::storage
