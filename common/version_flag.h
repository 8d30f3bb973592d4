#pragma once

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "common/version_text.h"

namespace lockstep::common {

// Adds --version, and --json with which it prints an object for programs: `version`, `commit`, what
// the program speaks of the workers' protocol, and the number of the store's `schema`. `protocol`:
// members of that object (v1::OwnProtocolJson()). Each program's main file calls it once; a file of
// its own would spend four seconds on CLI11's headers.
inline void AddVersionFlag(CLI::App* app, const std::string& protocol) {
  // CLI11 runs the options in the order in which they were added. This one must be known when
  // --version prints and ends the parsing.
  const auto as_json = std::make_shared<bool>(false);
  CLI::Option* json = app->add_flag_callback(
      "--json", [as_json] { *as_json = true; }, "With --version: print JSON");
  CLI::Option* version = app->set_version_flag("--version", [as_json, protocol] {
    if (!*as_json) return std::string(VersionText());
    return absl::StrCat("{\"version\": \"", kSoftwareVersion, "\", \"commit\": \"", VersionCommit(),
                        "\", ", protocol, ", \"schema\": ", kSchemaVersion, "}");
  });
  json->needs(version);
}

}  // namespace lockstep::common
