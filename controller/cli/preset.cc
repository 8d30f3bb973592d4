// preset: jobs that come with Lockstep.

#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/cli/local_run.h"
#include "controller/cli/translated_job.h"
#include "frontends/presets/presets.h"

namespace lockstep::cli {
namespace {

struct PresetFlags {
  std::string name;
  frontends::PresetUse use;
  std::vector<std::string> sets;
  bool show = false;
  std::string confirm;
  ReportFormat report;
  LocalFlags local;
};

std::string PresetNames() {
  return absl::StrJoin(frontends::Presets(), ", ", [](std::string* out, const auto& preset) {
    absl::StrAppend(out, preset.name);
  });
}

int ListPresets() {
  size_t width = 0;
  for (const frontends::Preset& preset : frontends::Presets()) {
    width = std::max(width, preset.name.size());
  }
  for (const frontends::Preset& preset : frontends::Presets()) {
    std::cout << preset.name << std::string(width + 2 - preset.name.size(), ' ') << preset.summary
              << "\n";
  }
  return std::cout.flush() ? kOk : Fail("standard output: the list cannot be written");
}

// The preset as a job file. Prints the errors; nothing then.
std::optional<std::string> TextOf(const PresetFlags& flags) {
  const frontends::Preset* preset = frontends::FindPreset(flags.name);
  if (preset == nullptr) {
    Fail(absl::StrCat("'", flags.name, "' is no preset; the presets are: ", PresetNames()));
    return std::nullopt;
  }
  absl::StatusOr<std::string> text = frontends::FillPreset(*preset, flags.use);
  if (text.ok()) return *std::move(text);
  Fail(text.status());
  return std::nullopt;
}

// The comment that a preset begins with, line by line.
std::vector<std::string> FirstComments(const std::string& text) {
  std::vector<std::string> comments;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "# ")) break;
    comments.emplace_back(line);
  }
  return comments;
}

int Show(const std::string& job) {
  // Half a job file could be taken for a whole one, so the flush is checked.
  std::cout << common::PrintableLines(job, job.size());
  return std::cout.flush() ? kOk : Fail("standard output: the job cannot be written");
}

int RunPreset(const Context& context, const PresetFlags& flags) {
  if (flags.name.empty()) return ListPresets();
  const std::optional<std::string> text = TextOf(flags);
  if (!text) return kInvalidJob;
  // Without overrides the text is shown as it is, with all of its comments.
  if (flags.show && flags.sets.empty()) return Show(*text);
  // Parsed as text, so that --set and the places of errors work as with a file.
  const JobFile file = ParseJobFile("preset " + flags.name, *text, flags.sets);
  for (const std::string& error : file.errors) std::cerr << common::Printable(error) << "\n";
  if (!file.errors.empty()) return kInvalidJob;
  if (flags.show) return Show(WriteWithSets(file, {}, FirstComments(*text)).yaml);
  const Submitter by{UserName(), flags.confirm, flags.local.is_local};
  LocalFlags local = flags.local;
  local.directory = flags.use.directory;
  return WithLocalFleet(context, local, [&](const Context& with) {
    return SubmitAndFollow(with, file, by, flags.report);
  });
}

}  // namespace

void AddPresetCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<PresetFlags>();
  CLI::App* preset =
      app->add_subcommand("preset", "Run a job that comes with Lockstep, or list these jobs");
  preset->add_option("NAME", flags->name, "Which one; without a name they are listed");
  preset->add_option("--device", flags->use.device, "The device that the job works on: /dev/…");
  preset->add_option("--directory", flags->use.directory,
                     "The directory that the job makes its files in; each host has a directory of "
                     "its name in it");
  preset->add_option("--hosts", flags->use.hosts,
                     "On how many hosts it runs, or their names: 4, node[1-8],db1; one without it");
  preset->add_flag("--purge", flags->use.purge,
                   "With a pts- preset and --device: discard the whole device first");
  preset->add_option("--set", flags->sets, "Override a field: phases.0.run.duration=10s")
      ->allow_extra_args(false);
  preset->add_flag("--show", flags->show,
                   "Print the job file, with the overrides in it, and run nothing");
  preset->add_option("--confirm", flags->confirm,
                     "The token that `lockstep plan` gives: what that plan overwrites may be "
                     "overwritten");
  AddReportFormat(preset, &flags->report);
  AddLocalFlags(preset, &flags->local);
  preset->footer(
      "A preset gives no consent to overwrite anything: what it may write is judged as of any "
      "job.\nExit status: that of `run`.\n\nExamples:\n  lockstep preset\n  lockstep preset oltp "
      "--directory /mnt/san --hosts 4\n  lockstep preset iops-ladder --device /dev/sdb --show | "
      "lockstep plan -");
  preset->callback([=] { *status = RunPreset(*context, *flags); });
}

}  // namespace lockstep::cli
