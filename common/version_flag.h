#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace lockstep::common {

// Adds --version, and --json with which it prints an object for programs: `version`, `commit`, what
// the program speaks of the workers' protocol, and the number of the store's `schema`. `protocol`:
// members of that object (v1::OwnProtocolJson()).
void AddVersionFlag(CLI::App* app, const std::string& protocol);

}  // namespace lockstep::common
