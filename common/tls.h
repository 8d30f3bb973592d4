#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/address.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace lockstep::common {

// Paths of PEM files: this part's certificate and key, and the authority that signed the other
// parts'. All or none.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;
  bool any() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

// Credentials of a client or a server: mutual TLS when files are given, plaintext when none is.
// INVALID_ARGUMENT when only some are given, when one is not what it should be, when the key is not
// the certificate's or the certificate has expired; the file's status when one cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const TlsFiles& files);

}  // namespace lockstep::common
