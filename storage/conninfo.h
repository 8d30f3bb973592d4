#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::storage {

// Connection strings and URIs of libpq (PostgreSQL, "Connection Strings"). All functions are pure.

// Whether a connection string or URI contains a password.
bool HasPassword(const std::string& conninfo);
// Derives the reading role's connection string from the controller's: same server and database,
// user lockstep_reader, no password.
absl::StatusOr<std::string> DeriveReaderConninfo(const std::string& conninfo);
// The server's address, for people: "postgresql://db.example:5544/bench"; of a socket
// "postgresql:///bench (socket in /run/postgresql)". Neither user nor password nor options.
std::string AddressText(const std::string& conninfo);

}  // namespace lockstep::storage
