#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/address.h"
#include "common/certificate.h"
#include "common/mutex.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace lockstep::common {

// Paths of PEM files: this part's certificate and key, and the authority that signed the other
// parts'. All three or none. `server_name` says which name the other side's certificate must have.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;
  std::string revocations;  // X509 CRLs; may be empty: none are read
  // Has cert.pem, key.pem, ca.pem and perhaps crl.pem, which stand for those that are empty above.
  std::string directory;
  // The name or address that the controller's certificate must have, where that is not the one that
  // is dialled: a socket or port that ssh forwards. Empty: the one that is dialled.
  std::string server_name;
  // Whether a file is given. A server_name alone is not enough.
  bool IsTlsWanted() const {
    return !certificate.empty() || !key.empty() || !authority.empty() || !revocations.empty() ||
           !directory.empty();
  }
};

// The same files, each by its own path. Pure.
TlsFiles WithoutDirectory(TlsFiles files);

// The certificates that a program shows and trusts, as the files had them when they were last read.
struct TlsContent {
  std::string certificate, key, authority;  // PEM
  CertificateFacts own;
  RevocationList revoked;
};

// The content of TLS files, which may be replaced while the program runs. Thread-safe.
class TlsStore {
 public:
  // INVALID_ARGUMENT when only some files are given, when one is not what it should be, when the
  // key is not the certificate's or the certificate has expired; the file's status when one cannot
  // be read.
  static absl::StatusOr<std::shared_ptr<TlsStore>> Open(const TlsFiles& files);

  std::shared_ptr<const TlsContent> Current() const;
  // Reads the files again if one has changed since the last call. An error is as of Open(), or
  // FAILED_PRECONDITION when a certificate of an authority that is still trusted was revoked and
  // would count again. After an error the content stays as it was. The same error comes once, until
  // a file changes.
  absl::Status Refresh();
  // The last error of Refresh(); OK when the content is what the files have.
  absl::Status problem() const;

 private:
  explicit TlsStore(TlsFiles files) : files_(std::move(files)) {}
  // The fingerprint of all files. It changes when one is written or replaced.
  std::string Fingerprint() const;
  absl::StatusOr<std::shared_ptr<const TlsContent>> Read() const;

  const TlsFiles files_;  // without `directory`
  mutable Mutex mutex_;
  std::string fingerprint_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TlsContent> content_ ABSL_GUARDED_BY(mutex_);
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
};

// Credentials of a client for one connection: mutual TLS with what the files have now, plaintext
// when none is given. Errors are as of TlsStore::Open().
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const TlsFiles& files);
// Gives the credentials of each new connection, with the files read again if they have changed. If
// they have become unusable, the last ones. Thread-safe. The first ones are made at once: errors
// are theirs, and INVALID_ARGUMENT for a server_name without files.
using CredentialsSource = std::function<std::shared_ptr<grpc::ChannelCredentials>()>;
absl::StatusOr<CredentialsSource> MakeCredentialsSource(const TlsFiles& files);

// Credentials of a server: mutual TLS with what `tls` has when a connection is made, plaintext when
// it is null. The result outlives the server.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(std::shared_ptr<const TlsStore> tls);

}  // namespace lockstep::common
