#include "common/certificate_request.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace lockstep::common {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

absl::Status Failed(const std::string& what) {
  char text[256] = {};
  ERR_error_string_n(ERR_peek_last_error(), text, sizeof text);
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", what, ": ", text));
}

// The memory is wiped, because it may have held a key.
template <typename Write>
std::string Written(const Write& write) {
  const Memory memory(BIO_new(BIO_s_secmem()), BIO_free);
  if (memory == nullptr || write(memory.get()) != 1) return "";
  char* text = nullptr;
  const auto length = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(length)};
}

// Without this, OpenSSL asks for a password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

absl::StatusOr<std::string> MakePrivateKey() {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  if (key == nullptr) return Failed("make a key");
  std::string pem = Written([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (pem.empty()) return Failed("write a key");
  return pem;
}

absl::StatusOr<std::string> MakeCertificateRequest(const std::string& key_pem,
                                                   const std::string& challenge) {
  const Memory memory(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), BIO_free);
  const Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free);
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
    return Failed("make a certificate request");
  }
  std::string pem = Written([&](BIO* out) { return PEM_write_bio_X509_REQ(out, request.get()); });
  if (pem.empty()) return Failed("write a certificate request");
  return pem;
}

}  // namespace lockstep::common
