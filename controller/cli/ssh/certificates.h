#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/cli/ssh/records.h"

namespace lockstep::cli {

// How workers of hosts get certificates for a controller with TLS. A value.
struct HostCertificates {
  std::string pki;          // the directory of `lockstep pki`, absolute; empty: there is no TLS
  absl::Duration life;      // of a certificate, from when it is signed
  std::string authority;    // PEM of the authorities that may have signed the controller's
  std::string server_name;  // a name or address that the controller's has
};

// OK where certificates of this directory's authority can be signed for so long, and the authority
// is one of `authority`. A controller that trusts others alone would refuse each worker.
absl::Status CheckCertificates(const HostCertificates& certificates, absl::Time now);

// A challenge for a certificate request: random, and never used twice.
std::string NewChallenge();

// Signs a host's request as that of the worker `record.name`, and puts the certificate into the
// record, by which it is revoked later. Nothing that the request says of its holder counts. Returns
// the certificate (PEM). INVALID_ARGUMENT for a request that is malformed, does not carry the
// challenge, is not signed by its own key, or is for a kind of key that is not accepted.
absl::StatusOr<std::string> SignForHost(const HostCertificates& certificates,
                                        const std::string& csr_pem, const std::string& challenge,
                                        absl::Time now, FleetRecord* record);

// Signs a further certificate for the worker of the record, which has one, as SignForHost() does.
// `save` stores the record, which has the certificate before `deliver` gives it to the host. After
// an error the record has the new certificate among `other_certificates`, so that it is revoked
// with the old one.
absl::Status RenewForHost(const HostCertificates& certificates, const std::string& csr_pem,
                          const std::string& challenge, absl::Time now, FleetRecord* record,
                          const std::function<absl::Status(const FleetRecord&)>& save,
                          const std::function<absl::Status(const std::string&)>& deliver);

// Says which workers of the fleet have certificates that expire within `load` from now. Empty if
// none does. Only workers of these controllers count (HOST:PORT, separated by commas).
std::string WarnOfExpiry(const std::vector<FleetRecord>& fleet, const std::string& controllers,
                         absl::Time now, absl::Duration load);

// What RevokeCertificates() did.
struct Revocation {
  std::string pki;  // the directory
  std::vector<std::string> names;
  absl::Status status;
};
// Revokes the certificates of the records, those of one directory at once, and takes what needs no
// revoking any more out of the records: `serial` and `other_certificates` are empty afterwards.
// Certificates that have expired need none. `pki` is used instead of the records' own directories,
// unless it is empty. Returns a line for each directory with certificates that needed it, and one
// more for those that its authority has not issued. Saves nothing.
std::vector<Revocation> RevokeCertificates(const std::string& pki, absl::Time now,
                                           const std::vector<FleetRecord*>& fleet);

}  // namespace lockstep::cli
