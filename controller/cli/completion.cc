// completion: the shell's completion script, made from the commands themselves.

#include <iostream>
#include <memory>

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

std::string BashScript(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    absl::StrAppend(&names, " ", command->get_name());
    absl::StrAppend(&cases, "    ", command->get_name(), ") words=\"", FlagsOf(*command),
                    "\" ;;\n");
  }
  return absl::StrCat(
      "# For bash: source <(lockstep completion bash)\n_lockstep() {\n  local "
      "current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words command word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case $word in -*) ;; *) "
      "command=$word; break ;; esac\n  done\n  case $command in\n    '') words=\"",
      names, FlagsOf(app), "\" ;;\n", cases,
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
