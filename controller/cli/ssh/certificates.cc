#include "controller/cli/ssh/certificates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/certificate.h"
#include "common/ids.h"
#include "controller/pki/pki_directory.h"

namespace lockstep::cli {
namespace {

constexpr size_t kNamedHosts = 5;

absl::Status Named(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, std::string(status.message())));
}

std::vector<std::string> SerialsOf(const FleetRecord& record) {
  std::vector<std::string> serials = {record.serial};
  for (const FleetRecord::Certificate& other : record.other_certificates) {
    serials.push_back(other.serial);
  }
  return serials;
}

// Takes out of the record what has expired, and needs no revocation, which would only lengthen the
// list.
void DropExpired(absl::Time now, FleetRecord* record) {
  const auto is_over = [&](int64_t valid_to_s) { return absl::FromUnixSeconds(valid_to_s) <= now; };
  std::erase_if(record->other_certificates,
                [&](const FleetRecord::Certificate& other) { return is_over(other.valid_to_s); });
  if (!is_over(record->valid_to_s)) return;
  record->serial.clear();
  if (record->other_certificates.empty()) return;
  record->serial = record->other_certificates.back().serial;
  record->valid_to_s = record->other_certificates.back().valid_to_s;
  record->other_certificates.pop_back();
}

// OK if this directory's authority has issued the certificate of the record. `fleet down` revokes
// all of a worker's certificates in one directory.
absl::Status CheckIssuer(const std::string& path, const FleetRecord& record) {
  const auto directory = pki::PkiDirectory::Open(path);
  if (!directory.ok()) return Named("--pki ", directory.status());
  const auto list = directory->List();
  if (!list.ok()) return Named("--pki ", list.status());
  const bool is_issued = std::any_of(list->begin(), list->end(), [&](const pki::Issued& one) {
    return one.facts.serial == record.serial;
  });
  if (is_issued) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--pki ", path,
                   ": has not issued the certificate that the worker has; name the directory of "
                   "fleet up, or for another authority use fleet down and fleet up"));
}

// The records' certificates, in one step. One that is another authority's keeps no other from being
// revoked.
void RevokeIn(const std::string& path, const std::vector<FleetRecord*>& records, absl::Time now,
              std::vector<Revocation>* done) {
  std::vector<std::string> serials;
  for (const FleetRecord* record : records) {
    for (const std::string& serial : SerialsOf(*record)) serials.push_back(serial);
  }
  auto directory = pki::PkiDirectory::Open(path);
  const auto unknown = directory.ok() ? directory->RevokeSerials(serials, now)
                                      : absl::StatusOr<std::set<std::string>>(directory.status());
  Revocation revoked{path, {}, absl::OkStatus()};
  Revocation failed{path, {}, unknown.status()};
  if (unknown.ok()) {
    failed.status = absl::NotFoundError(absl::StrCat(path, ": has not issued this certificate"));
  }
  for (FleetRecord* record : records) {
    const std::vector<std::string> own = SerialsOf(*record);
    const bool is_revoked =
        unknown.ok() && std::none_of(own.begin(), own.end(), [&](const std::string& serial) {
          return unknown->contains(serial);
        });
    (is_revoked ? revoked : failed).names.push_back(record->name);
    if (!is_revoked) continue;
    record->serial.clear();
    record->other_certificates.clear();
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

absl::Status RenewForHost(const HostCertificates& certificates, const std::string& csr_pem,
                          const std::string& challenge, absl::Time now, FleetRecord* record,
                          const std::function<absl::Status(const FleetRecord&)>& save,
                          const std::function<absl::Status(const std::string&)>& deliver) {
  if (absl::Status own = CheckIssuer(certificates.pki, *record); !own.ok()) return own;
  FleetRecord next = *record;
  const auto certificate = SignForHost(certificates, csr_pem, challenge, now, &next);
  if (!certificate.ok()) return certificate.status();
  const FleetRecord::Certificate before = {record->serial, record->valid_to_s};
  record->pki = next.pki;
  // Until the host says that it has the new certificate, the old one is the worker's.
  record->other_certificates.push_back({next.serial, next.valid_to_s});
  if (absl::Status saved = save(*record); !saved.ok()) return saved;
  if (absl::Status delivered = deliver(*certificate); !delivered.ok()) return delivered;
  record->serial = next.serial;
  record->valid_to_s = next.valid_to_s;
  // Streams that are open go on with it until it expires, as with `lockstep pki renew`.
  record->other_certificates.back() = before;
  DropExpired(now, record);
  return save(*record);
}

std::string WarnOfExpiry(const std::vector<FleetRecord>& fleet, const std::string& controllers,
                         absl::Time now, absl::Duration load) {
  const std::set<std::string> own = absl::StrSplit(controllers, ',');
  std::vector<std::string> names;
  int64_t first_s = std::numeric_limits<int64_t>::max();
  for (const FleetRecord& record : fleet) {
    if (record.serial.empty() || !own.contains(record.controller)) continue;
    if (absl::FromUnixSeconds(record.valid_to_s) >= now + load) continue;
    names.push_back(record.name);
    first_s = std::min(first_s, record.valid_to_s);
  }
  if (names.empty()) return "";
  const size_t count = names.size();
  names.resize(std::min(count, kNamedHosts));
  return absl::StrCat(
      "certificates of workers expire before the load of this job ends, the first ",
      absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixSeconds(first_s), absl::UTCTimeZone()),
      " (", absl::StrJoin(names, ", "),
      count > kNamedHosts ? absl::StrCat(" and ", count - kNamedHosts, " more") : "",
      "); lockstep fleet renew renews them, also while the job runs");
}

std::vector<Revocation> RevokeCertificates(const std::string& pki, absl::Time now,
                                           const std::vector<FleetRecord*>& fleet) {
  std::map<std::string, std::vector<FleetRecord*>> by_directory;
  for (FleetRecord* record : fleet) {
    if (record->serial.empty()) continue;
    DropExpired(now, record);
    if (record->serial.empty()) continue;
    by_directory[pki.empty() ? record->pki : pki].push_back(record);
  }
  std::vector<Revocation> done;
  for (const auto& [path, records] : by_directory) RevokeIn(path, records, now, &done);
  return done;
}

}  // namespace lockstep::cli
