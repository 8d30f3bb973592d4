#include "common/tls.h"

#include "absl/strings/numbers.h"
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

absl::Status CheckAddress(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const bool bracketed = !host.empty() && host.front() == '[' && host.back() == ']';
  uint32_t port = 0;
  if (colon == std::string::npos || host.empty() || (host.find(':') != std::string::npos && !bracketed) || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError("'" + address + "': write HOST:PORT, with a port up to 65535 (IPv6: [HOST]:PORT)");
  }
  return absl::OkStatus();
}

bool IsLoopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address.rfind("[::1]", 0) == 0 || address.rfind("localhost:", 0) == 0 ||
         address.rfind("unix:", 0) == 0;
}

}  // namespace lockstep::common
