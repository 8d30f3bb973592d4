#include "common/version_flag.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "common/version_text.h"

namespace lockstep::common {

void AddVersionFlag(CLI::App* app, const std::string& protocol) {
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
