#include "controller/cli/local_run.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "controller/cli/local_fleet.h"
#include "controller/cli/local_signals.h"

namespace lockstep::cli {

std::vector<std::string> WorkerNames(int count) {
  char host[256] = {};
  // A name that is cut need not be terminated (gethostname(2)). The last byte stays zero.
  gethostname(host, sizeof host - 1);
  if (count == 1) return {host};
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back(absl::StrCat(host, "-", i));
  return names;
}

absl::StatusOr<std::vector<std::string>> AllowedOr(const std::string& state_directory,
                                                   const std::vector<std::string>& allow) {
  if (allow.empty()) {
    if (absl::Status status = common::CheckNobodyElses(state_directory); !status.ok()) {
      return status;
    }
    const std::string data = state_directory + "/data";
    if (absl::Status status = common::MakeDirectories(data, 0755); !status.ok()) return status;
    return std::vector<std::string>{data};
  }
  std::vector<std::string> allowed;
  for (const std::string& given : allow) {
    if (given.empty()) return absl::InvalidArgumentError("--allow: is empty");
    // A target that is no path is a device's identity, or the URL of a LUN.
    const bool is_url = given.find("://") != std::string::npos;
    const bool is_path =
        !is_url && (given.find('/') != std::string::npos || access(given.c_str(), F_OK) == 0);
    const std::string& entry = allowed.emplace_back(is_path ? common::AbsolutePath(given) : given);
    if (!is_path || access(entry.c_str(), F_OK) == 0) continue;
    const absl::Status status = common::ErrnoStatus(errno, "--allow " + entry);
    if (errno != ENOENT) return status;
    return absl::NotFoundError(absl::StrCat(std::string(status.message()),
                                            entry.starts_with("/dev/")
                                                ? "; see lsblk for the devices that are there"
                                                : "; make it first: mkdir -p " + entry));
  }
  return allowed;
}

void AddLocalFlags(CLI::App* command, LocalFlags* flags) {
  flags->state_directory = common::DefaultStateDirectory();
  CLI::Option* local = command->add_flag(
      "--local", flags->is_local,
      "Start a controller and workers on this machine for this command; the result stays in the "
      "store");
  command->add_option("--workers", flags->workers, "With --local: how many workers")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->needs(local);
  command
      ->add_option(
          "--allow", flags->allow,
          "With --local or --ssh: a directory, file or device, or a device's identity, that the "
          "job may use; may be given several times; with --local STATE_DIR/data without it")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--allow-expendable", flags->allow_expendable,
          "With --local or --ssh: identity of a device that the job may overwrite although it "
          "carries a signature or data; may be given several times")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--allow-settings", flags->allow_settings,
          "With --local or --ssh: a device whose scheduler and queue the job may change for a "
          "phase, or a mount point that it may remount; may be given several times")
      ->allow_extra_args(false);
  command
      ->add_option("--observe", flags->observe,
                   "With --local or --ssh: which block devices observe phases see: those that "
                   "--allow covers (allowed), or all of the host (all)")
      ->check(CLI::IsMember({"allowed", "all"}))
      ->capture_default_str();
  command
      ->add_option("--state-dir", flags->state_directory,
                   "With --local or --ssh: where the store and the workers' identities live")
      ->capture_default_str();
}

namespace {

// The worker would refuse the job's files when everything is up, in words for the one who starts
// workers.
absl::Status CheckAllowed(const std::string& directory, const std::vector<std::string>& allow) {
  if (directory.empty()) return absl::OkStatus();
  const auto real = [](const std::string& path) {
    std::error_code ignored;
    // The directory may not be there yet, and a link may lead out of an allowed one.
    const auto found = std::filesystem::weakly_canonical(path, ignored);
    return ignored ? path : found.string();
  };
  const std::string wanted = real(common::AbsolutePath(directory));
  for (const std::string& entry : allow) {
    const std::string allowed = real(entry);
    if (wanted == allowed || wanted.starts_with(allowed.ends_with('/') ? allowed : allowed + "/")) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--directory ", directory, ": is outside of what the job may use (",
      absl::StrJoin(allow, ", "), "); with --local, give --allow ", directory, ", too"));
}

// The flags that mean nothing to a controller that runs already.
std::string UselessFlag(const LocalFlags& flags) {
  if (!flags.allow.empty()) return "--allow";
  if (!flags.allow_expendable.empty()) return "--allow-expendable";
  if (!flags.allow_settings.empty()) return "--allow-settings";
  if (flags.observe != LocalFlags().observe) return "--observe";
  return flags.state_directory == common::DefaultStateDirectory() ? "" : "--state-dir";
}

std::string UpCommand(const std::string& state_directory) {
  if (state_directory == common::AbsolutePath(common::DefaultStateDirectory())) {
    return "lockstep up";
  }
  return absl::StrCat("lockstep up --state-dir ", state_directory);
}

}  // namespace

absl::Status CheckLocalFlags(const LocalFlags& flags, FleetOf fleet) {
  if (flags.is_local || fleet == FleetOf::kSshHosts) return absl::OkStatus();
  const std::string useless = UselessFlag(flags);
  if (useless.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(useless + " is for --local or --ssh");
}

int WithLocalFleet(const Context& caller, const LocalFlags& flags,
                   const std::function<int(const Context&)>& run) {
  if (!flags.is_local) {
    const absl::Status fitting = CheckLocalFlags(flags, FleetOf::kThisMachine);
    return fitting.ok() ? run(caller) : Fail(fitting);
  }
  const std::string state_directory = common::AbsolutePath(flags.state_directory);
  const auto allow = AllowedOr(state_directory, flags.allow);
  if (!allow.ok()) return Fail(allow.status());
  if (absl::Status status = CheckAllowed(flags.directory, *allow); !status.ok()) {
    return Fail(status);
  }
  const LocalSignals signals;
  LocalFleet::Options options;
  options.is_cancelled = [] { return LocalSignals::received() != 0; };
  options.state_directory = state_directory;
  // The kernel chooses a free port: another controller may run on this machine.
  options.listen = "127.0.0.1:0";
  options.workers = flags.workers;
  options.worker_names = WorkerNames(flags.workers);
  options.allow = *allow;
  options.allow_expendable = flags.allow_expendable;
  options.allow_settings = flags.allow_settings;
  options.observe = flags.observe;
  // Most machines have one file system. The sizes are compared with its free space either way.
  options.store_filesystem = true;
  options.quiet = true;
  auto fleet = LocalFleet::Start(options);
  if (absl::IsCancelled(fleet.status())) return kCancelled;
  if (!fleet.ok()) return Fail(fleet.status());
  Context context = caller;
  context.controller = (*fleet)->address();
  context.is_local = true;
  context.up_command = UpCommand(state_directory);
  // The controller that was just started speaks plaintext. The environment may name certificates
  // for another one.
  context.tls = {};
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  if (!AwaitWorkers(stub->get(), flags.workers, [&] {
        return LocalSignals::received() != 0 || (*fleet)->FindEnded().has_value();
      })) {
    if (LocalSignals::received() != 0) return kCancelled;
    const auto ended = (*fleet)->FindEnded();
    return Fail(absl::StrCat(ended ? ended->what : "the workers do not attach",
                             "; see the logs in ", state_directory));
  }
  // A signal from now on is for the run.
  return LocalSignals::received() != 0 ? kCancelled : run(context);
}

}  // namespace lockstep::cli
