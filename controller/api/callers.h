#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "common/certificate.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/tls.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// The caller's certificate; nothing without TLS. An error when it cannot be read.
absl::StatusOr<std::optional<common::CertificateFacts>> CertificateOf(
    const grpc::ServerContextBase& context);

// Whether callers' certificates still count. TLS checks a certificate when a connection is made,
// but a connection outlives what is revoked and what expires. Thread-safe.
class Callers {
 public:
  // `tls` is null without TLS: every caller counts. `clock` outlives this.
  Callers(std::shared_ptr<const common::TlsStore> tls, const common::Clock* clock)
      : tls_(std::move(tls)), clock_(clock) {}

  // OK, or UNAUTHENTICATED: the caller's certificate was revoked or has expired.
  grpc::Status Check(const grpc::ServerContextBase& context) const;
  // Sweep() ends the stream while the result lives. Destroy it in the stream's OnDone() at the
  // latest, since gRPC frees the context after that. The result must not outlive this. Null without
  // TLS.
  std::shared_ptr<void> Add(grpc::CallbackServerContext* context);
  // Cancels the streams whose callers' certificates no longer count. How many it has cancelled.
  size_t Sweep();

  // The controller's own certificate, and what keeps it from using changed files.
  void Describe(v1::StatusReply* reply) const;

 private:
  struct Stream {
    grpc::CallbackServerContext* context;
    common::CertificateFacts certificate;
  };
  absl::Time Now() const { return absl::FromUnixNanos(clock_->WallNs()); }
  void Remove(uint64_t key);

  const std::shared_ptr<const common::TlsStore> tls_;
  const common::Clock* const clock_;
  common::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::controller
