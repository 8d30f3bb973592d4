#pragma once

#include "controller/cli/job_file.h"
#include "yaml-cpp/yaml.h"

namespace lockstep::cli {

// Reads the tree into file->job by reflection; what is wrong goes to file->errors, the lines of
// fields to file->lines. Throws YAML::Exception for what yaml-cpp itself cannot make sense of.
void ReadYaml(const YAML::Node& root, JobFile* file);

}  // namespace lockstep::cli
