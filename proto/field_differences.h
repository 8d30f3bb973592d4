#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace lockstep::v1 {

// A field in which two messages differ. The path is as a job file writes it:
// phases.mix.run.workloads.w.queue_depth. An item of a list is named by its `name` where it has
// one, else by its position. A field that only one of them has differs from "-".
struct FieldDifference {
  std::string path, before, after;
};

// The fields in which two messages of one type differ, in the order of their paths. Pure.
std::vector<FieldDifference> DifferingFields(const google::protobuf::Message& before,
                                             const google::protobuf::Message& after);
// The same as texts: "phases.mix.run.workloads.w.queue_depth: 16 → 8".
std::vector<std::string> FieldDifferences(const google::protobuf::Message& before,
                                          const google::protobuf::Message& after);

}  // namespace lockstep::v1
