#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace lockstep::common {

// Paths of PEM files: this part's certificate and key, and the authority that signed the other parts'. All or none.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;
  bool any() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

// Credentials of a client or a server: mutual TLS when files are given, plaintext when none is. INVALID_ARGUMENT
// when only some are given; the file's status when one cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const TlsFiles& files);

// INVALID_ARGUMENT unless it is HOST:PORT, with a port up to 65535, or unix:PATH.
absl::Status CheckAddress(const std::string& address);
// Whether HOST of HOST:PORT can only be reached from this machine: 127.0.0.0/8, [::1], localhost, or unix:.
bool IsLoopback(const std::string& address);

}  // namespace lockstep::common
