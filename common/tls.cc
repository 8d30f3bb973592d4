#include "common/tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::common {
namespace {

struct Loaded {
  std::string certificate;
  std::string key;
  std::string authority;
};

using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

// The first in the text; null when there is none.
Certificate ReadCertificate(const std::string& pem) {
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  return {PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr), X509_free};
}

// Without this, OpenSSL asks for a password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<Loaded> Load(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty() || files.authority.empty()) {
    return absl::InvalidArgumentError("TLS needs all three of --tls-cert, --tls-key and --tls-ca");
  }
  Loaded loaded;
  for (const auto& [path, content] :
       {std::pair{&files.certificate, &loaded.certificate}, std::pair{&files.key, &loaded.key},
        std::pair{&files.authority, &loaded.authority}}) {
    auto read = ReadFile(*path);
    if (!read.ok()) return read.status();
    *content = *std::move(read);
  }
  // The files are checked here, since errors of gRPC name no file.
  // A chain begins with the program's own certificate, so that reading the first one is enough.
  const Certificate own = ReadCertificate(loaded.certificate);
  if (own == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-cert ", files.certificate, ": no certificate in PEM"));
  }
  if (ReadCertificate(loaded.authority) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-ca ", files.authority, ": no certificate in PEM"));
  }
  const Memory key_memory(BIO_new_mem_buf(loaded.key.data(), static_cast<int>(loaded.key.size())),
                          BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_memory.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free);
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-key ", files.key, ": no key in PEM without a password"));
  }
  if (X509_check_private_key(own.get(), key.get()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-key ", files.key, " is not the key of the certificate in --tls-cert ",
                     files.certificate));
  }
  // X509_cmp_current_time(3) returns 0 where it cannot read the time. Such a certificate is left to
  // the handshake to refuse.
  if (X509_cmp_current_time(X509_get0_notAfter(own.get())) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-cert ", files.certificate, " has expired"));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own.get())) > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls-cert ", files.certificate, " is not valid yet; is this machine's clock right?"));
  }
  return loaded;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const TlsFiles& files) {
  if (!files.any()) return grpc::InsecureChannelCredentials();
  auto loaded = Load(files);
  if (!loaded.ok()) return loaded.status();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = loaded->authority;
  options.pem_private_key = loaded->key;
  options.pem_cert_chain = loaded->certificate;
  return grpc::SslCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const TlsFiles& files) {
  // The controller's main program has refused an address that others can reach unless
  // --insecure-plaintext was given (CheckBinds()).
  if (!files.any()) return grpc::InsecureServerCredentials();
  auto loaded = Load(files);
  if (!loaded.ok()) return loaded.status();
  // Each weaker mode of gRPC lets in clients without a certificate, or with one that nobody has
  // verified.
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = loaded->authority;
  options.pem_key_cert_pairs.push_back({loaded->key, loaded->certificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace lockstep::common
