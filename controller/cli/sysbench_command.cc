// sysbench: a command line of sysbench fileio, run on the fleet.

#include <iostream>
#include <memory>

#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/cli/local_run.h"
#include "frontends/sysbench/sysbench.h"

namespace lockstep::cli {
namespace {

struct Flags {
  frontends::Request request;
  bool show = false;
  std::vector<std::string> sets;
  std::string confirm;
  ReportFormat report{"sysbench"};
  LocalFlags local;
};

int Run(const Context& context, const Flags& flags, const std::vector<std::string>& arguments) {
  std::vector<std::string> remarks;
  const JobFile file = JobFileOf(frontends::sysbench::TranslateArguments(arguments, flags.request),
                                 "sysbench", flags.sets, &remarks);
  for (const std::string& error : file.errors) std::cerr << common::Printable(error) << "\n";
  if (!file.errors.empty()) return kInvalidJob;
  if (flags.show) {
    // The remarks are comments of the job.
    std::cout << common::PrintableLines(file.source, file.source.size());
    return std::cout.flush() ? kOk : Fail("standard output: the job cannot be written");
  }
  for (const std::string& remark : remarks) {
    std::cerr << "remark: " << common::Printable(remark) << "\n";
  }
  const Submitter by{UserName(), flags.confirm, flags.local.is_local};
  LocalFlags local = flags.local;
  local.directory = flags.request.directory;
  return WithLocalFleet(context, local, [&](const Context& with) {
    return SubmitAndFollow(with, file, by, flags.report);
  });
}

}  // namespace

void AddSysbenchCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = app->add_subcommand(
      "sysbench", "Run a command line of sysbench fileio: options fileio prepare|run|cleanup");
  command->add_option(
      "--hosts", flags->request.hosts,
      "On how many hosts it runs, or their names: 4, node[1-8],db1; one without it");
  command->add_option("--directory", flags->request.directory,
                      "The directory in place of sysbench's working directory; each host has a "
                      "directory of its name in it");
  command->add_option("--set", flags->sets, "Override a field of the job: store_filesystem=true")
      ->allow_extra_args(false);
  command->add_flag("--show", flags->show, "Print the job as YAML instead of running it");
  command->add_option("--confirm", flags->confirm,
                      "The token that `lockstep plan` gives: what that plan overwrites may be "
                      "overwritten");
  AddReportFormat(command, &flags->report);
  AddLocalFlags(command, &flags->local);
  command->footer(
      "All other words are sysbench's. Options of sysbench 1.0 have their meaning and their "
      "defaults; what a job cannot do is refused by the option's name. `cleanup` removes only "
      "files that Lockstep made.\n\nExit status: as of `lockstep run`.\n\nExamples:\n  lockstep "
      "sysbench --directory /mnt/san --hosts 4 fileio --file-total-size=8G prepare\n  lockstep "
      "sysbench --directory /mnt/san --hosts 4 fileio --file-total-size=8G "
      "--file-test-mode=rndrw --threads=8 run\n  lockstep sysbench --directory /mnt/san --hosts 4 "
      "fileio --file-total-size=8G cleanup");
  // Words that no command knows come to the program, because its own options may stand behind a
  // command. Here they are sysbench's, and of no other command.
  command->preparse_callback([app](size_t) { app->allow_extras(); });
  command->callback([=] { *status = Run(*context, *flags, app->remaining()); });
}

}  // namespace lockstep::cli
