#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::common {

// A key (ECDSA on P-256) in PEM. It is a secret: neither logged nor shown. INTERNAL if OpenSSL
// fails. Thread-safe.
absl::StatusOr<std::string> MakePrivateKey();

// A request for a certificate (PKCS #10, PEM) of the key, which signs it. It has no names: the one
// who signs the certificate decides whose it is. A `challenge` that is not empty is in the request
// as its challengePassword (RFC 2985), so that the signature covers it. INVALID_ARGUMENT if
// `key_pem` is no key, or an encrypted one; INTERNAL if OpenSSL fails. Thread-safe.
absl::StatusOr<std::string> MakeCertificateRequest(const std::string& key_pem,
                                                   const std::string& challenge);

}  // namespace lockstep::common
