#pragma once

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "controller/cli/client.h"
#include "controller/cli/report_formats.h"

namespace lockstep::cli {

// Each adds its sub-commands to the program. The chosen one writes its exit status to `*status`
// when the command line has been parsed; `context` is filled in by then. Both outlive the program's
// App.
// run, submit, watch, stop, report, rerun, plan
void AddRunCommands(CLI::App* app, const Context* context, int* status);
// status, history, hosts, forget
void AddListingCommands(CLI::App* app, const Context* context, int* status);
// devices, with enroll and release
void AddDevicesCommand(CLI::App* app, const Context* context, int* status);
// compare, gate, label, note, prune
void AddHistoryCommands(CLI::App* app, const Context* context, int* status);
// export, import
void AddArchiveCommands(CLI::App* app, const Context* context, int* status);
void AddAuditCommand(CLI::App* app, const Context* context, int* status);
// pki: init, issue, list, renew, revoke
void AddPkiCommand(CLI::App* app, const Context* context, int* status);
// fleet up, down, renew, list
void AddFleetCommand(CLI::App* app, const Context* context, int* status);
void AddUpCommand(CLI::App* app, const Context* context, int* status);
void AddDemoCommand(CLI::App* app, const Context* context, int* status);
void AddSqlCommand(CLI::App* app, const Context* context, int* status);
void AddCheckCommand(CLI::App* app, int* status);
void AddTranslateCommand(CLI::App* app, int* status);
void AddPresetCommand(CLI::App* app, const Context* context, int* status);
// Runs a command line of sysbench fileio.
void AddSysbenchCommand(CLI::App* app, const Context* context, int* status);
void AddSchemaCommand(CLI::App* app, int* status);
void AddCompletionCommand(CLI::App* app, int* status);
void AddDoctorCommand(CLI::App* app, const Context* context, int* status);
void AddSupportBundleCommand(CLI::App* app, const Context* context, int* status);

// --hosts, --directory, --target and --language; `flags` outlive the command.
void AddTranslateFlags(CLI::App* command, TranslateFlags* flags);

// The flags that say which runs: --job, --owner, --label, --host, …; `filter` outlives the command.
void AddRunFilter(CLI::App* command, v1::RunFilter* filter);

// Prints the comparison of sets of runs, each with its name and ids, as text, json, junit,
// github or markdown.
struct NamedRuns {
  std::string name;
  std::vector<std::string> ids;
};
int CompareRuns(const Context& context, const std::vector<NamedRuns>& sets,
                const std::string& format);

// Prints the trends of the figures of the runs that are asked for.
int ShowTrends(const Context& context, const v1::HistoryRequest& asked, const std::string& format);

// Submits a job and follows it to its end: report to stdout, or where `format` says,
// everything else to stderr. The exit status says how it ended.
struct Submitter {
  std::string owner;
  std::string confirm;  // a plan's token; empty: a person is asked where one is needed
  // Files may lie on the store's file system, whatever the job says: the fleet
  // ends with this command.
  bool store_filesystem = false;
};
// The job as it is submitted.
v1::JobSpec JobOf(const JobFile& file, const Submitter& by);
// Puts the job into the queue; prints problems and warnings. If the connection breaks before the
// answer, it submits again, to the same controller or one that takes over, which have one run of
// it. `stub` is then the last controller's.
int SubmitJob(const Context& context, std::unique_ptr<v1::Controller::Stub>* stub,
              const JobFile& file, const Submitter& by, std::string* run_id);
int SubmitAndFollow(const Context& context, const JobFile& file, const Submitter& by,
                    const ReportFormat& format);
// --format, --detail and --output; `format` outlives the command.
void AddReportFormat(CLI::App* command, ReportFormat* format);
// Prints a run's report; the exit status tells whether it is done and its expectations held.
int PrintReport(const Context& context, v1::Controller::Stub* stub, const std::string& run_id,
                const ReportFormat& format);

}  // namespace lockstep::cli
