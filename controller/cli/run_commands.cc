// run, submit, watch, stop, report, rerun, plan.

#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/ab_command.h"
#include "controller/cli/commands.h"
#include "controller/cli/fleet_commands.h"
#include "controller/cli/follow.h"
#include "controller/cli/local_run.h"
#include "controller/cli/plan_view.h"
#include "controller/cli/refusals.h"
#include "controller/report/json.h"
#include "controller/report/verdict.h"
#include "measure/states.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

struct RunFlags {
  std::string file;
  std::string run = "last";
  std::string format = "text";  // of what is no report
  ReportFormat report;
  std::string owner = UserName();
  std::string confirm;
  std::string reason;
  std::vector<std::string> sets;
  std::string baseline;
  uint32_t repeat = 5;
  bool now = false;
  bool phase_only = false;
  LocalFlags local;
  SshFlags ssh;
  TranslateFlags translate;
};

void AddFormat(CLI::App* command, RunFlags* flags, const std::vector<std::string>& formats) {
  command->add_option("--format", flags->format, "How to print")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

int StatusOf(const v1::Report& report, const ReportFormat& format) {
  // Corrupted data comes first, whatever else happened to the run (client.h).
  if (!controller::CorruptionText(report).empty()) return kCorrupted;
  const v1::RunSummary& run = report.run();
  const bool is_done = measure::Is(run, measure::RunState::kDone);
  if (measure::Is(run, measure::RunState::kCancelled)) return kCancelled;
  // A run in progress has not failed. Its expectations count only when it is done, because those of
  // phases that are still to come count as not met.
  if (!is_done && !measure::IsInProgress(run)) return kRunFailed;
  if (!report.expectations_met() && is_done) return kNotMet;
  if (is_done && !controller::UnmeasuredText(report).empty()) return kRunFailed;
  return format.require_all_hosts && report.run().degraded() ? kDegraded : kOk;
}

// Prints a run's report and returns the run's exit status. An error if the report cannot be
// fetched; nothing is printed then.
absl::StatusOr<int> TryPrintReport(const Context& context, v1::Controller::Stub* stub,
                                   const std::string& run_id, const ReportFormat& format) {
  v1::Report report;
  const absl::StatusOr<std::string> text = FetchReport(context, stub, run_id, format, &report);
  if (!text.ok()) return text.status();
  if (format.output.empty()) {
    std::cout << *text;
    // A full disk behind a redirection shows only here. A script must not take half a report for a
    // whole one.
    if (!std::cout.flush()) return Fail("standard output: the report cannot be written");
  } else if (WriteOutput(format.output, *text) != kOk) {
    return kError;
  }
  return StatusOf(report, format);
}

// Prints the report of a run that was followed to its end. If it cannot be read, the summary is
// enough for the exit status of a run that failed or was cancelled. Only the report knows whether
// the expectations of a run that is done were met.
int ReportFollowed(const Context& context, std::unique_ptr<v1::Controller::Stub> stub,
                   const v1::RunSummary& summary, const std::string& run_id,
                   const ReportFormat& format) {
  const bool ended_early = !summary.state().empty() && !measure::IsInProgress(summary) &&
                           !measure::Is(summary, measure::RunState::kDone);
  Successors successors(context);
  while (true) {
    const absl::StatusOr<int> printed = TryPrintReport(context, stub.get(), run_id, format);
    if (printed.ok()) return *printed;
    if (ended_early) {
      v1::Report known;
      *known.mutable_run() = summary;
      // Why the run ended is what its user needs, before why there is no report of it.
      Fail(absl::StrCat("the run is ", summary.state(), summary.outcome().empty() ? "" : ": ",
                        summary.outcome()));
      // A run that was refused has nothing that sysbench's form, or another one, shows.
      if (!absl::IsFailedPrecondition(printed.status())) {
        std::cerr << common::Printable(std::string(printed.status().message())) << "\n";
      }
      std::cerr << "lockstep report " << run_id.substr(0, 8) << " shows what is known of it\n";
      return StatusOf(known, format);
    }
    if (!IsControllerLost(printed.status())) return Fail(printed.status());
    stub = successors.Next(printed.status(), "the run has ended; ");
    if (stub == nullptr) {
      return Fail(absl::StrCat("the report cannot be read (", printed.status().message(),
                               "); lockstep report ", run_id.substr(0, 8), " reads it again"));
    }
  }
}

int Follow(const Context& context, std::unique_ptr<v1::Controller::Stub> stub,
           const std::string& run_id, const ReportFormat& format, Owner owner,
           LiveSysbench* sysbench) {
  const Watched watched = FollowToEnd(context, run_id, owner, sysbench, &stub);
  if (watched.left && context.is_local) {
    std::cerr << "the controller and the workers end with this command, and the run with them\n";
    return kCancelled;
  }
  if (watched.left) {
    std::cerr << "the run goes on; lockstep watch " << run_id.substr(0, 8) << " follows it again\n";
    return kOk;
  }
  if (!watched.status.ok()) return Fail(watched.status);
  return ReportFollowed(context, std::move(stub), watched.summary, run_id, format);
}

int Rerun(const Context& context, const RunFlags& flags) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::JobRequest request;
  request.set_run_id(flags.run);
  v1::JobReply reply;
  const grpc::Status status = (*stub)->GetJob(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  // With --set, the job is parsed from its source again, so that the overrides pass the same
  // checks. Without, it is submitted exactly as it was.
  JobFile file;
  if (flags.sets.empty()) {
    file.name = "job";
    file.source = reply.source();
    file.job = reply.job();
  } else {
    file = ParseJobFile("job", reply.source(), flags.sets);
    for (const std::string& error : file.errors) std::cerr << error << "\n";
    if (!file.errors.empty()) return kInvalidJob;
  }
  return SubmitAndFollow(context, file, {flags.owner, flags.confirm}, flags.report);
}

std::string Said(v1::StopReply::Outcome outcome) {
  switch (outcome) {
    case v1::StopReply::OUTCOME_CANCELLED:
      return "cancelled";
    case v1::StopReply::OUTCOME_ENDING_PHASE:
      return "ending phase";
    default:
      return "stopping";
  }
}

int Stop(const Context& context, const RunFlags& flags) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::StopRequest request;
  request.set_run_id(flags.run);
  request.set_now(flags.now);
  request.set_phase_only(flags.phase_only);
  request.set_reason(flags.reason);
  v1::StopReply reply;
  const grpc::Status status = (*stub)->Stop(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  std::cout << common::Printable(absl::StrCat(Said(reply.outcome()), " run ", reply.run_id(), " (",
                                              reply.job_name(), ")"))
            << "\n";
  if (!reply.warning().empty()) {
    std::cerr << "lockstep: " << common::Printable(reply.warning()) << "\n";
  }
  return kOk;
}

int Plan(const Context& context, const RunFlags& flags) {
  const auto file = LoadJobFile(flags.file, flags.sets, flags.translate);
  if (file == nullptr) return kInvalidJob;
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::PlanRequest request;
  *request.mutable_job() = file->job;
  v1::PlanReply plan;
  const grpc::Status status = (*stub)->Plan(&call, request, &plan);
  if (!status.ok()) return PrintProblems(*file, status);
  // JSON escapes control characters itself. A terminal would obey them, so texts are cleaned for
  // it.
  if (flags.format == "json") {
    std::cout << controller::ToJson(plan);
  } else {
    v1::CleanTexts(&plan);
    PrintPlan(plan, context.Width());
  }
  // Refusals go to standard error even beside JSON, because the exit status does not say why.
  for (const std::string& refusal : Collapsed(plan.problems())) {
    std::cerr << "refused: " << refusal << "\n";
  }
  if (!plan.problems().empty()) return kInvalidJob;
  if (flags.format == "text") {
    std::cout << "\nnothing was written; `lockstep run"
              << (plan.overwrites().empty() ? "" : " --confirm " + plan.token())
              << "` would start this\n";
    std::cout << "token of this plan: " << plan.token() << "\n";
  }
  return kOk;
}

}  // namespace

void AddReportFormat(CLI::App* command, ReportFormat* format) {
  command
      ->add_option("--format", format->name, "How to print the report (docs/reference/reports.md)")
      ->check(CLI::IsMember(ReportFormats()))
      ->capture_default_str();
  command->add_flag("--detail", format->detail,
                    "The whole text report: workloads, hosts, threads, devices, kernels");
  command->add_option("--output", format->output, "Write the report to this file");
  command->add_flag("--require-all-hosts", format->require_all_hosts,
                    "Exit with 7 if a host was lost, also where nothing else is wrong");
}

int PrintReport(const Context& context, v1::Controller::Stub* stub, const std::string& run_id,
                const ReportFormat& format) {
  const absl::StatusOr<int> printed = TryPrintReport(context, stub, run_id, format);
  return printed.ok() ? *printed : Fail(printed.status());
}

int SubmitAndFollow(const Context& context, const JobFile& file, const Submitter& by,
                    const ReportFormat& format) {
  // A mistyped --output is told before the run, which may take hours, and not behind it.
  if (!format.output.empty()) {
    if (absl::Status fitting = CheckOutput(format.output); !fitting.ok()) return Fail(fitting);
  }
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  std::string run_id;
  if (const int status = SubmitJob(context, &*stub, file, by, &run_id); status != kOk)
    return status;
  // Progress goes to standard error, so that standard output holds the report alone.
  std::cerr << "run " << common::Printable(run_id) << "\n";
  ReportFormat report = format;
  // In sysbench's layout, the report begins while the run goes on. A file gets all of it at the
  // end.
  LiveSysbench live(JobOf(file, by));
  const bool is_live = format.name == "sysbench" && format.output.empty() && live.is_wanted();
  if (is_live) report.live = &live;
  return Follow(context, *std::move(stub), run_id, report, Owner::kSubmitter,
                is_live ? &live : nullptr);
}

namespace {

using SharedRunFlags = std::shared_ptr<RunFlags>;

void WithFile(CLI::App* command, const SharedRunFlags& flags) {
  command
      ->add_option("FILE", flags->file, "The job file, or one of another tool; - is standard input")
      ->required();
  // By default, CLI11 lets an option with a vector take all words that follow, FILE among them.
  command->add_option("--set", flags->sets, "Override a field: phases.0.run.duration=10s")
      ->allow_extra_args(false);
  AddTranslateFlags(command, &flags->translate);
}

void WithConfirm(CLI::App* command, const SharedRunFlags& flags) {
  command->add_option("--confirm", flags->confirm,
                      "The token that `lockstep plan` gives: what that plan overwrites may be "
                      "overwritten");
}

void WithRun(CLI::App* command, const SharedRunFlags& flags) {
  command->add_option("RUN", flags->run, "The run's id, the start of one, or last")
      ->capture_default_str();
}

void AddRun(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* run = app->add_subcommand("run", "Submit a job, watch it, print its report");
  WithFile(run, flags);
  WithConfirm(run, flags);
  AddReportFormat(run, &flags->report);
  AddAbFlags(run, &flags->baseline, &flags->repeat);
  AddLocalFlags(run, &flags->local);
  AddSshRunFlags(run, &flags->ssh);
  run->footer(
      "Exit status: 0 done and as expected, 2 the job file has errors, 3 the run failed or was "
      "aborted, or a load\nmeasured nothing, 4 an expectation or a limit of the start skew was not "
      "met, 6 data was corrupted, 7 a host was lost\nwith --require-all-hosts, 130 cancelled, 1 "
      "anything else. With --ab, the first run that ends with 3, 6 or 130 ends\nthe series with "
      "its status; otherwise the status is 0, and expectations do not count.\n\nExamples:\n  "
      "lockstep run mixed.yaml --set phases.1.run.duration=30s --format json > result.json\n  "
      "lockstep run --ab depth8.yaml depth16.yaml --repeat 8\n  "
      "lockstep run --local mixed.yaml --allow /mnt/san\n  "
      "lockstep run --ssh node[1-8] mixed.yaml --allow /mnt/san");
  run->callback([=] {
    const Submitter by{flags->owner, flags->confirm, flags->local.is_local || flags->ssh.any()};
    const absl::Status fitting = CheckLocalFlags(
        flags->local, flags->ssh.any() ? FleetOf::kSshHosts : FleetOf::kThisMachine);
    if (!fitting.ok()) return void(*status = Fail(fitting));
    if (!flags->baseline.empty()) {
      const AbFlags ab{flags->baseline,    flags->file,     flags->repeat, flags->sets, by,
                       flags->report.name, flags->translate};
      return void(*status = WithSshFleet(*context, flags->ssh, flags->local,
                                         [&](const Context& with) { return RunAb(with, ab); }));
    }
    // Errors of the file are shown before anything is started.
    const auto file = LoadJobFile(flags->file, flags->sets, flags->translate);
    if (file == nullptr) return void(*status = kInvalidJob);
    LocalFlags local = flags->local;
    local.directory = flags->translate.directory;
    *status = WithSshFleet(*context, flags->ssh, local, [&](const Context& with) {
      return SubmitAndFollow(with, *file, by, flags->report);
    });
  });
}

void AddSubmit(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* submit = app->add_subcommand("submit", "Submit a job and print the run's id");
  WithFile(submit, flags);
  WithConfirm(submit, flags);
  submit->footer("Example:\n  run=$(lockstep submit mixed.yaml) && lockstep watch $run");
  submit->callback([=] {
    const auto file = LoadJobFile(flags->file, flags->sets, flags->translate);
    if (file == nullptr) return void(*status = kInvalidJob);
    auto stub = context->Connect();
    if (!stub.ok()) return void(*status = Fail(stub.status()));
    std::string run_id;
    *status = SubmitJob(*context, &*stub, *file, {flags->owner, flags->confirm}, &run_id);
    // Nothing else goes to standard output, so that a shell can capture the id.
    if (*status == kOk) std::cout << common::Printable(run_id) << "\n";
  });
}

void AddWatch(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* watch = app->add_subcommand("watch", "Follow a run to its end, then print its report");
  WithRun(watch, flags);
  AddReportFormat(watch, &flags->report);
  watch->footer("Example:\n  lockstep watch last");
  watch->callback([=] {
    auto stub = context->Connect();
    *status = stub.ok() ? Follow(*context, *std::move(stub), flags->run, flags->report,
                                 Owner::kSpectator, nullptr)
                        : Fail(stub.status());
  });
}

void AddStop(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* stop =
      app->add_subcommand("stop", "End a run: stop its load, then run its cleanup phases");
  WithRun(stop, flags);
  stop->get_option("RUN")->description(
      "The run's id or the start of one; last is the one run that is queued or in progress");
  stop->add_flag("--now", flags->now, "Stop the load and run no further phase, not even cleanup");
  stop->add_flag("--phase", flags->phase_only,
                 "End only the running load, at the end of one interval on all hosts; what it "
                 "measured counts, and the run goes on with its next phase")
      ->excludes("--now");
  stop->add_option("--reason", flags->reason, "Why; recorded with the run");
  stop->footer("Example:\n  lockstep stop last --now --reason 'the SAN complains'");
  stop->callback([=] { *status = Stop(*context, *flags); });
}

void AddReport(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* report = app->add_subcommand("report", "Print a run's report");
  WithRun(report, flags);
  AddReportFormat(report, &flags->report);
  report->add_option(
      "--host", flags->report.host,
      "With fio, fio-text, fio-log, hlog and vdbench: the figures of this host alone");
  report->footer(
      "Examples:\n  lockstep report 3f2a --detail\n  lockstep report 3f2a --format html --output "
      "run.html\n  lockstep report last --format hlog --host node7");
  report->callback([=] {
    auto stub = context->Connect();
    *status = stub.ok() ? PrintReport(*context, stub->get(), flags->run, flags->report)
                        : Fail(stub.status());
  });
}

void AddRerun(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* rerun =
      app->add_subcommand("rerun", "Submit the job of an earlier run again, and watch it");
  WithRun(rerun, flags);
  WithConfirm(rerun, flags);
  rerun->add_option("--set", flags->sets, "Override a field: phases.0.run.duration=10s")
      ->allow_extra_args(false);
  AddReportFormat(rerun, &flags->report);
  rerun->footer("Example:\n  lockstep rerun last");
  rerun->callback([=] { *status = Rerun(*context, *flags); });
}

void AddPlan(CLI::App* app, const Context* context, int* status, const SharedRunFlags& flags) {
  CLI::App* plan = app->add_subcommand(
      "plan", "Show what a job would run where, and what it would write; writes nothing");
  WithFile(plan, flags);
  AddFormat(plan, flags.get(), {"text", "json"});
  plan->footer("Example:\n  lockstep plan mixed.yaml");
  plan->callback([=] { *status = Plan(*context, *flags); });
}

}  // namespace

void AddRunCommands(CLI::App* app, const Context* context, int* status) {
  // A command line has exactly one command (require_subcommand() in program.cc), so that all of
  // them can share one set of flags.
  const auto flags = std::make_shared<RunFlags>();
  AddRun(app, context, status, flags);
  AddSubmit(app, context, status, flags);
  AddWatch(app, context, status, flags);
  AddStop(app, context, status, flags);
  AddReport(app, context, status, flags);
  AddRerun(app, context, status, flags);
  AddPlan(app, context, status, flags);
}

}  // namespace lockstep::cli
