#include "controller/cli/ssh/fleet.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/portable.h"
#include "common/side_by_side.h"
#include "common/text.h"
#include "common/version.h"
#include "controller/cli/ssh/diagnosis.h"
#include "controller/cli/ssh/progress.h"
#include "controller/pki/authority.h"

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

// The arguments that are about the host, and not about the controller.
std::vector<std::string> HostArguments(const SshFleetOptions& options, const FleetRecord& record) {
  std::vector<std::string> arguments = {"--name", record.name, "--state-dir",
                                        record.directory + "/state"};
  for (const std::string& path : options.allow) {
    arguments.insert(arguments.end(), {"--allow", path});
  }
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  return arguments;
}

std::vector<std::string> WorkerArguments(const SshFleetOptions& options, const FleetRecord& record,
                                         const std::string& controller,
                                         const std::string& tls_directory) {
  std::vector<std::string> arguments = HostArguments(options, record);
  arguments.insert(arguments.end(), {"--controller", controller, "--end-when-alone",
                                     absl::StrCat(options.alone_seconds)});
  if (!options.certificates.pki.empty()) {
    arguments.insert(arguments.end(), {"--tls-dir", tls_directory});
    // A worker that dials the controller verifies the name that it dials. Here it dials a socket or
    // a port of ssh's, and must still find the controller at the other end, and nobody else.
    if (options.way != SshConnection::Way::kDirect) {
      arguments.insert(arguments.end(), {"--tls-server-name", options.certificates.server_name});
    }
  }
  return arguments;
}

// `findings` gets what the doctor says against the host. An error where that is to keep the worker
// from being started.
absl::Status CheckHost(SshConnection* host, const SshFleetOptions& options,
                       const FleetRecord& record, std::string* findings) {
  const auto answer = host->RunDoctor(HostArguments(options, record));
  if (!answer.ok()) return answer.status();
  HostDiagnosis diagnosis = ReadDiagnosis(*answer);
  *findings = std::move(diagnosis.text);
  if (diagnosis.problems == 0 || options.allow_problems) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the doctor found ", diagnosis.problems, diagnosis.problems == 1 ? " problem" : " problems",
      "; --allow-problems starts the worker all the same"));
}

// The host has the worker's program by now. Before its certificate goes there, the record on disk
// has it: a command that is killed leaves nothing that nobody revokes.
absl::StatusOr<SshConnection::Certificate> Certify(SshConnection* host,
                                                   const SshFleetOptions& options,
                                                   const FleetRecords& records,
                                                   FleetRecord* record) {
  if (options.certificates.pki.empty()) return SshConnection::Certificate();
  const std::string challenge = NewChallenge();
  const auto request = host->RequestCertificate(challenge);
  if (!request.ok()) return request.status();
  auto certificate = SignForHost(options.certificates, *request, challenge, absl::Now(), record);
  if (!certificate.ok()) return certificate.status();
  if (absl::Status saved = records.Save(*record); !saved.ok()) return saved;
  return SshConnection::Certificate{*std::move(certificate), options.certificates.authority};
}

absl::Status StartOn(SshConnection* host, const SshFleetOptions& options,
                     const FleetRecords& records, FleetRecord* record, std::string* findings) {
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
  // Before a certificate is signed, which would have to be revoked.
  if (absl::Status good = CheckHost(host, options, *record, findings); !good.ok()) return good;
  const auto certificate = Certify(host, options, records, record);
  if (!certificate.ok()) return certificate.status();
  const auto controller = host->Forward(options.way, options.controller);
  if (!controller.ok()) return controller.status();
  return host->StartWorker(*certificate,
                           WorkerArguments(options, *record, *controller, host->TlsDirectory()),
                           kAttachLimit);
}

// One line for each directory of an authority. Returns why records still have a certificate, by the
// host's name.
std::map<std::string, absl::Status> RevokeAndSay(const std::string& pki,
                                                 const std::vector<FleetRecord*>& fleet) {
  std::map<std::string, absl::Status> failed;
  for (const Revocation& revocation : RevokeCertificates(pki, absl::Now(), fleet)) {
    const std::string names = absl::StrJoin(revocation.names, " ");
    if (revocation.status.ok()) {
      std::cerr << "certificates revoked: " << names << ". A controller whose --tls-dir is in "
                << revocation.pki << " knows it within seconds. To any other, copy "
                << revocation.pki << "/crl.pem\n";
      continue;
    }
    std::cerr << "certificates NOT REVOKED: " << names << " ("
              << common::Printable(std::string(revocation.status.message()), 300) << ")\n";
    for (const std::string& name : revocation.names) failed[name] = revocation.status;
  }
  return failed;
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

// After RevokeCertificates(): a record stays as long as something is on its host, or its
// certificate counts.
absl::Status Settle(const FleetRecord& record, bool is_removed, const FleetRecords& records) {
  return is_removed && record.serial.empty() ? records.Remove(record) : records.Save(record);
}

// Removes the files and processes that a failed start has left, by the same way as later.
std::string RemoveAfterFailure(FleetRecord* record, const FleetRecords& records) {
  SshConnection::Ports ports;
  // The signal that ended the start must not end this as well: the worker would stay there.
  ports.is_cancelled = [] { return false; };
  ports.progress = [](const std::string&) {};
  const auto removed = SshConnection(record, &records, ports).Remove(kRemoveLimit);
  std::string left;
  if (!removed.ok()) {
    left = absl::StrCat("; its files could not be removed (", removed.status().message(),
                        "): lockstep fleet down ", record->name);
  }
  if (record->serial.empty()) return left;
  // Not needed any more, wherever its key may be.
  const auto revoked = RevokeCertificates("", absl::Now(), {record});
  if (absl::Status status = Settle(*record, removed.ok(), records); !status.ok()) {
    absl::StrAppend(&left, "; ", std::string(status.message()));
  }
  if (!record->serial.empty()) {
    absl::StrAppend(&left, "; its certificate is not revoked (", revoked[0].status.message(),
                    "): lockstep fleet down ", record->name);
  }
  return left;
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
  record.tls_certificate = options.tls_certificate;
  record.tls_key = options.tls_key;
  record.tls_authority = options.tls_authority;
  SshConnection::Ports ports;
  ports.is_cancelled = options.is_cancelled;
  ports.progress = [&](const std::string& doing) { progress->Show(host.name, doing); };
  SshConnection connection(&record, &records, ports);
  const absl::Time began = absl::Now();
  // A host may have a longer name than a certificate, which is to have it. That is known before
  // anything is copied.
  absl::Status status =
      options.certificates.pki.empty() ? absl::OkStatus() : pki::CheckName(host.name);
  std::string findings;
  if (status.ok()) status = StartOn(&connection, options, records, &record, &findings);
  if (status.ok()) {
    progress->Finish(host.name,
                     absl::StrFormat("up in %.1f s, in %s",
                                     absl::ToDoubleSeconds(absl::Now() - began), record.directory),
                     findings);
    return status;
  }
  // Install() has closed the connection where the host was not reached.
  const std::string rest = record.control.empty() ? "" : RemoveAfterFailure(&record, records);
  status = absl::Status(status.code(), absl::StrCat(std::string(status.message()), rest));
  progress->Finish(host.name, absl::StrCat("FAILED: ", std::string(status.message())), findings);
  return status;
}

// Of hosts whose workers were to end, whether or not they did: what nobody uses is not to be valid.
void RevokeAll(const std::string& pki, const FleetRecords& records, std::vector<FleetRecord>* fleet,
               std::vector<HostOutcome>* outcomes) {
  std::vector<FleetRecord*> certified;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < fleet->size(); ++i) {
    if ((*fleet)[i].serial.empty()) continue;
    certified.push_back(&(*fleet)[i]);
    indexes.push_back(i);
  }
  const std::map<std::string, absl::Status> failed = RevokeAndSay(pki, certified);
  for (const size_t i : indexes) {
    const FleetRecord& record = (*fleet)[i];
    (*outcomes)[i].is_certified = !record.serial.empty();
    absl::Status& status = (*outcomes)[i].status;
    const absl::Status settled = Settle(record, status.ok(), records);
    if (!status.ok()) continue;
    status = settled;
    if (const auto why = failed.find(record.name); why != failed.end()) status = why->second;
  }
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
  all.insert(all.end(), {options.config, options.directory, options.controller,
                         options.certificates.pki, options.certificates.server_name,
                         options.tls_certificate, options.tls_key, options.tls_authority});
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
                                  size_t parallel, const std::string& pki) {
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
  RevokeAll(pki, records, &fleet, &outcomes);
  return outcomes;
}

}  // namespace lockstep::cli
