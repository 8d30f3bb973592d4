// completion: the shell's completion script, made from the commands themselves.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/cli/commands.h"
#include "controller/cli/report_formats.h"

namespace lockstep::cli {
namespace {

std::string FlagsOf(const CLI::App& app) {
  std::string flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) absl::StrAppend(&flags, " --", name);
  }
  return flags;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// " up down list".
std::string CommandNames(const std::vector<const CLI::App*>& commands) {
  std::string names;
  for (const CLI::App* command : commands) absl::StrAppend(&names, " ", command->get_name());
  return names;
}

std::string Case(const std::string& command, const std::string& words) {
  return absl::StrCat("    '", command, "') words=\"", words, "\" ;;\n");
}

std::string BashScript(const CLI::App& app) {
  const std::string names = CommandNames(CommandsOf(app));
  std::string cases;
  std::string parts;  // what follows a command that has commands of its own
  for (const CLI::App* command : CommandsOf(app)) {
    const std::string below = CommandNames(CommandsOf(*command));
    cases += Case(command->get_name(), absl::StrCat(below, FlagsOf(*command)));
    if (!below.empty()) parts += Case(command->get_name(), below);
    for (const CLI::App* part : CommandsOf(*command)) {
      cases += Case(absl::StrCat(command->get_name(), " ", part->get_name()), FlagsOf(*part));
    }
  }
  return absl::StrCat(
      "# For bash: source <(lockstep completion bash)\n_lockstep() {\n  local "
      "current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\"",
      names,
      // The value of a flag before the command is no command, and is passed over.
      "\" command word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    [[ \" $words \" == *\" $word \"* ]] || continue\n"
      "    command=${command:+$command }$word words=\n"
      "    case $command in\n",
      parts, "    esac\n    [[ -n $words ]] || break\n  done\n  case $command in\n",
      Case("", absl::StrCat(names, FlagsOf(app))), cases,
      "  esac\n  case $previous in\n    --format) case $command in run|watch|report|rerun) words='",
      absl::StrJoin(ReportFormats(), " "),
      "' ;; *) words='text json csv' ;; esac ;;\n    "
      "watch|report|stop|rerun|label|note) words=\"last $words\" ;;\n  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n  case $command in\n    "
      "run|submit|plan|check|translate) [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "
      "\"$current\")) ;;\n  "
      "esac\n}\n"
      "complete -F _lockstep lockstep\n");
}

}  // namespace

void AddCompletionCommand(CLI::App* app, int* status) {
  const auto shell = std::make_shared<std::string>("bash");
  CLI::App* completion =
      app->add_subcommand("completion", "Print a completion script for the shell");
  completion->add_option("SHELL", *shell, "bash or zsh")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->capture_default_str();
  completion->footer("Example:\n  source <(lockstep completion bash)");
  completion->callback([=] {
    if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << BashScript(*app);
    *status = kOk;
  });
}

}  // namespace lockstep::cli
