#pragma once

#include "CLI/CLI.hpp"

namespace lockstep::common {

// Adds --version, and --json with which it prints an object for programs: `version`, `commit`, and
// the numbers of the workers' `protocol` (this program's: PROTOCOL_VERSION_CURRENT) and of the
// store's `schema`.
void AddVersionFlag(CLI::App* app, int protocol);

}  // namespace lockstep::common
