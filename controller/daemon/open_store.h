#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "controller/plan/selection.h"
#include "storage/embedded.h"
#include "storage/pg_store.h"

namespace lockstep::controller {

struct StoreFlags {
  std::string store;  // of a server; empty for the embedded one
  std::string state_directory;
  bool store_filesystem = false;  // jobs may lay out files beside the embedded one
};

struct OpenedStore {
  std::unique_ptr<storage::EmbeddedPostgres> embedded;  // null where the server is another's
  std::unique_ptr<storage::PgStore> store;
  StoreLocation location;  // of the embedded one
  std::string conninfo;
};

// Starts the embedded PostgreSQL, or reaches the one that is named, and brings its schema up to
// date.
absl::StatusOr<OpenedStore> OpenStore(const StoreFlags& flags);

}  // namespace lockstep::controller
