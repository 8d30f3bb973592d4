#include "controller/api/callers.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "grpc/grpc_security_constants.h"

namespace lockstep::controller {
namespace {

// Why the certificate no longer counts; empty when it does.
std::string WhyNot(const common::TlsContent& content, const common::CertificateFacts& facts,
                   absl::Time now) {
  // Every second for every stream of a fleet: the texts are made for those alone that are ended.
  if (content.revoked.Contains(facts)) {
    return absl::StrCat("the certificate of ", common::Printable(facts.name, 128),
                        " with the serial number ", facts.serial, " was revoked");
  }
  if (common::ValidityAt(facts, now) != common::Validity::kExpired) return "";
  return absl::StrCat(
      "the certificate of ", common::Printable(facts.name, 128), " ",
      common::DescribeExpiry(facts, now),
      "; an operator renews it with `lockstep pki renew`, or `lockstep fleet renew` where "
      "`fleet up` has issued it");
}

}  // namespace

absl::StatusOr<std::optional<common::CertificateFacts>> CertificateOf(
    const grpc::ServerContextBase& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return std::nullopt;
  const auto values = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (values.empty()) return absl::InvalidArgumentError("gRPC gives no certificate of the caller");
  auto facts = common::ReadCertificate(std::string(values[0].data(), values[0].size()));
  if (!facts.ok()) return facts.status();
  return *std::move(facts);
}

grpc::Status Callers::Check(const grpc::ServerContextBase& context) const {
  if (tls_ == nullptr) return grpc::Status::OK;
  const auto certificate = CertificateOf(context);
  // A certificate that gRPC has verified can be read. If it could not, nobody could say whether it
  // was revoked.
  if (!certificate.ok()) {
    return {grpc::StatusCode::UNAUTHENTICATED, std::string(certificate.status().message())};
  }
  // The web page of this process calls without a certificate. It checks its browsers itself
  // (web/connection.cc).
  if (!certificate->has_value()) return grpc::Status::OK;
  const std::string why = WhyNot(*tls_->Current(), **certificate, Now());
  if (why.empty()) return grpc::Status::OK;
  return {grpc::StatusCode::UNAUTHENTICATED, why};
}

std::shared_ptr<void> Callers::Add(grpc::CallbackServerContext* context) {
  if (tls_ == nullptr) return nullptr;
  auto certificate = CertificateOf(*context);
  if (!certificate.ok() || !certificate->has_value()) return nullptr;
  common::MutexLock lock(&mutex_);
  const uint64_t key = next_++;
  streams_[key] = {context, **std::move(certificate)};
  // There is nothing to point to; only the deleter matters, which runs all the same.
  return std::shared_ptr<void>(nullptr, [this, key](void*) { Remove(key); });
}

void Callers::Remove(uint64_t key) {
  common::MutexLock lock(&mutex_);
  streams_.erase(key);
}

void Callers::Describe(v1::StatusReply* reply) const {
  if (tls_ == nullptr) return;
  const auto content = tls_->Current();
  v1::CertificateState* state = reply->mutable_certificate();
  state->set_not_after(common::FormatInstant(absl::ToUnixNanos(content->own.not_after)));
  if (common::ValidityAt(content->own, Now()) != common::Validity::kValid) {
    state->set_warning(common::DescribeExpiry(content->own, Now()));
  }
  state->set_problem(std::string(tls_->problem().message()));
}

size_t Callers::Sweep() {
  if (tls_ == nullptr) return 0;
  const auto content = tls_->Current();
  const absl::Time now = Now();
  size_t ended = 0;
  // A stream stays in the list until its OnDone(), which gRPC calls on another thread and which
  // waits for this lock. The context is therefore there.
  common::MutexLock lock(&mutex_);
  for (auto& [key, stream] : streams_) {
    const std::string why = WhyNot(*content, stream.certificate, now);
    if (why.empty() || stream.context->IsCancelled()) continue;
    log::Warn("a stream from {} is ended: {}", common::Printable(stream.context->peer(), 128), why);
    stream.context->TryCancel();
    ++ended;
  }
  return ended;
}

}  // namespace lockstep::controller
