// demo: a mixed load on four hosts of this machine.

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "controller/cli/commands.h"
#include "controller/cli/local_fleet.h"
#include "controller/cli/namespaces.h"

namespace lockstep::cli {
namespace {

struct DemoFlags {
  std::string state_directory = common::DefaultStateDirectory();
  std::string directory;
  ReportFormat format;
  int workers = 4;
};

// A directory of its own for the files, removed at the end.
class ScratchDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDirectory>> Make(const std::string& parent) {
    std::string path = parent + "/lockstep-demo-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return common::ErrnoStatus(errno, path);
    return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path));
  }
  // The job's clean-up has removed its files already; a job that was cancelled at once may leave
  // them.
  ~ScratchDirectory() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);  // follows no link
    if (failed) std::cerr << "could not remove " << path_ << ": " << failed.message() << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

std::string DemoJob(const std::string& directory, int workers) {
  return absl::StrFormat(R"(name: demo
description: Four hosts lay out files, run a 70/30 random mix, then read them sequentially.
labels: {kind: demo}
hosts: {count: %d}
store_filesystem: true
targets:
  - name: data
    file: {path: "%s/{host}/data", size: 64MiB, count: 2}
phases:
  - prepare:
  - name: mix
    run:
      ramp: 2s
      duration: 12s
      workloads:
        - {name: oltp, block_size: 8KiB, read: 70%%, pattern: random, queue_depth: 8, threads: 1}
      expect: {errors: 0%s}
  - name: scan
    run:
      duration: 6s
      workloads:
        - {name: scan, block_size: 256KiB, pattern: sequential, queue_depth: 4, threads: 1}
  - cleanup:
)",
                         workers, directory,
                         // One host shares nothing with another.
                         workers > 1 ? ", fairness: 0.5" : "");
}

int RunDemo(const Context& caller, const DemoFlags& flags) {
  // Declared before the fleet, so that it is removed after the workers have ended.
  auto scratch = ScratchDirectory::Make(
      flags.directory.empty() ? (getenv("TMPDIR") != nullptr ? getenv("TMPDIR") : "/tmp")
                              : flags.directory);
  if (!scratch.ok()) return Fail(scratch.status());
  LocalFleet::Options options;
  // Called before the first thread is started. unshare(2) moves only the calling thread, and later
  // threads and processes inherit its network.
  const absl::Status network = EnterPrivateNetwork();
  options.namespaces = network.ok();
  options.state_directory = flags.state_directory;
  // The kernel chooses a free port: another controller may run on this machine.
  options.listen = "127.0.0.1:0";
  options.workers = flags.workers;
  options.quiet = true;
  // The scratch directory often lies on the store's file system. The job and the controller must
  // both allow that (selection.cc).
  options.store_filesystem = true;
  // The workers of a demo write nowhere else, even when root runs it.
  options.allow = {(*scratch)->path()};
  for (int i = 1; i <= flags.workers; ++i) options.worker_names.push_back(absl::StrCat("node", i));
  std::cerr << "Starting a store, a controller and " << flags.workers << " workers, "
            << (network.ok()
                    ? "each a host of its own (network namespace)"
                    : absl::StrCat("as plain processes (", std::string(network.message()), ")"))
            << "\n";
  auto fleet = LocalFleet::Start(options);
  if (!fleet.ok()) return Fail(fleet.status());

  // The demo's controller has a port of its own, so the caller's --controller is not used.
  Context context = caller;
  context.controller = (*fleet)->address();
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  if (!AwaitWorkers(stub->get(), flags.workers,
                    [&] { return (*fleet)->FindEnded().has_value(); })) {
    return Fail(absl::StrCat("the workers do not attach; see the logs in ", flags.state_directory));
  }
  const JobFile file = ParseJobFile("demo.yaml", DemoJob((*scratch)->path(), flags.workers), {});
  for (const std::string& error : file.errors) std::cerr << error << "\n";
  if (!file.errors.empty()) return kError;
  return SubmitAndFollow(context, file, {UserName(), ""}, flags.format);
}

}  // namespace

void AddDemoCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<DemoFlags>();
  CLI::App* demo = app->add_subcommand(
      "demo", "Run a mixed load on four hosts of this machine, for half a minute");
  demo->add_option("--state-dir", flags->state_directory, "The directory of the store")
      ->capture_default_str();
  demo->add_option(
      "--directory", flags->directory,
      "The directory of the files, which stay for a minute; the temporary directory without it");
  demo->add_option("--workers", flags->workers, "How many hosts")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  AddReportFormat(demo, &flags->format);
  demo->footer(
      "As root every worker gets a network namespace and a host name of its own.\nExample:\n  "
      "lockstep demo");
  demo->callback([=] {
    *status = RunDemo(*context, *flags);
    if (*status != kOk) return;
    const std::string state = flags->state_directory == common::DefaultStateDirectory()
                                  ? ""
                                  : absl::StrCat(" --state-dir ", flags->state_directory);
    const std::string& self = context->program;
    std::cerr << "\nThe result is in the store; the files are gone. To try next:\n"
              << "  " << self << " up" << state
              << "        # in another terminal: all of this, to stay; its web page is at "
                 "http://127.0.0.1:9641/\n"
              << "  " << self << " report last     # then: this report again, from the store\n"
              << "  " << self
              << " sql -c 'SELECT phase_name, host, kind, iops FROM host_throughput WHERE run_id = "
                 "last_run()'\n";
  });
}

}  // namespace lockstep::cli
