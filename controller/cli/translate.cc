// translate: a file of another tool as a job file.

#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "controller/cli/commands.h"

namespace lockstep::cli {
namespace {

int Translate(const std::vector<std::string>& paths, const TranslateFlags& flags,
              const std::vector<std::string>& sets) {
  std::vector<frontends::SourceFile> files;
  for (const std::string& path : paths) {
    std::optional<std::string> source = ReadJobSource(path);
    if (!source) return kInvalidJob;
    files.push_back({path == "-" ? "stdin" : path, *std::move(source)});
  }
  // All files are of one language, as on the command line of the tool itself.
  const auto front_end = ChooseFrontEnd(files[0], flags.language);
  if (!front_end) {
    Fail(absl::StrCat(files[0].name,
                      ": is of no language that is known here; say which with "
                      "--language ",
                      absl::StrJoin(Languages(), ", ")));
    return kInvalidJob;
  }
  std::vector<std::string> remarks;
  const JobFile file = TranslateJob(*front_end, files, flags, sets, &remarks);
  for (const std::string& error : file.errors) std::cerr << common::Printable(error) << "\n";
  if (!file.errors.empty()) return kInvalidJob;
  // The file may be somebody else's: its names must not reach a terminal as escape codes.
  std::cout << common::PrintableLines(file.source, file.source.size());
  return std::cout.flush() ? kOk : Fail("standard output: the job cannot be written");
}

}  // namespace

void AddTranslateFlags(CLI::App* command, TranslateFlags* flags) {
  command->add_option("--hosts", flags->hosts,
                      "With a file of another tool: on how many hosts it runs, or their names: 4, "
                      "node[1-8],db1; one without it");
  command->add_option("--directory", flags->directory,
                      "With a file of another tool: the directory in place of its working "
                      "directory; each host has a directory of its name in it");
  command->add_option("--target", flags->target,
                      "With a file of another tool: the file or device of jobs that name none");
  command
      ->add_option("--disk", flags->disks,
                   "With a file of Iometer or vdbench: the device in place of a disk that it "
                   "names: NAME=/dev/…; may be given several times")
      ->allow_extra_args(false);
  command
      ->add_option("--language", flags->language,
                   "The language of the file; by default known by its name or content")
      ->check(CLI::IsMember(Languages()));
}

void AddTranslateCommand(CLI::App* app, int* status) {
  struct Flags {
    std::vector<std::string> files;
    std::vector<std::string> sets;
    TranslateFlags translate;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* translate = app->add_subcommand(
      "translate", "Print the file of another tool as a job file; needs no controller");
  translate
      ->add_option("FILE", flags->files,
                   "The file; - is standard input; several as the tool would be given them")
      ->required()
      ->expected(1, 64);
  translate
      ->add_option("--set", flags->sets,
                   "Override a field of the job: phases.1.run.duration=10s; the job names the flag "
                   "beside the field")
      ->allow_extra_args(false);
  AddTranslateFlags(translate, &flags->translate);
  translate->footer(
      "Each line of the job names the option and the line that it comes from. `run`, `plan`, "
      "`check` and `submit` take such files as they are.\n\nExit status: 0 translated, 2 the file "
      "has errors, or options that a job cannot express.\n\nExample:\n  lockstep translate "
      "mixed.fio "
      "--hosts 4 --directory /mnt/san > mixed.yaml");
  translate->callback([=] { *status = Translate(flags->files, flags->translate, flags->sets); });
}

}  // namespace lockstep::cli
