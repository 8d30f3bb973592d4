#pragma once

#include "google/protobuf/message.h"

namespace lockstep::v1 {

// Sets every absent field of the message, and of the messages beneath it, to its option
// `default_value` (proto/units.proto). A number without presence that is 0 counts as absent. An
// absent message stays absent unless its field has the option `always`. A second call changes
// nothing. Pure.
void FillDefaults(google::protobuf::Message* message);

}  // namespace lockstep::v1
