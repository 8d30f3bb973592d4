#include "common/certificate_request.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "common/openssl_text.h"

namespace lockstep::common {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

}  // namespace

absl::StatusOr<std::string> MakePrivateKey() {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  if (key == nullptr) return OpensslError("make a key");
  std::string pem = WrittenText([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (pem.empty()) return OpensslError("write a key");
  return pem;
}

absl::StatusOr<std::string> MakeCertificateRequest(const std::string& key_pem,
                                                   const std::string& challenge) {
  const Key key(PEM_read_bio_PrivateKey(ReaderOf(key_pem).get(), nullptr, NoPassword, nullptr),
                EVP_PKEY_free);
  if (key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("no key in PEM without a password");
  }
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(X509_REQ_new(), X509_REQ_free);
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      (!challenge.empty() &&
       X509_REQ_add1_attr_by_NID(request.get(), NID_pkcs9_challengePassword, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(challenge.data()),
                                 static_cast<int>(challenge.size())) != 1) ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0) {
    return OpensslError("make a certificate request");
  }
  std::string pem =
      WrittenText([&](BIO* out) { return PEM_write_bio_X509_REQ(out, request.get()); });
  if (pem.empty()) return OpensslError("write a certificate request");
  return pem;
}

}  // namespace lockstep::common
