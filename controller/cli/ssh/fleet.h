#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/cli/ssh/certificates.h"
#include "controller/cli/ssh/connection.h"
#include "controller/cli/ssh/host_set.h"
#include "controller/cli/ssh/records.h"

namespace lockstep::cli {

struct SshFleetOptions {
  std::vector<SshHost> hosts;
  std::string config;      // ssh's configuration file; empty: the user's
  std::string archive;     // the worker's portable archive
  std::string directory;   // on the hosts; empty: the first of several that can have the worker
  std::string version;     // that the worker must have
  std::string controller;  // HOST:PORT as this machine dials it
  SshConnection::Way way = SshConnection::Way::kSocket;
  std::vector<std::string> allow;
  std::vector<std::string> arguments;  // further ones of each worker
  bool allow_problems = false;         // a worker starts also where the doctor finds problems
  HostCertificates certificates;       // for a controller with TLS
  // The files with which this machine calls that controller.
  std::string tls_certificate, tls_key, tls_authority;
  size_t parallel = 16;
  int alone_seconds = 300;  // a worker ends when it has had no controller for this long
  std::function<bool()> is_cancelled = [] { return false; };
};

struct HostOutcome {
  std::string name;
  std::string token;  // of the host's record
  absl::Status status;
  // Of TakeDown().
  std::vector<std::string> targets;  // files of jobs that are left
  bool is_certified = false;         // its certificate counts, and could not be revoked
};

// The portable archive at `path`, or the one that lies beside this program, or that tools/package
// has made of this checkout. NOT_FOUND with what to do.
absl::StatusOr<std::string> FindWorkerArchive(const std::string& path);
// A worker's portable archive in the directory that belongs to root, to this user or to the owner
// of `program`: that of the version, if it is there. Empty where there is none.
std::string ArchiveIn(const std::string& directory, const std::string& program,
                      const std::string& version);

// INVALID_ARGUMENT where the hosts could not be told what is wanted: line breaks, and paths that
// are not absolute.
absl::Status CheckOptions(const SshFleetOptions& options);

// Starts a worker on each host, several hosts at once; returns how it went, in the order of the
// hosts. A host that fails is left as it was, or has a record.
std::vector<HostOutcome> BringUp(const SshFleetOptions& options, const FleetRecords& records);

// The records of these hosts (sets of names, as ParseHosts() takes them), of all where none is
// given. Names without a record are passed over.
absl::StatusOr<std::vector<FleetRecord>> FindRecords(const FleetRecords& records,
                                                     const std::vector<std::string>& hosts);

// Gives each worker of the records a new key and certificate, several hosts at once, while it goes
// on; each record has a certificate. `pki` is used instead of the records' own directories, unless
// it is empty. `life` counts from now.
struct RenewOptions {
  std::string pki;
  absl::Duration life;
  size_t parallel = 16;
  std::function<bool()> is_cancelled = [] { return false; };
};
std::vector<HostOutcome> RenewFleet(std::vector<FleetRecord> fleet, const FleetRecords& records,
                                    const RenewOptions& options);

// Ends the workers of the records, several hosts at once, and removes their files. Then revokes
// their certificates, also those of hosts that were not reached, and says so on standard error;
// `pki` is as for RevokeCertificates(). The records of hosts that cannot be reached, or do not do
// all of it, stay, as do those whose certificates could not be revoked.
std::vector<HostOutcome> TakeDown(std::vector<FleetRecord> fleet, const FleetRecords& records,
                                  size_t parallel, const std::string& pki = "");

}  // namespace lockstep::cli
