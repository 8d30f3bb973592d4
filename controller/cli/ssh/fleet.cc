#include "controller/cli/ssh/fleet.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/portable.h"
#include "common/side_by_side.h"
#include "common/version.h"
#include "controller/cli/ssh/progress.h"

namespace lockstep::cli {
namespace {

constexpr absl::Duration kAttachLimit = absl::Seconds(30);
// Longer than the supervisor gives a worker to end.
constexpr absl::Duration kRemoveLimit = absl::Seconds(45);
constexpr char kArchiveBegin[] = "lockstep-worker-";
constexpr char kArchiveEnd[] = "-linux-x86_64.tar.gz";

std::string NewToken() {
  return absl::StrFormat("%016x%08x", common::RandomSeed(),
                         static_cast<uint32_t>(common::RandomSeed()));
}

std::vector<std::string> WorkerArguments(const SshFleetOptions& options, const FleetRecord& record,
                                         const std::string& controller) {
  std::vector<std::string> arguments = {"--controller",     controller,
                                        "--name",           record.name,
                                        "--state-dir",      record.directory + "/state",
                                        "--end-when-alone", absl::StrCat(options.alone_seconds)};
  for (const std::string& path : options.allow) {
    arguments.insert(arguments.end(), {"--allow", path});
  }
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  return arguments;
}

absl::Status StartOn(SshConnection* host, const SshFleetOptions& options,
                     const FleetRecord& record) {
  std::error_code failed;
  const uintmax_t packed = std::filesystem::file_size(options.archive, failed);
  if (failed) return absl::NotFoundError(options.archive + ": " + failed.message());
  SshConnection::WorkerFiles files;
  files.archive = options.archive;
  files.directory = options.directory;
  files.expected_version = options.version;
  // Unpacked it is three times as large. The rest is for what the worker keeps while the link is
  // slow or lost.
  files.need_kib = static_cast<int64_t>(packed / 1024 * 3) + int64_t{64} * 1024;
  if (absl::Status installed = host->Install(files); !installed.ok()) return installed;
  const auto controller = host->Forward(options.way, options.controller);
  if (!controller.ok()) return controller.status();
  return host->StartWorker(WorkerArguments(options, record, *controller), kAttachLimit);
}

// The hosts run what is in the archive. A portable program may lie in a directory in which every
// user can put a file (/tmp): only root's archives count, this user's, and those of the owner of
// this program, whom the caller trusts already.
bool MayBeRun(const std::string& path, const std::string& program) {
  struct stat facts;
  struct stat own;
  if (lstat(path.c_str(), &facts) != 0) return false;
  if (S_ISREG(facts.st_mode) && (facts.st_mode & S_IWOTH) != 0) return false;
  return facts.st_uid == 0 || facts.st_uid == geteuid() ||
         (stat(program.c_str(), &own) == 0 && facts.st_uid == own.st_uid);
}

// Removes the files and processes that a failed start has left, by the same way as later.
std::string RemoveAfterFailure(FleetRecord* record, const FleetRecords& records) {
  SshConnection::Ports ports;
  // The signal that ended the start must not end this as well: the worker would stay there.
  ports.is_cancelled = [] { return false; };
  ports.progress = [](const std::string&) {};
  const auto removed = SshConnection(record, &records, ports).Remove(kRemoveLimit);
  if (removed.ok()) return "";
  return absl::StrCat("; what is there could not be removed (", removed.status().message(),
                      "): lockstep fleet down ", record->name);
}

absl::Status BringUpHost(const SshFleetOptions& options, const FleetRecords& records,
                         const SshHost& host, const std::string& token, HostProgress* progress) {
  FleetRecord record;
  record.token = token;
  record.destination = host.destination;
  record.name = host.name;
  record.config = options.config;
  record.allow = options.allow;
  record.controller = options.controller;
  record.began_s = absl::ToUnixSeconds(absl::Now());
  // Where no other directory is tried, a host whose answer is lost or wrong is cleaned up all the
  // same: the script that removes things looks in those that it would choose itself.
  if (!options.directory.empty()) {
    record.directory = absl::StrCat(options.directory, "/lockstep-fleet.", token);
  }
  SshConnection::Ports ports;
  ports.is_cancelled = options.is_cancelled;
  ports.progress = [&](const std::string& doing) { progress->Show(host.name, doing); };
  SshConnection connection(&record, &records, ports);
  const absl::Time began = absl::Now();
  absl::Status status = StartOn(&connection, options, record);
  if (status.ok()) {
    progress->Finish(host.name,
                     absl::StrFormat("up in %.1f s, in %s",
                                     absl::ToDoubleSeconds(absl::Now() - began), record.directory));
    return status;
  }
  // Install() has closed the connection where the host was not reached.
  const std::string rest = record.control.empty() ? "" : RemoveAfterFailure(&record, records);
  status = absl::Status(status.code(), absl::StrCat(std::string(status.message()), rest));
  progress->Finish(host.name, absl::StrCat("FAILED: ", std::string(status.message())));
  return status;
}

std::string Described(const SshConnection::Removed& removed) {
  std::string line = removed.was_gone ? "was gone already" : "down, and nothing is left";
  if (!removed.targets.empty()) {
    absl::StrAppend(&line, removed.was_gone ? "" : " but ", removed.was_gone ? "; " : "",
                    removed.targets.size(), removed.targets.size() == 1 ? " file" : " files",
                    " of jobs, as ", removed.targets[0]);
  }
  return line;
}

}  // namespace

std::string ArchiveIn(const std::string& directory, const std::string& program,
                      const std::string& version) {
  std::string found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kArchiveBegin) || !name.ends_with(kArchiveEnd) ||
        !MayBeRun(entry.path().string(), program)) {
      continue;
    }
    // Packages of several versions may lie side by side. Another one than this program's is of use
    // only to say which.
    if (name == absl::StrCat(kArchiveBegin, version, kArchiveEnd)) return entry.path().string();
    if (found.empty()) found = entry.path().string();
  }
  return found;
}

absl::StatusOr<std::string> FindWorkerArchive(const std::string& path) {
  if (!path.empty()) {
    const std::string whole = common::AbsolutePath(path);
    if (access(whole.c_str(), R_OK) == 0) return whole;
    return common::ErrnoStatus(errno, "--worker-archive " + path);
  }
  const std::string folder = common::ProgramDirectory();
  for (const std::string& place :
       {folder, folder + "/../dist", folder + "/../share/lockstep", folder + "/../.."}) {
    // stat(2) follows this link to the program, however it was started.
    std::string found = ArchiveIn(place, "/proc/self/exe", common::kSoftwareVersion);
    if (!found.empty()) return found;
  }
  return absl::NotFoundError(
      "the worker's portable archive is not beside this program; make it with tools/package "
      "--only lockstep-worker archive, and name it with --worker-archive");
}

absl::Status CheckOptions(const SshFleetOptions& options) {
  std::vector<std::string> all = options.arguments;
  all.insert(all.end(), options.allow.begin(), options.allow.end());
  all.insert(all.end(), {options.config, options.directory, options.controller});
  for (const std::string& text : all) {
    // The scripts on the host read one value from each line.
    if (text.find('\n') != std::string::npos || text.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError("a line break cannot be part of a path or name here");
    }
  }
  if (!options.directory.empty() && options.directory[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("--remote-directory ", options.directory,
                                                   ": give an absolute path, of the hosts"));
  }
  return absl::OkStatus();
}

std::vector<HostOutcome> BringUp(const SshFleetOptions& options, const FleetRecords& records) {
  std::vector<std::string> names;
  for (const SshHost& host : options.hosts) names.push_back(host.name);
  HostProgress progress(names);
  std::vector<HostOutcome> outcomes(options.hosts.size());
  common::SideBySide(options.hosts.size(), options.parallel, [&](size_t i) {
    outcomes[i].name = options.hosts[i].name;
    outcomes[i].token = NewToken();
    outcomes[i].status = options.is_cancelled() ? absl::CancelledError("cancelled")
                                                : BringUpHost(options, records, options.hosts[i],
                                                              outcomes[i].token, &progress);
  });
  return outcomes;
}

std::vector<HostOutcome> TakeDown(std::vector<FleetRecord> fleet, const FleetRecords& records,
                                  size_t parallel) {
  std::vector<std::string> names;
  for (const FleetRecord& record : fleet) names.push_back(record.name);
  HostProgress progress(names);
  std::vector<HostOutcome> outcomes(fleet.size());
  common::SideBySide(fleet.size(), parallel, [&](size_t i) {
    SshConnection::Ports ports;
    // As in RemoveAfterFailure(): a signal must not leave the workers there.
    ports.is_cancelled = [] { return false; };
    ports.progress = [&](const std::string& doing) { progress.Show(names[i], doing); };
    ports.progress("ending the worker");
    const auto removed = SshConnection(&fleet[i], &records, ports).Remove(kRemoveLimit);
    outcomes[i].name = names[i];
    outcomes[i].token = fleet[i].token;
    outcomes[i].status = removed.status();
    if (removed.ok()) outcomes[i].targets = removed->targets;
    progress.Finish(names[i], removed.ok() ? Described(*removed)
                                           : absl::StrCat("NOT DONE: ",
                                                          std::string(removed.status().message())));
  });
  return outcomes;
}

}  // namespace lockstep::cli
