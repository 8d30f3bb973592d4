#pragma once

#include <string>

#include "google/protobuf/descriptor.h"

namespace lockstep::cli {

// The names of the message's fields in a job file, joined by commas.
std::string FieldNames(const google::protobuf::Descriptor& type);

// The text to write instead of `key`, which is no field of the message `type` at `path` of a job
// file ("phases[0].run.workloads[1].bs"). In this order: another tool's word for one of its fields;
// a field that is one elsewhere in a job, with the path nearest to this one; the most similar name;
// else all names.
std::string UnknownFieldText(const google::protobuf::Descriptor& type, const std::string& path,
                             const std::string& key);

}  // namespace lockstep::cli
