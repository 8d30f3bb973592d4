#pragma once

#include <string>

#include "google/protobuf/util/json_util.h"

namespace lockstep::controller {

// A message as JSON, indented, with every figure present. The names are protobuf's lowerCamelCase.
inline std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "{}";
}

}  // namespace lockstep::controller
