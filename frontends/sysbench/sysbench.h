#pragma once

#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/frontend.h"

namespace lockstep::frontends::sysbench {

// A word of a command line, and its place for messages.
struct Word {
  std::string text;
  Origin where;
};
// The words behind `sysbench`.
struct Command {
  std::vector<Word> words;
  Origin where;
};

// The command lines of a file, such as a shell script: lines of `sysbench …`, with the shell's
// quotes and continued lines. A redirected output, and lines that do no I/O (`cd`, `set`, `echo`),
// are left out with a remark. Anything else of a shell is an error.
struct Script {
  std::vector<Command> commands;
  std::vector<Message> remarks;
  std::vector<Message> errors;
};
Script ReadScript(const SourceFile& file);
// Whether the file is a shell script with a command line of sysbench, or begins with one.
bool LooksLikeScript(const std::string& text);

// Command lines of sysbench 1.0's fileio, in their order: each is a phase of the job. The request
// gives the hosts, the directory and the name of the first file.
Translation TranslateCommands(const std::vector<Command>& commands, const Request& request);
// The words behind `sysbench`, as a program gets them.
Translation TranslateArguments(const std::vector<std::string>& arguments, const Request& request);

// Each line's phase has a label of the job, `sysbench.` and the phase's name: "fileio", and those
// options without their default that a report shows and no field of the job says, such as
// "fileio percentile=99 report-interval=1".
inline constexpr char kLabelPrefix[] = "sysbench.";

}  // namespace lockstep::frontends::sysbench
