#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lockstep::v1 {

// How a job file writes a field's value. All functions are pure.

// SHARING_SLICED of the enum Sharing is `sliced`.
std::string EnumText(const google::protobuf::EnumValueDescriptor& value);

// A number of the field with its unit: 8 MiB, 10s, 25%, 7.
std::string NumberText(const google::protobuf::FieldDescriptor& field, double value);

// A number of the field from its text, in the field's unit, as proto/units.proto says; its range is
// not checked. INVALID_ARGUMENT if the text is no such number, or the field has none.
absl::StatusOr<double> NumberFromText(const google::protobuf::FieldDescriptor& field,
                                      const std::string& text);

// Sets a field that is no message from its text, or adds an item where it is a list: numbers with
// their unit, as proto/units.proto says, enums by name, `true` and `false`. INVALID_ARGUMENT says
// what is wrong with the text: "'9MiB' is too large; the maximum is 8 MiB".
absl::Status SetFromText(const google::protobuf::FieldDescriptor& field, const std::string& text,
                         google::protobuf::Message* message);

// Sets, in a message of which the job file takes the name of a choice alone, the choice of that
// name: `random` of a Pattern. NOT_FOUND when there is none of this name.
absl::Status ChooseFromText(const std::string& text, google::protobuf::Message* message);

}  // namespace lockstep::v1
