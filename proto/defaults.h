#pragma once

#include "google/protobuf/message.h"

namespace lockstep::v1 {

// Gives every absent field of the message, and of the messages beneath it, what its option
// `default_value` in proto/units.proto says. A number without presence that is 0 counts as absent.
// Messages that are absent stay so unless their field says `always`. A second call changes nothing.
// Pure.
void FillDefaults(google::protobuf::Message* message);

}  // namespace lockstep::v1
