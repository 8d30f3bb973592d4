#pragma once

#include <vector>

#include "absl/status/status.h"
#include "storage/pg.h"
#include "storage/store.h"

namespace lockstep::storage {

// Store::Ingest() on one connection.
absl::Status IngestBatches(PgConnection* connection, uint64_t epoch, const std::vector<IngestBatch>& batches);

// An encoded histogram as a literal of the SQL type lockstep.histogram.
absl::StatusOr<std::string> HistogramLiteral(const std::string& encoded);

}  // namespace lockstep::storage
