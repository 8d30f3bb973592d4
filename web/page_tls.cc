#include "web/page_tls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "boost/asio/buffer.hpp"
#include "common/log.h"

namespace lockstep::web {
namespace {

using SslContext = boost::asio::ssl::context;

absl::StatusOr<std::shared_ptr<SslContext>> ContextOf(const common::TlsContent& content) {
  using boost::asio::buffer;
  auto tls = std::make_shared<SslContext>(SslContext::tls_server);
  boost::system::error_code error;
  tls->set_options(SslContext::default_workarounds | SslContext::no_tlsv1 | SslContext::no_tlsv1_1,
                   error);
  if (!error) tls->use_certificate_chain(buffer(content.certificate), error);
  if (!error) tls->use_private_key(buffer(content.key), SslContext::pem, error);
  if (!error) tls->add_certificate_authority(buffer(content.authority), error);
  // Browsers resume sessions. If the server requests certificates and has no session id context,
  // OpenSSL fails such a handshake (SSL_CTX_set_session_id_context(3)).
  static constexpr unsigned char kSessions[] = "lockstep";
  SSL_CTX_set_session_id_context(tls->native_handle(), kSessions, sizeof kSessions - 1);
  if (!error) {
    // With verify_peer alone a browser without a certificate would be let in
    // (SSL_CTX_set_verify(3)).
    tls->set_verify_mode(
        boost::asio::ssl::verify_peer | boost::asio::ssl::verify_fail_if_no_peer_cert, error);
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat("--tls-…: ", error.message()));
  return tls;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PageTls>> PageTls::Make(
    std::shared_ptr<const common::TlsStore> store) {
  std::unique_ptr<PageTls> tls(new PageTls(std::move(store)));
  auto content = tls->store_->Current();
  auto context = ContextOf(*content);
  if (!context.ok()) return context.status();
  common::MutexLock lock(&tls->mutex_);
  tls->content_ = std::move(content);
  tls->context_ = *std::move(context);
  return tls;
}

std::shared_ptr<SslContext> PageTls::Context() {
  auto content = store_->Current();
  common::MutexLock lock(&mutex_);
  if (content == content_) return context_;
  content_ = std::move(content);
  auto context = ContextOf(*content_);
  if (context.ok()) {
    context_ = *std::move(context);
  } else {
    log::Error("the page goes on with its certificate of before: {}",
               std::string(context.status().message()));
  }
  return context_;
}

bool PageTls::Counts(const common::CertificateFacts& certificate) const {
  return common::ValidityAt(certificate, absl::Now()) != common::Validity::kExpired &&
         !store_->Current()->revoked.Contains(certificate);
}

}  // namespace lockstep::web
