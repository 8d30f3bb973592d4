// doctor: what keeps this host, the controller or the store from working, and what helps.

#include "controller/cli/doctor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/version.h"
#include "common/version_text.h"
#include "controller/cli/commands.h"
#include "controller/cli/local_fleet.h"
#include "google/protobuf/util/json_util.h"

namespace lockstep::cli {
namespace {

using doctor::Findings;

// Everything that the child writes until it ends, in `limits::kDoctorNs` at most; it is killed
// then.
std::string OutputOf(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const common::FileDescriptor reading(ends[0]);
  common::FileDescriptor writing(ends[1]);
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return "";
  // gRPC's threads may hold locks at the moment of fork(2), so that nothing but system calls may
  // follow (signal-safety(7)).
  if (pid == 0) {
    dup2(writing.get(), 1);
    execv(raw[0], raw.data());
    _exit(127);
  }
  // With a copy of it open here, the end of the child's output would never be seen.
  writing = common::FileDescriptor();
  std::string output;
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limits::kDoctorNs);
  char piece[65536];
  while (output.size() < static_cast<size_t>(limits::kDoctorBytes)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd readable = {reading.get(), POLLIN, 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t got = read(reading.get(), piece, sizeof piece);
    if (got <= 0) break;
    output.append(piece, static_cast<size_t>(got));
  }
  kill(pid, SIGKILL);  // it has ended, or takes too long
  // A child that sleeps in the kernel without taking signals is not waited for.
  for (int i = 0; i < 100 && waitpid(pid, nullptr, WNOHANG) == 0; ++i) usleep(10000);
  return output;
}

void DiagnoseHost(const DoctorFlags& flags, v1::DoctorReport* report) {
  Findings host(report, "host");
  const std::string worker = FindProgram("lockstep-worker");
  if (worker.empty()) {
    host.Ok("worker", "lockstep-worker is not beside this program: this host was not checked");
    return;
  }
  // The worker's program has the guard and the engines that a job would meet. This one has neither.
  std::vector<std::string> words = {worker, "--doctor=host", "--doctor-json"};
  for (const std::string& entry : flags.allow) words.push_back("--allow=" + entry);
  for (const std::string& entry : flags.allow_expendable) {
    words.push_back("--allow-expendable=" + entry);
  }
  if (!flags.state_directory.empty()) words.push_back("--state-dir=" + flags.state_directory);
  v1::DoctorReport found;
  const std::string json = OutputOf(words);
  if (!google::protobuf::util::JsonStringToMessage(json, &found).ok() || found.findings().empty()) {
    host.Problem("worker", absl::StrCat(worker, " --doctor has not answered"),
                 {"a worker would not start here either", absl::StrCat(worker, " --doctor")});
    return;
  }
  if (found.version() != common::kSoftwareVersion || found.commit() != common::VersionCommit()) {
    host.Warn("worker",
              absl::StrCat(worker, " is ", found.version(), " (commit ", found.commit(),
                           "), this program ", common::kSoftwareVersion, " (commit ",
                           common::VersionCommit(), ")"),
              {"a worker of another protocol is refused", "install both from one package"});
  }
  for (const v1::DoctorFinding& finding : found.findings()) {
    // Without --allow nothing was asked about targets.
    if (flags.allow.empty() && finding.area() == "allow") continue;
    *report->add_findings() = finding;
  }
}

int Doctor(const Context& context, const DoctorFlags& flags, bool json) {
  const v1::DoctorReport report = Diagnose(context, flags).report;
  std::cout << (json ? doctor::DoctorJson(report)
                     : doctor::RenderDoctor(
                           report, context.Colour(1) ? doctor::Colour::kYes : doctor::Colour::kNo));
  EndAtOnce(static_cast<int>(report.exit_status()));
}

}  // namespace

Diagnosis Diagnose(const Context& context, const DoctorFlags& flags) {
  Diagnosis diagnosis;
  v1::DoctorReport& report = diagnosis.report;
  report.set_at(absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()));
  report.set_version(common::kSoftwareVersion);
  report.set_commit(common::VersionCommit());
  DiagnoseHost(flags, &report);
  const std::vector<std::string> addresses =
      absl::StrSplit(context.controller, ',', absl::SkipEmpty());
  diagnosis.controller = doctor::CheckController(
      {doctor::Caller::kPerson, addresses, context.tls, context.insecure}, time(nullptr), &report);
  if (diagnosis.controller != nullptr) {
    CheckStore(diagnosis.controller->stub.get(), &report, &diagnosis.store_settings);
  }
  doctor::Conclude(&report);
  return diagnosis;
}

void EndAtOnce(int status) {
  std::cout << std::flush;
  const bool is_written = std::cout.good();
  close(STDOUT_FILENO);
  _exit(is_written ? status : 2);
}

void AddDoctorCommand(CLI::App* app, const Context* context, int* status) {
  struct Given {
    DoctorFlags flags;
    bool json = false;
  };
  const auto given = std::make_shared<Given>();
  CLI::App* command = app->add_subcommand(
      "doctor", "Check this host, the controller and the store, and say what helps");
  command->add_option("--allow", given->flags.allow,
                      "A path that a worker would be allowed here: say what it finds, and what the "
                      "guard would refuse");
  command->add_option("--allow-expendable", given->flags.allow_expendable,
                      "As the worker's --allow-expendable");
  command->add_option("--worker-state-dir", given->flags.state_directory,
                      "As the worker's --state-dir");
  command->add_flag("--json", given->json, "Print JSON");
  command->footer(
      "Changes nothing, and opens no device for writing.\nExit status: 0 all is well, 1 there are "
      "warnings, 2 there are problems.\n\nExamples:\n  lockstep doctor\n  lockstep doctor "
      "--controller ctl.example:9640 --allow /mnt/san --json\n  lockstep-worker --doctor "
      "--controller ctl.example:9640 --allow /mnt/san   # with a worker's flags");
  command->callback([=] { *status = Doctor(*context, given->flags, given->json); });
}

}  // namespace lockstep::cli
