// schema: the JSON schema of job files, for editors.

#include <iostream>

#include "controller/cli/commands.h"
#include "controller/cli/job_schema.h"

namespace lockstep::cli {

void AddSchemaCommand(CLI::App* app, int* status) {
  CLI::App* schema = app->add_subcommand(
      "schema", "Print the JSON schema of job files, for editors; needs no controller");
  schema->footer(
      "An editor with a YAML language server completes and checks a job file that begins with\n"
      "  # yaml-language-server: $schema=job.schema.json\n\nExample:\n  lockstep schema > "
      "job.schema.json");
  schema->callback([=] {
    std::cout << JobSchema();
    *status = kOk;
  });
}

}  // namespace lockstep::cli
