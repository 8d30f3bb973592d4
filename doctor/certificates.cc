#include "doctor/certificates.h"

#include <sys/stat.h>

#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::doctor {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr char kRoleSuffix[] = ".role.lockstep";

// Roles stand among the DNS names (docs/reference/security.md).
std::vector<std::string> RolesOf(const common::CertificateFacts& facts) {
  std::vector<std::string> roles;
  for (const std::string& name : facts.dns_names) {
    if (!absl::EndsWith(name, kRoleSuffix)) continue;
    // Somebody else may have made the certificate: its bytes must not reach the terminal as they
    // are.
    roles.push_back(common::Printable(name.substr(0, name.size() - strlen(kRoleSuffix)), 40));
  }
  return roles;
}

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

void CheckFile(const std::string& flag, const std::string& path, int64_t now_s,
               Findings* findings) {
  const auto text = common::ReadRegularFile(path, kMaxPemBytes);
  // common::ClientCredentials() has the words for a file that cannot be used.
  if (!text.ok()) return;
  const auto facts = common::ReadCertificate(*text);
  if (!facts.ok()) return;
  CheckValidity(*facts, absl::StrCat(flag, " ", path), now_s,
                "lockstep pki renew NAME, or a new one by your own authority "
                "(docs/reference/operations.md, Certificates)",
                findings);
}

void CheckKeyMode(const std::string& path, Findings* findings) {
  struct stat about;
  // ClientCredentials(), which is tried next, says why a key cannot be read.
  if (stat(path.c_str(), &about) != 0) return;
  // OpenSSL loads a key of any mode without a word.
  if ((about.st_mode & 0077) == 0) {
    findings->Ok("key", absl::StrCat("only its owner uses ", path));
    return;
  }
  findings->Warn(
      "key",
      absl::StrFormat("%s has mode %04o: other users can read it", path, about.st_mode & 07777),
      {"a person who reads the key can act in the name of its certificate",
       absl::StrCat("chmod 600 ", path)});
}

}  // namespace

void CheckValidity(const common::CertificateFacts& facts, const std::string& whose, int64_t now_s,
                   const std::string& renew, Findings* findings) {
  const absl::Time now = absl::FromUnixSeconds(now_s);
  const std::vector<std::string> roles = RolesOf(facts);
  const std::string who = absl::StrCat(
      whose, " (", facts.name.empty() ? "without a name" : common::Printable(facts.name, 100),
      roles.empty() ? "" : ", " + absl::StrJoin(roles, ", "), ")");
  // A new certificate and a clock that is behind look like this. The clock is therefore the advice.
  if (now < facts.not_before) {
    findings->Problem("certificate",
                      absl::StrCat(who, " is not valid before ", Day(facts.not_before)),
                      {"the other side refuses the connection",
                       "compare this machine's clock with others: date -u; timedatectl"});
    return;
  }
  const std::string expiry = absl::StrCat(who, " ", common::DescribeExpiry(facts, now));
  switch (common::ValidityAt(facts, now)) {
    case common::Validity::kExpired:
      findings->Problem("certificate", expiry, {"the other side refuses the connection", renew});
      break;
    case common::Validity::kSoonExpired:
      findings->Warn("certificate", expiry,
                     {"after that the other side refuses the connection", renew});
      break;
    case common::Validity::kValid:
      findings->Ok("certificate", expiry);
      break;
  }
}

void CheckCertificates(const common::TlsFiles& given, int64_t now_s, Findings* findings) {
  if (!given.IsTlsWanted()) return;
  const common::TlsFiles files = common::WithoutDirectory(given);
  CheckFile("--tls-cert", files.certificate, now_s, findings);
  CheckFile("--tls-ca", files.authority, now_s, findings);
  CheckKeyMode(files.key, findings);
  // The files must fit together: the key may be of another certificate, or a file may be none.
  const auto usable = common::ClientCredentials(given);
  if (!usable.ok()) {
    findings->Problem("certificate", std::string(usable.status().message()),
                      {"without its three files this program cannot connect",
                       "openssl x509 -noout -subject -dates -in FILE shows a certificate"});
  }
}

}  // namespace lockstep::doctor
