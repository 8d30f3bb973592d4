#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "controller/cli/client.h"

namespace lockstep::cli {

// The connection string as a URL, as other clients than libpq take it:
// postgresql://USER@HOST:PORT/DATABASE?…; a socket's directory is a parameter.
std::string UrlOf(const std::string& conninfo);

// How the reading role reaches the store, as the controller says; INVALID_ARGUMENT when that is
// more than where a server is and who asks.
absl::StatusOr<std::string> GetStoreAddress(v1::Controller::Stub* stub);

}  // namespace lockstep::cli
