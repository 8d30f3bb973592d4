// check: whether a job file is valid, without a controller.

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/settle.h"
#include "controller/plan/sweep.h"
#include "controller/plan/validate.h"

namespace lockstep::cli {
namespace {

// "1 target", "3 targets".
std::string CountOf(size_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// "sizes at 3 points, 5 times each"; with an end by results "at most 5 times each"; "curve in 4
// steps".
std::string NameWithSteps(const v1::PhaseSpec& phase) {
  if (!phase.run().has_sweep()) {
    const uint32_t steps = controller::CountSteps(phase);
    return absl::StrCat(phase.name(), steps > 1 ? absl::StrCat(" in ", steps, " steps") : "");
  }
  const v1::Sweep& sweep = phase.run().sweep();
  const uint32_t repeat = std::max(1U, sweep.repeat());
  const auto points = static_cast<size_t>(controller::PointsOf(sweep) / repeat);
  const bool may_end = sweep.has_until() || sweep.has_until_steady();
  return absl::StrCat(
      phase.name(), " at ", CountOf(points, "point"),
      repeat > 1 ? absl::StrCat(", ", may_end ? "at most " : "", repeat, " times each") : "");
}

int Check(const std::string& path, const std::vector<std::string>& sets,
          const TranslateFlags& translate) {
  const auto file = LoadJobFile(path, sets, translate);
  if (file == nullptr) return kInvalidJob;
  // A copy is settled, because Locate() finds problems in the job as the file has it.
  v1::JobSpec job = file->job;
  const std::vector<v1::Problem> problems = controller::SettleJob(&job);
  for (const v1::Problem& problem : problems) {
    std::cerr << common::Printable(file->Locate(problem)) << "\n";
  }
  if (!problems.empty()) return kInvalidJob;
  for (const std::string& warning : controller::Warnings(job)) {
    std::cerr << "warning: " << common::Printable(warning) << "\n";
  }
  std::vector<std::string> phases;
  for (const v1::PhaseSpec& phase : job.phases()) phases.push_back(NameWithSteps(phase));
  // A sweep over a target's files has a target for each of its values, which the file does not.
  std::set<std::string> targets;
  for (const v1::Target& target : job.targets()) {
    targets.insert(target.variant_of().empty() ? target.name() : target.variant_of());
  }
  std::cout << common::Printable(absl::StrCat(
                   file->name, " is valid: ", CountOf(phases.size(), "phase"), " (",
                   absl::StrJoin(phases, ", "), "), ", CountOf(targets.size(), "target")))
            << "\nHosts, devices, free space and earlier runs are checked by `lockstep plan`.\n";
  return kOk;
}

}  // namespace

void AddCheckCommand(CLI::App* app, int* status) {
  struct Flags {
    std::string file;
    std::vector<std::string> sets;
    TranslateFlags translate;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* check =
      app->add_subcommand("check", "Say whether a job file is valid; needs no controller");
  check->add_option("FILE", flags->file, "The job file; - is standard input")->required();
  check->add_option("--set", flags->sets, "Override a field: phases.0.run.duration=10s")
      ->allow_extra_args(false);
  AddTranslateFlags(check, &flags->translate);
  check->footer(
      "Exit status: 0 valid, 2 the job file has errors.\n\nExample:\n  lockstep check "
      "mixed.yaml");
  check->callback([=] { *status = Check(flags->file, flags->sets, flags->translate); });
}

}  // namespace lockstep::cli
