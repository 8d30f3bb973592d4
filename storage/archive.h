#pragma once

#include <string>

#include "storage/store.h"

namespace lockstep::storage {

class PgConnection;

// A run as it lies in the tables, for another store: the rows of every table whose rows belong to
// runs, in the text format of COPY. Both are within a transaction; errors are Store::ExportRun()'s
// and Store::ImportRun()'s. How the parts follow each other: proto/controller.proto.
absl::Status ExportTables(PgConnection* connection, const std::string& run_id,
                          const Store::PutPart& put);
absl::StatusOr<std::string> ImportTables(PgConnection* connection, const Store::TakePart& take);

}  // namespace lockstep::storage
