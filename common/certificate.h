#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lockstep::common {

// The facts that a certificate states about its holder and about itself.
struct CertificateFacts {
  std::string name;                    // the common name; empty without one
  std::vector<std::string> dns_names;  // alternative names; those with a NUL byte are left out
  std::vector<std::string> addresses;  // alternative IP addresses, as text
  std::string serial;                  // hexadecimal
  std::string id;                      // issuer and serial, which no other certificate has
  std::string key;                     // a digest of the public key, which renewing keeps
  absl::Time not_before, not_after;
};

enum class Validity { kValid, kSoonExpired, kExpired };
// By the certificate's times alone. A certificate is soon expired in the last 30 days, or in the
// last third of a shorter life.
Validity ValidityAt(const CertificateFacts& facts, absl::Time now);
// "expires on 2027-11-26, in 12 days", "has expired on 2026-11-25". The date is UTC.
std::string DescribeExpiry(const CertificateFacts& facts, absl::Time now);

// The first certificate in the text. INVALID_ARGUMENT where there is none in PEM.
absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);
// The certificates in the text, in PEM and in their order, without anything else that it has. A
// file of authorities may also have a key.
std::string CertificatesOnly(const std::string& pem);
// Whether the first certificate of `certificate_pem` is among those of `pem`.
bool HasCertificate(const std::string& pem, const std::string& certificate_pem);
// OK when the key is the first certificate's.
absl::Status CheckKeyOf(const std::string& certificate_pem, const std::string& key_pem);

// The certificates that their authorities have revoked. A value; immutable.
class RevocationList {
 public:
  RevocationList() = default;
  // Reads each list (X509 CRL) in the text. INVALID_ARGUMENT where there is none in PEM, or where
  // one is not signed by a certificate of `authority_pem`. A list does not become invalid with age:
  // what it revokes stays revoked.
  static absl::StatusOr<RevocationList> Parse(const std::string& pem,
                                              const std::string& authority_pem);
  bool Contains(const CertificateFacts& facts) const { return signers_.contains(facts.id); }
  // Whether each certificate of `other` is in this list, too.
  bool Covers(const RevocationList& other) const;
  // The revocations that were signed with the keys of these authorities.
  RevocationList Of(const std::string& authority_pem) const;
  size_t size() const { return signers_.size(); }

 private:
  // By CertificateFacts::id, the digest of the key that signed the list. A new authority may have
  // the name of an old one.
  std::map<std::string, std::string> signers_;
};

}  // namespace lockstep::common
