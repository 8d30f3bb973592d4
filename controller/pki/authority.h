#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lockstep::pki {

// The role that a certificate gives its holder. The controller reads users' and workers' roles from
// it (controller/api/principal.h).
enum class Holder { kController, kWorker, kViewer, kSubmitter, kAdmin };
const char* HolderName(Holder holder);

// The contents of a certificate to issue.
struct Request {
  Holder holder = Holder::kViewer;
  std::string name;  // the common name
  // DNS names and IP addresses by which others reach a controller. Others have none: with one, a
  // stolen key could pose as the controller there.
  std::vector<std::string> addresses;
  // A certificate counts from five minutes before `not_before` on, for hosts whose clocks are
  // behind.
  absl::Time not_before, not_after;
};

// OK when the text may be a holder's name: letters, digits, '.', '_', '-' and '@', at most 64,
// beginning with a letter or digit. Such a name is also safe as the name of a directory.
absl::Status CheckName(const std::string& name);
// OK when the text may be an address of a controller: an IP address or a host's name, and not one
// that gives a role.
absl::Status CheckControllerAddress(const std::string& address);

// The certificate of a new authority, signed with its own key.
absl::StatusOr<std::string> MakeAuthority(const std::string& key_pem, const std::string& name,
                                          absl::Time not_before, absl::Time not_after);

// A key that certifies others, with its certificate. Holds the secret in PEM; a value.
class Authority {
 public:
  // FAILED_PRECONDITION where the key is not the certificate's, or where that is no authority's.
  static absl::StatusOr<Authority> Open(std::string certificate_pem, std::string key_pem);

  // Certificates in PEM, of the public key that is in: a secret key; a request to sign (CSR, of
  // which nothing else counts), which must be signed with its own key; another certificate.
  // INVALID_ARGUMENT for a name or an address that may not be, for a key that is too weak (RSA
  // below 2,048 bits, curves other than P-256, P-384 and P-521), and for a time beyond the
  // authority's own. A request must carry `challenge` as its challengePassword, unless that is
  // empty.
  absl::StatusOr<std::string> IssueForKey(const Request& request, const std::string& key_pem) const;
  absl::StatusOr<std::string> IssueForCsr(const Request& request, const std::string& csr_pem,
                                          const std::string& challenge = "") const;
  absl::StatusOr<std::string> Renew(const Request& request,
                                    const std::string& certificate_pem) const;

  // A list (X509 CRL, PEM) that has what `list_pem` has and these certificates, too. `list_pem` is
  // empty or a list of this authority. The result has no date of expiry.
  absl::StatusOr<std::string> Revoke(const std::string& list_pem,
                                     const std::vector<std::string>& certificates_pem,
                                     absl::Time now) const;

  const std::string& certificate() const { return certificate_pem_; }

 private:
  Authority(std::string certificate_pem, std::string key_pem)
      : certificate_pem_(std::move(certificate_pem)), key_pem_(std::move(key_pem)) {}
  std::string certificate_pem_, key_pem_;
};

// The request for which `Authority` has issued the certificate, to renew it. INVALID_ARGUMENT for
// another's.
absl::StatusOr<Request> RequestOf(const std::string& certificate_pem);

}  // namespace lockstep::pki
