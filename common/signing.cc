#include "common/signing.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::common {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key PrivateKey(std::string_view secret) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(secret), secret.size()),
          EVP_PKEY_free};
}

}  // namespace

SigningKey::SigningKey(std::string secret, std::string public_key)
    : secret_(std::move(secret)), public_key_(std::move(public_key)) {}

SigningKey SigningKey::Make() {
  std::string secret(kSecretBytes, '\0');
  // A signature means nothing without random numbers: the program ends.
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1) abort();
  auto made = FromSecret(secret);
  if (!made.ok()) abort();
  return *std::move(made);
}

absl::StatusOr<SigningKey> SigningKey::FromSecret(std::string_view secret) {
  if (secret.size() != kSecretBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a signing key has ", kSecretBytes, " bytes, not ", secret.size()));
  }
  const Key key = PrivateKey(secret);
  std::string public_key(kPublicBytes, '\0');
  size_t length = public_key.size();
  if (key == nullptr ||
      EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(public_key.data()),
                                  &length) != 1) {
    return absl::InvalidArgumentError("OpenSSL does not accept the signing key");
  }
  return SigningKey(std::string(secret), std::move(public_key));
}

std::string SigningKey::Sign(std::string_view message) const {
  // OpenSSL's key object is made for each signature. SigningKey holds only bytes, so that it is a
  // plain value which every thread may use.
  const Key key = PrivateKey(secret_);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  // Ed25519 reads the message twice (RFC 8032): OpenSSL signs with it in one call only.
  std::string signature(kSignatureBytes, '\0');
  size_t length = signature.size();
  if (key == nullptr || context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                     Bytes(message), message.size()) != 1) {
    abort();  // memory alone can be missing
  }
  return signature;
}

bool IsSignedBy(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != SigningKey::kPublicBytes ||
      signature.size() != SigningKey::kSignatureBytes) {
    return false;
  }
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(public_key), public_key.size()),
      EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(message),
                          message.size()) == 1;
}

std::string KeyedHash(std::string_view key, std::string_view message) {
  std::string hash(32, '\0');
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(message), message.size(),
           reinterpret_cast<unsigned char*>(hash.data()), &length) == nullptr) {
    abort();  // memory alone can be missing
  }
  return hash;
}

bool IsSameSecret(std::string_view a, std::string_view b) {
  // A comparison that ends at the first difference would show by its duration how much of a guess
  // is right.
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace lockstep::common
