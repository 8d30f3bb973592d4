#pragma once

#include <vector>

#include "absl/status/status.h"
#include "storage/pg.h"
#include "storage/store.h"

namespace lockstep::storage {

// Store::Ingest() within a transaction.
absl::Status IngestBatches(PgConnection* connection, const std::vector<IngestBatch>& batches);

// An encoded histogram as a literal of the SQL type lockstep.histogram.
absl::StatusOr<std::string> HistogramLiteral(const std::string& encoded);

}  // namespace lockstep::storage
