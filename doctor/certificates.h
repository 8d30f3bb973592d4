#pragma once

#include <cstdint>
#include <string>

#include "common/certificate.h"
#include "common/tls.h"
#include "doctor/findings.h"

namespace lockstep::doctor {

// Says until when the certificate is valid: a problem before and after, a warning if it
// expires soon. `whose`: "the controller's certificate". `renew`: what helps.
void CheckValidity(const common::CertificateFacts& facts, const std::string& whose, int64_t now_s,
                   const std::string& renew, Findings* findings);

// The files that a program is given: whether they can be read and fit each other, until when they
// are valid, and that nobody else reads the key. Nothing when there are none.
void CheckCertificates(const common::TlsFiles& given, int64_t now_s, Findings* findings);

}  // namespace lockstep::doctor
