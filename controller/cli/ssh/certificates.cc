#include "controller/cli/ssh/certificates.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/certificate.h"
#include "common/ids.h"
#include "controller/pki/pki_directory.h"

namespace lockstep::cli {
namespace {

absl::Status Named(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, std::string(status.message())));
}

// The records' certificates, in one step. One that is another authority's keeps no other from being
// revoked.
void RevokeIn(const std::string& path, const std::vector<FleetRecord*>& records, absl::Time now,
              std::vector<Revocation>* done) {
  std::vector<std::string> serials;
  for (const FleetRecord* record : records) serials.push_back(record->serial);
  auto directory = pki::PkiDirectory::Open(path);
  const auto unknown = directory.ok() ? directory->RevokeSerials(serials, now)
                                      : absl::StatusOr<std::set<std::string>>(directory.status());
  Revocation revoked{path, {}, absl::OkStatus()};
  Revocation failed{path, {}, unknown.status()};
  if (unknown.ok()) {
    failed.status = absl::NotFoundError(absl::StrCat(path, ": has not issued this certificate"));
  }
  for (FleetRecord* record : records) {
    const bool is_revoked = unknown.ok() && !unknown->contains(record->serial);
    (is_revoked ? revoked : failed).names.push_back(record->name);
    if (is_revoked) record->serial.clear();
  }
  if (!revoked.names.empty()) done->push_back(std::move(revoked));
  if (!failed.names.empty()) done->push_back(std::move(failed));
}

}  // namespace

absl::Status CheckCertificates(const HostCertificates& certificates, absl::Time now) {
  const auto directory = pki::PkiDirectory::Open(certificates.pki);
  if (!directory.ok()) return Named("--pki ", directory.status());
  if (!common::HasCertificate(certificates.authority, directory->authority_pem())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--pki ", certificates.pki, ": its authority, ", directory->authority().name,
        ", is not in your --tls-ca, so that the controller would refuse what it signs; name the "
        "directory whose authority has signed the controller's certificate"));
  }
  // A certificate is refused as soon as its authority has expired, whatever its own dates are.
  if (now + certificates.life > directory->authority().not_after) {
    return absl::InvalidArgumentError(
        absl::StrCat("--valid-for: the certificates would outlive their authority, which ",
                     common::DescribeExpiry(directory->authority(), now)));
  }
  return absl::OkStatus();
}

std::string NewChallenge() {
  return absl::StrFormat("%016x%016x", common::RandomSeed(), common::RandomSeed());
}

// The directory is open, and so locked, for one host at a time: another `lockstep pki` may want it
// while a fleet of many hosts comes up.
absl::StatusOr<std::string> SignForHost(const HostCertificates& certificates,
                                        const std::string& csr_pem, const std::string& challenge,
                                        absl::Time now, FleetRecord* record) {
  auto directory = pki::PkiDirectory::Open(certificates.pki);
  if (!directory.ok()) return Named("--pki ", directory.status());
  pki::Request request;
  request.holder = pki::Holder::kWorker;
  request.name = record->name;
  request.not_before = now;
  request.not_after = now + certificates.life;
  auto certificate = directory->IssueToHost(request, csr_pem, challenge);
  if (!certificate.ok()) return Named("its certificate: ", certificate.status());
  const auto facts = common::ReadCertificate(*certificate);
  if (!facts.ok()) return facts.status();
  record->pki = certificates.pki;
  record->serial = facts->serial;
  record->valid_to_s = absl::ToUnixSeconds(facts->not_after);
  return certificate;
}

std::vector<Revocation> RevokeCertificates(const std::string& pki, absl::Time now,
                                           const std::vector<FleetRecord*>& fleet) {
  std::map<std::string, std::vector<FleetRecord*>> by_directory;
  for (FleetRecord* record : fleet) {
    if (record->serial.empty()) continue;
    // A certificate that has expired needs no revocation, which would only lengthen the list.
    if (absl::FromUnixSeconds(record->valid_to_s) <= now) {
      record->serial.clear();
      continue;
    }
    by_directory[pki.empty() ? record->pki : pki].push_back(record);
  }
  std::vector<Revocation> done;
  for (const auto& [path, records] : by_directory) RevokeIn(path, records, now, &done);
  return done;
}

}  // namespace lockstep::cli
