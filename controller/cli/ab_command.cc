// run --ab: two jobs, their runs interleaved, and the comparison of what they came to.

#include "controller/cli/ab_command.h"

#include <array>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/cli/follow.h"
#include "controller/report/verdict.h"
#include "measure/states.h"

namespace lockstep::cli {
namespace {

// The report of a run that has ended, from this controller or one that takes over.
absl::StatusOr<v1::Report> ReportOf(const Context& context, const std::string& run_id,
                                    std::unique_ptr<v1::Controller::Stub>* stub) {
  Successors successors(context);
  while (true) {
    grpc::ClientContext call;
    v1::ReportRequest request;
    request.set_run_id(run_id);
    v1::Report report;
    const absl::Status status = ToAbsl((*stub)->GetReport(&call, request, &report));
    if (status.ok()) return report;
    if (!IsControllerLost(status)) return status;
    *stub = successors.Next(status, "the run has ended; ");
    if (*stub == nullptr) return status;
  }
}

// Runs one job to its end, and prints no report. kOk if its figures can be compared. Unmet
// expectations are no obstacle to a comparison. Corrupted data is: it comes before all else, as
// with a single run (client.h), and figures of wrong data are worth nothing.
int RunOnce(const Context& context, const JobFile& file, const Submitter& by, std::string* run_id) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  if (const int status = SubmitJob(context, &*stub, file, by, run_id); status != kOk) return status;
  const Watched watched = FollowToEnd(context, *run_id, Owner::kSubmitter, nullptr, &*stub);
  if (watched.left) return Fail("the run goes on, and no further one is started");
  if (!watched.status.ok()) return Fail(watched.status);
  const v1::RunSummary& run = watched.summary;
  const bool is_done = measure::Is(run, measure::RunState::kDone);
  const std::string name = absl::StrCat("run ", run_id->substr(0, 8), " of ", file.name);
  const absl::StatusOr<v1::Report> report = ReportOf(context, *run_id, &*stub);
  if (report.ok()) {
    if (const std::string corruption = controller::CorruptionText(*report); !corruption.empty()) {
      Fail(absl::StrCat(name, ": DATA CORRUPTED: ", corruption));
      return kCorrupted;
    }
  } else if (is_done) {
    // A run that failed early may have no report, and its outcome says why.
    return Fail(absl::StrCat(name, ": its report cannot be read: ", report.status().message()));
  }
  if (measure::Is(run, measure::RunState::kCancelled)) return kCancelled;
  if (is_done) return kOk;
  Fail(absl::StrCat(name, " is ", run.state(), ": ", run.outcome()));
  return kRunFailed;
}

}  // namespace

void AddAbFlags(CLI::App* run, std::string* baseline, uint32_t* repeat) {
  CLI::Option* ab =
      run->add_option("--ab", *baseline,
                      "Another job file, the baseline: run both in turn, and print the comparison");
  run->add_option("--repeat", *repeat, "With --ab: how often to run each of the two")
      ->check(CLI::Range(1, 100))
      ->capture_default_str()
      ->needs(ab);
  // These are of one report; the comparison goes to standard output.
  for (const char* of_one : {"--output", "--detail", "--require-all-hosts"}) {
    ab->excludes(run->get_option(of_one));
  }
}

int RunAb(const Context& context, const AbFlags& flags) {
  // Other forms are of one report.
  if (flags.format != "text" && flags.format != "json" && flags.format != "junit" &&
      flags.format != "github" && flags.format != "markdown") {
    return Fail(absl::StrCat("--format ", flags.format,
                             ": a comparison is text, json, junit, github or markdown"));
  }
  std::array<std::unique_ptr<JobFile>, 2> files;
  for (size_t side = 0; side < files.size(); ++side) {
    files[side] = LoadJobFile(side == 0 ? flags.baseline : flags.file, flags.sets, flags.translate);
    if (files[side] == nullptr) return kInvalidJob;
  }
  std::array<std::vector<std::string>, 2> runs;
  for (uint32_t pair = 0; pair < flags.repeat; ++pair) {
    // The first of each pair alternates (A B, B A), so that a drift within the pairs meets both.
    for (const size_t side : {pair % 2, 1 - pair % 2}) {
      std::cerr << "run " << runs[side].size() + 1 << " of " << flags.repeat << " of "
                << common::Printable(files[side]->name) << "\n";
      std::string run_id;
      const int status = RunOnce(context, *files[side], flags.by, &run_id);
      if (status != kOk) return status;
      runs[side].push_back(run_id);
    }
  }
  for (size_t side = 0; side < runs.size(); ++side) {
    // Standard output holds the comparison alone. `lockstep compare` takes these lists.
    std::cerr << common::Printable(files[side]->name) << ": " << absl::StrJoin(runs[side], ",")
              << "\n";
  }
  return CompareRuns(context, {{files[0]->name, runs[0]}, {files[1]->name, runs[1]}}, flags.format);
}

}  // namespace lockstep::cli
