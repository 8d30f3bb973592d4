// up: controller, embedded PostgreSQL and workers on this machine, in the foreground.

#include <signal.h>
#include <sys/stat.h>

#include <ctime>
#include <deque>
#include <iostream>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/signals.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/local_fleet.h"
#include "controller/cli/local_run.h"

namespace lockstep::cli {
namespace {

struct UpFlags {
  LocalFleet::Options fleet;
  bool no_web = false;
};

// Starts workers that have ended again, unless they end again and again.
class Restarts {
 public:
  explicit Restarts(LocalFleet* fleet) : fleet_(fleet) {}

  // Why not all can go on; empty when they can.
  std::string Handle() {
    while (const auto ended = fleet_->FindEnded()) {
      if (ended->worker < 0) return absl::StrCat(ended->what, "; its log is above");
      std::deque<time_t>& times = times_[ended->worker];
      const time_t now = time(nullptr);
      while (!times.empty() && times.front() < now - kWithinSeconds) times.pop_front();
      times.push_back(now);
      if (times.size() > kMaxRestarts) {
        return absl::StrCat(ended->what, ", for the ", times.size(), "th time within ",
                            kWithinSeconds, " s; its log is above");
      }
      std::cerr << "lockstep: " << ended->what << "; starting it again\n";
      if (absl::Status status = fleet_->RestartWorker(ended->worker); !status.ok()) {
        return std::string(status.message());
      }
    }
    return "";
  }

 private:
  static constexpr size_t kMaxRestarts = 3;
  static constexpr int kWithinSeconds = 60;
  LocalFleet* const fleet_;
  std::map<int, std::deque<time_t>> times_;  // of ends, by worker
};

// Says where jobs may not lay out files without a further flag, before somebody finds out by a
// refusal.
void SayWhatStoreFilesystemMeans(const LocalFleet::Options& options) {
  struct stat store = {};
  if (options.store_filesystem || !options.store.empty() ||
      stat(options.state_directory.c_str(), &store) != 0) {
    return;
  }
  for (const std::string& entry : options.allow) {
    struct stat allowed = {};
    if (!entry.starts_with("/") || stat(entry.c_str(), &allowed) != 0 ||
        !S_ISDIR(allowed.st_mode) || allowed.st_dev != store.st_dev) {
      continue;
    }
    std::cout << entry << " is on the file system of the store, so that jobs may not lay out files "
              << "there.\nTo let them: lockstep up --allow-store-filesystem, and "
              << "`store_filesystem: true` in the job.\n";
    return;
  }
}

int Up(Context context, UpFlags flags) {
  const sigset_t signals = common::BlockSignals({SIGINT, SIGTERM, SIGHUP, SIGCHLD});
  LocalFleet::Options& options = flags.fleet;
  options.worker_names = WorkerNames(options.workers);
  if (flags.no_web) options.http.clear();
  options.state_directory = common::AbsolutePath(options.state_directory);
  auto allow = AllowedOr(options.state_directory, options.allow);
  if (!allow.ok()) return Fail(allow.status());
  options.allow = *std::move(allow);
  auto fleet = LocalFleet::Start(options);
  if (!fleet.ok()) return Fail(fleet.status());
  context.controller = (*fleet)->address();
  // The controller that was just started speaks plaintext. The environment may name certificates
  // for another one.
  context.tls = {};
  // Scripts submit as soon as they read the line below, so the workers are attached by then. A
  // worker that has ended is reported below.
  if (auto stub = context.Connect(); stub.ok()) {
    AwaitWorkers(stub->get(), options.workers, [&] { return (*fleet)->FindEnded().has_value(); });
  }
  std::cout << "controller at " << (*fleet)->address();
  if (!(*fleet)->http_url().empty()) std::cout << ", web page at " << (*fleet)->http_url();
  std::cout << "\n"
            << options.workers << (options.workers == 1 ? " worker" : " workers") << " may use:";
  for (const std::string& entry : options.allow) std::cout << " " << entry;
  std::cout << "\n";
  SayWhatStoreFilesystemMeans(options);
  // At the default address, commands find the controller without a flag.
  const bool is_default = (*fleet)->address() == Context().controller;
  std::cout << "In another terminal: lockstep "
            << (is_default ? "" : absl::StrCat("--controller ", (*fleet)->address(), " "))
            << "run FILE. Ctrl-C here ends all of it; results stay in the store.\n"
            << std::flush;
  Restarts restarts(fleet->get());
  int number = SIGCHLD;  // a worker may have ended before the mask was waited for
  do {
    if (number != SIGCHLD) break;
    // Blocked signals of one kind are merged (signal(7)): one SIGCHLD can stand for several
    // children, so all are asked.
    if (const std::string why = restarts.Handle(); !why.empty()) {
      return Fail(why + "; ending the others");
    }
  } while (sigwait(&signals, &number) == 0);
  std::cout << "ending\n";
  return kOk;
}

}  // namespace

void AddUpCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<UpFlags>();
  LocalFleet::Options& options = flags->fleet;
  options.state_directory = common::DefaultStateDirectory();
  options.http = "127.0.0.1:9641";
  CLI::App* up = app->add_subcommand(
      "up", "Start everything on this machine: store, controller, web page, workers");
  up->add_option("--workers", options.workers, "How many workers")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  up->add_option("--allow", options.allow,
                 "A directory, file or device, or a device's identity, that jobs may use; may be "
                 "given several times; STATE_DIR/data without it")
      ->allow_extra_args(false);
  up->add_option("--allow-expendable", options.allow_expendable,
                 "Identity of a device that jobs may overwrite although it carries a signature or "
                 "data; may be given several times")
      ->allow_extra_args(false);
  up->add_option("--allow-settings", options.allow_settings,
                 "A device whose scheduler and queue jobs may change for a phase, or a mount point "
                 "that they may remount; may be given several times")
      ->allow_extra_args(false);
  up->add_flag(
      "--allow-enroll", options.allow_enroll,
      "Let `lockstep devices enroll` stamp devices that --allow names: jobs then overwrite "
      "them without asking");
  up->add_flag(
      "--allow-store-filesystem", options.store_filesystem,
      "Jobs that say store_filesystem: true may lay out files on the file system of the store");
  up->add_option("--approve-label", options.approve_labels,
                 "KEY=VALUE: a job with this label needs no confirmation for what the workers' "
                 "--allow-expendable names; may be given several times")
      ->allow_extra_args(false);
  up->add_option("--observe", options.observe,
                 "Which block devices observe phases see, without opening them: those that --allow "
                 "covers (allowed), or all of this machine (all)")
      ->check(CLI::IsMember({"allowed", "all"}))
      ->capture_default_str();
  up->add_option("--listen", options.listen, "HOST:PORT of the controller")->capture_default_str();
  up->add_option("--http", options.http, "HOST:PORT of the web page")->capture_default_str();
  up->add_flag("--no-web", flags->no_web, "No web page");
  up->add_option("--store", options.store, "postgresql://… instead of the embedded PostgreSQL");
  up->add_option("--state-dir", options.state_directory,
                 "The directory of the store and of the workers' identities")
      ->capture_default_str();
  up->footer("Example:\n  lockstep up --workers 4 --allow /mnt/san");
  up->callback([=] { *status = Up(*context, *flags); });
}

}  // namespace lockstep::cli
