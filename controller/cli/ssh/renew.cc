// fleet renew: new certificates for workers that go on.

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/certificate.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/side_by_side.h"
#include "controller/cli/ssh/fleet.h"
#include "controller/cli/ssh/progress.h"

namespace lockstep::cli {
namespace {

absl::Status RenewOn(const RenewOptions& options, const FleetRecords& records, FleetRecord* record,
                     HostProgress* progress) {
  // What this machine takes for the controller's authority must have the workers', as when they
  // were started. The file may also have a key.
  const auto authority = common::ReadRegularFile(record->tls_authority,
                                                 static_cast<size_t>(limits::kCertificateBytes));
  if (!authority.ok()) return authority.status();
  HostCertificates certificates;
  certificates.pki = options.pki.empty() ? record->pki : options.pki;
  certificates.life = options.life;
  certificates.authority = common::CertificatesOnly(*authority);
  if (absl::Status can = CheckCertificates(certificates, absl::Now()); !can.ok()) return can;
  SshConnection::Ports ports;
  ports.is_cancelled = options.is_cancelled;
  ports.progress = [&](const std::string& doing) { progress->Show(record->name, doing); };
  SshConnection host(record, &records, ports);
  const std::string challenge = NewChallenge();
  const auto request = host.RequestCertificate(challenge, SshConnection::Key::kNext);
  if (!request.ok()) return request.status();
  return RenewForHost(
      certificates, *request, challenge, absl::Now(), record,
      [&](const FleetRecord& changed) { return records.Save(changed); },
      [&](const std::string& certificate) { return host.Renew(certificate); });
}

}  // namespace

absl::StatusOr<std::vector<FleetRecord>> FindRecords(const FleetRecords& records,
                                                     const std::vector<std::string>& hosts) {
  auto fleet = records.Load();
  if (!fleet.ok() || hosts.empty()) return fleet;
  const auto parsed = ParseHosts(hosts);
  if (!parsed.ok()) return parsed.status();
  std::set<std::string> wanted;
  for (const SshHost& host : *parsed) wanted.insert(host.name);
  std::erase_if(*fleet, [&](const FleetRecord& record) { return !wanted.contains(record.name); });
  return fleet;
}

std::vector<HostOutcome> RenewFleet(std::vector<FleetRecord> fleet, const FleetRecords& records,
                                    const RenewOptions& options) {
  std::vector<std::string> names;
  for (const FleetRecord& record : fleet) names.push_back(record.name);
  HostProgress progress(names);
  std::vector<HostOutcome> outcomes(fleet.size());
  common::SideBySide(fleet.size(), options.parallel, [&](size_t i) {
    outcomes[i].name = names[i];
    outcomes[i].token = fleet[i].token;
    outcomes[i].status = options.is_cancelled() ? absl::CancelledError("cancelled")
                                                : RenewOn(options, records, &fleet[i], &progress);
    const std::string end = absl::FormatTime(
        "%Y-%m-%d %H:%M:%SZ", absl::FromUnixSeconds(fleet[i].valid_to_s), absl::UTCTimeZone());
    progress.Finish(
        names[i],
        absl::StrCat(outcomes[i].status.ok()
                         ? "renewed"
                         : absl::StrCat("NOT RENEWED: ", std::string(outcomes[i].status.message())),
                     "; certificate until ", end));
  });
  return outcomes;
}

}  // namespace lockstep::cli
