#include "common/tls.h"

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::common {
namespace {

struct Loaded {
  std::string certificate;
  std::string key;
  std::string authority;
};

absl::StatusOr<Loaded> Load(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty() || files.authority.empty()) {
    return absl::InvalidArgumentError("TLS needs all three of --tls-cert, --tls-key and --tls-ca");
  }
  Loaded loaded;
  for (const auto& [path, content] : {std::pair{&files.certificate, &loaded.certificate},
                                      std::pair{&files.key, &loaded.key}, std::pair{&files.authority, &loaded.authority}}) {
    auto read = ReadFile(*path);
    if (!read.ok()) return read.status();
    *content = *std::move(read);
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
  if (!files.any()) return grpc::InsecureServerCredentials();
  auto loaded = Load(files);
  if (!loaded.ok()) return loaded.status();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = loaded->authority;
  options.pem_key_cert_pairs.push_back({loaded->key, loaded->certificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace lockstep::common
