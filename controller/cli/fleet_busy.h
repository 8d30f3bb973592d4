#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/cli/client.h"
#include "controller/cli/ssh/records.h"

namespace lockstep::cli {

// The names of the hosts among `fleet` on which a run is in progress. Asks the controller of the
// command that started each, which may be another than the caller's. Where no controller answers
// there is no run to spoil. An error where one may be there, and cannot be asked: this machine's
// certificate has expired, is not in its place or is refused.
absl::StatusOr<std::vector<std::string>> BusyHosts(const Context& context,
                                                   const std::vector<FleetRecord>& fleet);

}  // namespace lockstep::cli
