#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lockstep::v1 {

// Reads and checks messages by the field options of proto/units.proto. All functions are pure.

// A field's name in a job file: `block_size_bytes` is `block_size` there, because its value carries
// the unit.
std::string JobFieldName(const google::protobuf::FieldDescriptor& field);
// The message's field of this name in a job file; null if there is none.
const google::protobuf::FieldDescriptor* FindJobField(const google::protobuf::Descriptor& message,
                                                      const std::string& name);

// The maximum number of bytes of a text, or of each text of a list or map, and the maximum number
// of items of a list or map: of the field's options, else those that proto/units.proto documents.
uint32_t LengthLimit(const google::protobuf::FieldDescriptor& field);
uint32_t CountLimit(const google::protobuf::FieldDescriptor& field);

// A problem with one field; `path` is as a job file writes it:
// phases[1].run.workloads[0].block_size.
struct FieldProblem {
  std::string path;
  std::string message;
};

// Finds every field, in the message and beneath it, that its options do not allow: ranges, numbers
// that are not finite, lengths, counts, unknown enum values, negative sizes and durations, texts
// with control characters. A number without presence that is 0 counts as absent. At most 20
// problems.
std::vector<FieldProblem> CheckFields(const google::protobuf::Message& message);
// The first of them on one line; empty when there is none.
std::string FirstProblem(const google::protobuf::Message& message);

// Cuts every list and map in the message, and beneath it, to its limit. Returns the first that was
// cut, "devices[6].mounts has 1502 items: the first 1000 are kept"; empty when there is none.
std::string CutLists(google::protobuf::Message* message);

// Makes every text in the message, and beneath it, safe to show: control characters are escaped,
// longer texts cut to the field's limit.
void CleanTexts(google::protobuf::Message* message);

}  // namespace lockstep::v1
