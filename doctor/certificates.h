#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls.h"
#include "doctor/findings.h"

namespace lockstep::doctor {

// What matters of a certificate.
struct CertificateFacts {
  std::string name;                // its common name
  std::vector<std::string> roles;  // admin, submitter, worker; none is a viewer's
  int64_t not_before_s = 0;        // since 1970
  int64_t not_after_s = 0;
};

// Of the first certificate in the text. INVALID_ARGUMENT where there is none.
absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);

// Says until when the certificate is valid: a problem before and after, a warning in its last two
// weeks. `whose`: "the controller's certificate". `renew`: what helps.
void CheckValidity(const CertificateFacts& facts, const std::string& whose, int64_t now_s,
                   const std::string& renew, Findings* findings);

// The files that a program is given: whether they can be read and fit each other, until when they
// are valid, and that nobody else reads the key. Nothing when there are none.
void CheckCertificates(const common::TlsFiles& files, int64_t now_s, Findings* findings);

}  // namespace lockstep::doctor
