#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace lockstep::common {

// What --version --json says of the workers' protocol (proto/protocol_version.h).
struct ProtocolFacts {
  uint32_t lowest = 0;
  uint32_t highest = 0;
  std::vector<std::string> features = {};
};

// Adds --version, and --json with which it prints an object for programs: `version`, `commit`, the
// versions of the workers' protocol that this program speaks (`lowest_protocol` to `protocol`), the
// protocol's `features` that it has, and the number of the store's `schema`.
void AddVersionFlag(CLI::App* app, const ProtocolFacts& protocol);

}  // namespace lockstep::common
