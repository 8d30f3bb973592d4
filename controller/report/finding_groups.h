#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The phase's stragglers, starvations and devices' findings, those that are alike as one group: a
// reader sees at once how many hosts are hit, and by what. A group of a single finding has that
// finding's own sentence. Pure.
std::vector<v1::FindingGroup> FindingGroupsOf(const v1::PhaseReport& phase);

// "node1, node2 and 3 more"; at most `max_names` names.
std::string NamesText(const google::protobuf::RepeatedPtrField<std::string>& names,
                      size_t max_names);

}  // namespace lockstep::controller
