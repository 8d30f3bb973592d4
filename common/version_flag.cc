#include "common/version_flag.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/version.h"
#include "common/version_text.h"

namespace lockstep::common {

void AddVersionFlag(CLI::App* app, const ProtocolFacts& protocol) {
  // CLI11 runs the options in the order in which they were added. This one must be known when
  // --version prints and ends the parsing.
  const auto as_json = std::make_shared<bool>(false);
  CLI::Option* json = app->add_flag_callback(
      "--json", [as_json] { *as_json = true; }, "With --version: print JSON");
  CLI::Option* version = app->set_version_flag("--version", [as_json, protocol] {
    if (!*as_json) return std::string(VersionText());
    // Names of features are identifiers, which JSON need not escape.
    const auto quote = [](std::string* out, const std::string& name) {
      absl::StrAppend(out, "\"", name, "\"");
    };
    return absl::StrCat("{\"version\": \"", kSoftwareVersion, "\", \"commit\": \"", VersionCommit(),
                        "\", \"protocol\": ", protocol.highest,
                        ", \"lowest_protocol\": ", protocol.lowest, ", \"features\": [",
                        absl::StrJoin(protocol.features, ", ", quote),
                        "], \"schema\": ", kSchemaVersion, "}");
  });
  json->needs(version);
}

}  // namespace lockstep::common
