#pragma once

#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// INVALID_ARGUMENT with what is wrong with a job. The status has the problems twice: as text for
// people, and as a message in its details, from which a program takes the path of each field.
grpc::Status InvalidJob(const std::vector<v1::Problem>& problems);
// The same of one field.
grpc::Status InvalidField(const std::string& path, const std::string& message);

}  // namespace lockstep::controller
