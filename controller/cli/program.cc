#include "controller/cli/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/version_flag.h"
#include "controller/cli/commands.h"
#include "google/protobuf/stubs/logging.h"
#include "proto/protocol_version.h"
#include "proto/worker.pb.h"

namespace lockstep::cli {
namespace {

// The reason if something that is required is missing: the first word is no command, or the command
// lacks it. Empty when there is no word.
std::string WhatIsMissing(const CLI::App& app, int argc, char** argv, const std::string& missing) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  for (const CLI::App* command : commands) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    if (word.rfind('-', 0) != 0) {
      if (std::any_of(commands.begin(), commands.end(),
                      [&](const CLI::App* command) { return command->check_name(word); })) {
        return absl::StrCat(word, ": ", missing, "; lockstep ", word, " --help explains it");
      }
      return absl::StrCat("'", word, "' is not a command; the commands are: ", names,
                          ". lockstep COMMAND --help explains one");
    }
    // Options before the command have a value each, but for the flags.
    if (word.find('=') == std::string::npos && word != "--no-color" && word != "--json" &&
        word != "--insecure-plaintext") {
      ++i;
    }
  }
  return "";
}

void AddCommands(CLI::App* app, const Context* context, int* status) {
  AddUpCommand(app, context, status);
  AddRunCommands(app, context, status);
  AddListingCommands(app, context, status);
  AddFleetCommand(app, context, status);
  AddDevicesCommand(app, context, status);
  AddHistoryCommands(app, context, status);
  AddArchiveCommands(app, context, status);
  AddAuditCommand(app, context, status);
  AddPkiCommand(app, context, status);
  AddSqlCommand(app, context, status);
  AddCheckCommand(app, status);
  AddTranslateCommand(app, status);
  AddPresetCommand(app, context, status);
  AddSysbenchCommand(app, context, status);
  AddSchemaCommand(app, status);
  AddDemoCommand(app, context, status);
  AddDoctorCommand(app, context, status);
  AddSupportBundleCommand(app, context, status);
  AddCompletionCommand(app, status);
}

}  // namespace

int RunProgram(int argc, char** argv) {
  // execve(2) keeps an ignored SIGPIPE, and systemd ignores it for services by default. With the
  // default action, `lockstep history | head` ends quietly.
  signal(SIGPIPE, SIG_DFL);
  google::protobuf::SetLogHandler(nullptr);  // what cannot be parsed is said in our words
  Context context;
  if (argc > 0) context.program = argv[0];
  int status = kOk;
  CLI::App app("Lockstep: a storage benchmark that moves many hosts through a test in lockstep.");
  common::AddVersionFlag(&app, v1::OwnProtocolJson());
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--controller", context.controller, "HOST:PORT of the controller")
      ->envname("LOCKSTEP_CONTROLLER")
      ->each([&](const std::string&) { context.is_controller_given = true; })
      ->capture_default_str();
  app.add_option("--tls-cert", context.tls.certificate, "Your certificate, PEM")
      ->envname("LOCKSTEP_TLS_CERT");
  app.add_option("--tls-key", context.tls.key, "PEM key of the certificate")
      ->envname("LOCKSTEP_TLS_KEY");
  app.add_option("--tls-ca", context.tls.authority,
                 "PEM certificate of the authority that signed the controller's")
      ->envname("LOCKSTEP_TLS_CA");
  app.add_option("--tls-dir", context.tls.directory,
                 "A directory with cert.pem, key.pem and ca.pem, as `lockstep pki issue` makes it, "
                 "instead of the three")
      ->envname("LOCKSTEP_TLS_DIR");
  app.add_flag("--insecure-plaintext", context.insecure,
               "Dial a controller on another machine without TLS");
  app.add_flag("--no-color", context.no_colour, "No colours; NO_COLOR does the same");
  app.footer(
      "Examples:\n  lockstep demo                      # a mixed load on four hosts of this "
      "machine\n  lockstep up --allow /mnt/san       # everything on this machine\n"
      "  lockstep run job.yaml              # submit, watch, report\n  lockstep COMMAND --help     "
      "       # each command has examples");
  AddCommands(&app, &context, &status);
  // Strings of proto3 are UTF-8. The controller could not parse the request, and could not say
  // which argument is wrong.
  for (int i = 1; i < argc; ++i) {
    if (!common::IsUtf8(argv[i])) {
      return Fail(absl::StrCat("argument ", i, ", ", common::Printable(argv[i], 60),
                               ", is not valid UTF-8"));
    }
  }
  try {
    app.parse(argc, argv);
    // CLI11 reports a missing command here, and does not name the wrong word.
  } catch (const CLI::RequiredError& error) {
    if (const std::string text = WhatIsMissing(app, argc, argv, error.what()); !text.empty()) {
      return Fail(text);
    }
    return app.exit(error) == 0 ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  return status;
}

}  // namespace lockstep::cli
