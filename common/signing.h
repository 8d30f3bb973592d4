#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockstep::common {

// An Ed25519 key (RFC 8032). Immutable; thread-safe.
class SigningKey {
 public:
  static constexpr size_t kSecretBytes = 32;
  static constexpr size_t kPublicBytes = 32;
  static constexpr size_t kSignatureBytes = 64;

  // A new one, from the system's random numbers.
  static SigningKey Make();
  // INVALID_ARGUMENT when `secret` does not have kSecretBytes.
  static absl::StatusOr<SigningKey> FromSecret(std::string_view secret);

  const std::string& secret() const { return secret_; }
  const std::string& public_key() const { return public_key_; }
  // kSignatureBytes, the same again for the same message.
  std::string Sign(std::string_view message) const;

 private:
  SigningKey(std::string secret, std::string public_key);
  std::string secret_;
  std::string public_key_;
};

// Whether the owner of `public_key` signed the message. False for a key or a signature of the wrong
// length.
bool IsSignedBy(std::string_view public_key, std::string_view message, std::string_view signature);

// HMAC-SHA256 (RFC 2104), 32 bytes.
std::string KeyedHash(std::string_view key, std::string_view message);
// Takes the same time whatever differs.
bool IsSameSecret(std::string_view a, std::string_view b);

}  // namespace lockstep::common
