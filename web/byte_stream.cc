#include "web/byte_stream.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <type_traits>
#include <utility>

#include "boost/beast/ssl/ssl_stream.hpp"

namespace lockstep::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

std::string CertificateText(SSL* connection) {
  X509* certificate = SSL_get0_peer_certificate(connection);
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  if (certificate == nullptr || PEM_write_bio_X509(memory.get(), certificate) != 1) return "";
  char* text = nullptr;
  const auto length = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(length)};
}

template <typename Stream>
class StreamOf final : public ByteStream {
 public:
  // `tls` is what the stream was made with, if anything. It may be replaced while the stream lives.
  template <typename... Arguments>
  explicit StreamOf(std::shared_ptr<asio::ssl::context> tls, Arguments&&... arguments)
      : tls_(std::move(tls)), stream_(std::forward<Arguments>(arguments)...) {}

  void Handshake(Done done) override {
    if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
      done({}, 0);
    } else {
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [done = std::move(done)](Error error) { done(error, 0); });
    }
  }
  void ReadSome(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void WriteSome(const std::vector<asio::const_buffer>& buffers, Done done) override {
    stream_.async_write_some(buffers, std::move(done));
  }
  std::string PeerCertificate() override {
    if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
      return "";
    } else {
      return CertificateText(stream_.native_handle());
    }
  }
  beast::tcp_stream& Lowest() override { return beast::get_lowest_layer(stream_); }

 private:
  const std::shared_ptr<asio::ssl::context> tls_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(asio::ip::tcp::socket socket,
                                           const std::shared_ptr<asio::ssl::context>& tls) {
  if (tls == nullptr) {
    return std::make_unique<StreamOf<beast::tcp_stream>>(nullptr, std::move(socket));
  }
  // Beast's stream makes one record of several small buffers, where Asio's makes one of each.
  return std::make_unique<StreamOf<beast::ssl_stream<beast::tcp_stream>>>(tls, std::move(socket),
                                                                          *tls);
}

}  // namespace lockstep::web
