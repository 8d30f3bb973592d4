#include "doctor/certificates.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::doctor {
namespace {

constexpr int64_t kDayS = 86400;
constexpr int64_t kSoonS = 14 * kDayS;
constexpr size_t kMaxPemBytes = 1 << 20;
constexpr char kRoleSuffix[] = ".role.lockstep";

using OwnedBio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using OwnedX509 = std::unique_ptr<X509, decltype(&X509_free)>;

int64_t Seconds(const ASN1_TIME* time) {
  tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return absl::ToUnixSeconds(absl::FromTM(parts, absl::UTCTimeZone()));
}

std::string CommonName(const X509* certificate) {
  char name[256] = {};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                               name, sizeof name);
  return length > 0 ? common::Printable(name, 100) : "";
}

// Roles stand among the DNS names (docs/reference/security.md).
std::vector<std::string> RolesOf(X509* certificate) {
  std::vector<std::string> roles;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    absl::string_view dns(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                          static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    if (!absl::ConsumeSuffix(&dns, kRoleSuffix)) continue;
    roles.push_back(common::Printable(std::string(dns), 40));
  }
  return roles;
}

std::string Day(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(unix_s), absl::UTCTimeZone());
}

void CheckFile(const std::string& flag, const std::string& path, int64_t now_s,
               Findings* findings) {
  const auto text = common::ReadFile(path, kMaxPemBytes);
  // common::ClientCredentials() has the words for a file that cannot be used.
  if (!text.ok()) return;
  const auto facts = ReadCertificate(*text);
  if (!facts.ok()) return;
  CheckValidity(*facts, absl::StrCat(flag, " ", path), now_s,
                "issue a new one with the authority's key (docs/reference/operations.md, "
                "Certificates)",
                findings);
}

void CheckKeyMode(const std::string& path, Findings* findings) {
  struct stat about;
  if (stat(path.c_str(), &about) != 0) return;
  if ((about.st_mode & 0077) == 0) {
    findings->Ok("key", absl::StrCat("only its owner uses ", path));
    return;
  }
  findings->Warn(
      "key",
      absl::StrFormat("%s has mode %04o: other users can read it", path, about.st_mode & 07777),
      {"whoever reads the key can act in the name of its certificate",
       absl::StrCat("chmod 600 ", path)});
}

}  // namespace

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem) {
  const OwnedBio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const OwnedX509 certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr),
                              X509_free);
  if (certificate == nullptr) return absl::InvalidArgumentError("no certificate in PEM");
  CertificateFacts facts;
  facts.name = CommonName(certificate.get());
  facts.roles = RolesOf(certificate.get());
  facts.not_before_s = Seconds(X509_get0_notBefore(certificate.get()));
  facts.not_after_s = Seconds(X509_get0_notAfter(certificate.get()));
  return facts;
}

void CheckValidity(const CertificateFacts& facts, const std::string& whose, int64_t now_s,
                   const std::string& renew, Findings* findings) {
  const std::string who =
      absl::StrCat(whose, " (", facts.name.empty() ? "without a name" : facts.name,
                   facts.roles.empty() ? "" : ", " + absl::StrJoin(facts.roles, ", "), ")");
  const std::string until = Day(facts.not_after_s);
  const int64_t left_s = facts.not_after_s - now_s;
  if (now_s < facts.not_before_s) {
    findings->Problem("certificate",
                      absl::StrCat(who, " is not valid before ", Day(facts.not_before_s)),
                      {"the other side refuses the connection",
                       "compare this machine's clock with others: date -u; timedatectl"});
  } else if (left_s < 0) {
    findings->Problem("certificate", absl::StrCat(who, " has expired on ", until),
                      {"the other side refuses the connection", renew});
  } else if (left_s < kSoonS) {
    findings->Warn("certificate",
                   absl::StrCat(who, " expires in ", left_s / kDayS,
                                left_s / kDayS == 1 ? " day, on " : " days, on ", until),
                   {"after that the other side refuses the connection", renew});
  } else {
    findings->Ok("certificate", absl::StrCat(who, " is valid until ", until));
  }
}

void CheckCertificates(const common::TlsFiles& files, int64_t now_s, Findings* findings) {
  if (!files.any()) return;
  CheckFile("--tls-cert", files.certificate, now_s, findings);
  CheckFile("--tls-ca", files.authority, now_s, findings);
  CheckKeyMode(files.key, findings);
  // Whatever is wrong with them together: a key of another certificate, a file that is none.
  const auto usable = common::ClientCredentials(files);
  if (!usable.ok()) {
    findings->Problem("certificate", std::string(usable.status().message()),
                      {"without its three files this program cannot connect",
                       "openssl x509 -noout -subject -dates -in FILE shows a certificate"});
  }
}

}  // namespace lockstep::doctor
