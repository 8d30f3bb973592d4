// completion: the shell's completion script, made from the commands themselves.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "controller/cli/commands.h"

namespace lockstep::cli {
namespace {

std::string FlagsOf(const CLI::App& app) {
  std::string flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) absl::StrAppend(&flags, " --", name);
  }
  return flags;
}

// The words that the option takes, which CLI11 shows in its help as "TEXT:{text,json}". Empty where
// it takes any.
std::string WordsOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return absl::StrReplaceAll(type.substr(begin + 1, end - begin - 1), {{",", " "}});
}

// By command and option, so that each command offers what it accepts itself.
void AppendWords(const std::string& command, const CLI::App& app, std::string* cases) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string words = WordsOf(*option);
    if (words.empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      absl::StrAppend(cases, "    '", command, " --", name, "') words='", words, "' files= ;;\n");
    }
  }
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
  std::string values;
  std::string parts;  // what follows a command that has commands of its own
  for (const CLI::App* command : CommandsOf(app)) {
    const std::string below = CommandNames(CommandsOf(*command));
    cases += Case(command->get_name(), absl::StrCat(below, FlagsOf(*command)));
    AppendWords(command->get_name(), *command, &values);
    if (!below.empty()) parts += Case(command->get_name(), below);
    for (const CLI::App* part : CommandsOf(*command)) {
      const std::string whole = absl::StrCat(command->get_name(), " ", part->get_name());
      cases += Case(whole, FlagsOf(*part));
      AppendWords(whole, *part, &values);
    }
  }
  return absl::StrCat(
      "# For bash: source <(lockstep completion bash)\n_lockstep() {\n  local "
      "current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\"",
      names,
      // The value of a flag before the command is no command, and is passed over.
      "\" command word files=yes\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    [[ \" $words \" == *\" $word \"* ]] || continue\n"
      "    command=${command:+$command }$word words=\n"
      "    case $command in\n",
      parts, "    esac\n    [[ -n $words ]] || break\n  done\n  case $command in\n",
      Case("", absl::StrCat(names, FlagsOf(app))), cases,
      "  esac\n  case \"$command $previous\" in\n", values,
      "    'watch watch'|'report report'|'stop stop'|'rerun rerun'|'label label'|'note note') "
      "words=\"last $words\" ;;\n  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n  case $command in\n    "
      "run|submit|plan|check|translate) [[ -z $files || $current == -* ]] || COMPREPLY+=($(compgen "
      "-f -- "
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
    // zsh runs bash's scripts after bashcompinit, so that one script is enough.
    if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << BashScript(*app);
    *status = kOk;
  });
}

}  // namespace lockstep::cli
