#pragma once

#include <string>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/controller.pb.h"

namespace lockstep::cli {

// The messages of problems, safe to show. Those that hosts have in common are one: "node1 and 49
// more: /mnt/x is not allowed".
std::vector<std::string> Collapsed(const google::protobuf::RepeatedPtrField<v1::Problem>& problems);

}  // namespace lockstep::cli
