#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::cli {

// A start on one host that is not known to be over. It is on disk before the host is changed, so
// that a command that was killed leaves a list of what it left.
struct FleetRecord {
  std::string token;        // names the directory on the host: 24 hexadecimal digits, random
  std::string destination;  // as ssh is told it
  std::string name;         // of the worker
  std::string config;       // ssh's configuration file; empty: the user's
  std::string directory;    // on the host; empty as long as it is not known
  std::string control;      // a directory on this machine, with the control socket of ssh
  std::vector<std::string> allow;
  std::string controller;  // HOST:PORT, as this machine dials it
  int64_t began_s = 0;     // Unix time
  // The worker's certificate; empty without TLS, and once it is revoked.
  std::string pki;         // the directory of the authority that has signed it
  std::string serial;      // hexadecimal
  int64_t valid_to_s = 0;  // Unix time
  // Further valid certificates of the worker: those from before a renewal, and one whose renewal
  // was not completed. Empty if `serial` is.
  struct Certificate {
    std::string serial;
    int64_t valid_to_s = 0;
  };
  std::vector<Certificate> other_certificates;
  // The files with which this machine calls that controller; empty without TLS.
  std::string tls_certificate, tls_key, tls_authority;
};

// The records of this user, one file each in a directory of mode 0700. Thread-safe for different
// records.
class FleetRecords {
 public:
  // STATE_DIRECTORY/fleets; made when the first record is.
  explicit FleetRecords(const std::string& state_directory)
      : directory_(state_directory + "/fleets") {}

  // Adds the record of a host that has none, as the only one of the commands that do so at once.
  // FAILED_PRECONDITION where the name has one: two workers would share the host's disks.
  absl::Status Add(const FleetRecord& record) const;
  // Replaces it.
  absl::Status Save(const FleetRecord& record) const;
  absl::Status Remove(const FleetRecord& record) const;
  // All of them, by the time of their begin. A file that is none is left out.
  absl::StatusOr<std::vector<FleetRecord>> Load() const;

 private:
  void RemoveUnfinished() const;
  const std::string directory_;
};

}  // namespace lockstep::cli
