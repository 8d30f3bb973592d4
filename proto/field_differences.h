#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace lockstep::v1 {

// The fields in which two messages of one type differ, as a job file writes them, in the order of
// their paths: "phases.mix.run.workloads.w.queue_depth: 16 → 8". An item of a list is named by its
// `name` where it has one, else by its position. A field that only one of them has differs from
// "-". Pure.
std::vector<std::string> FieldDifferences(const google::protobuf::Message& before,
                                          const google::protobuf::Message& after);

}  // namespace lockstep::v1
