#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "boost/asio/ssl/context.hpp"
#include "common/mutex.h"
#include "common/tls.h"

namespace lockstep::web {

// TLS of the page: only browsers with a certificate of the authority get in. Thread-safe.
class PageTls {
 public:
  // INVALID_ARGUMENT when OpenSSL does not accept what `store` has.
  static absl::StatusOr<std::unique_ptr<PageTls>> Make(
      std::shared_ptr<const common::TlsStore> store);

  // For a new connection: with what the store has now.
  std::shared_ptr<boost::asio::ssl::context> Context();
  // Whether a browser's certificate was neither revoked nor has expired.
  bool Counts(const common::CertificateFacts& certificate) const;

 private:
  explicit PageTls(std::shared_ptr<const common::TlsStore> store) : store_(std::move(store)) {}

  const std::shared_ptr<const common::TlsStore> store_;
  common::Mutex mutex_;
  std::shared_ptr<const common::TlsContent> content_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<boost::asio::ssl::context> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::web
