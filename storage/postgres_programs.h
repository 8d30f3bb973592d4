#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/users.h"

namespace lockstep::storage {

// Which PostgreSQL an embedded store can use.

inline constexpr int kOldestMajor = 15;

// The directory with `postgres` and `initdb` of this major version, or of the newest one when 0:
// those of the portable archive that this program belongs to, otherwise those that are installed.
// Empty when there is none.
std::string FindBinaries(int major);

// FAILED_PRECONDITION: the cluster in `data` was made by the version `has`, which FindBinaries()
// does not find. Says how to upgrade it to the one in the directory `newest`.
absl::Status VersionMismatch(const std::string& data, const std::string& has,
                             const std::string& newest);

// As whom the server of a store runs when this program is root, which PostgreSQL refuses: the owner
// of the cluster that is there, otherwise the user `postgres`. A portable archive has a number of
// its own for hosts without that user. None where nobody is left.
std::optional<common::User> ServerUser(const std::string& directory);

}  // namespace lockstep::storage
