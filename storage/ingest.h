#pragma once

#include <vector>

#include "absl/status/status.h"
#include "storage/pg.h"
#include "storage/store.h"

namespace lockstep::storage {

// Store::Ingest() within a transaction.
absl::Status IngestBatches(PgConnection* connection, const std::vector<IngestBatch>& batches);

}  // namespace lockstep::storage
