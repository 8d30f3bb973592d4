#pragma once

#include <string>

#include "proto/controller.pb.h"

namespace lockstep::cli {

// The lines of `status` about releases and protocols. Pure.

// ", protocol 15", or ", protocols 15 to 17". Empty if the controller does not say it.
std::string SpokenProtocols(const v1::StatusReply& reply);
// A line for each worker of another release than the controller, of the first 20. Empty if all are
// of one release.
std::string OtherReleases(const v1::StatusReply& reply);

}  // namespace lockstep::cli
