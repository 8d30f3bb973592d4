#include "web/byte_stream.h"

#include <type_traits>
#include <utility>

#include "boost/beast/ssl/ssl_stream.hpp"

namespace lockstep::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

template <typename Stream>
class StreamOf final : public ByteStream {
 public:
  template <typename... Arguments>
  explicit StreamOf(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}

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
  beast::tcp_stream& Lowest() override { return beast::get_lowest_layer(stream_); }

 private:
  Stream stream_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(asio::ip::tcp::socket socket, asio::ssl::context* tls) {
  if (tls == nullptr) return std::make_unique<StreamOf<beast::tcp_stream>>(std::move(socket));
  // Beast's stream makes one record of several small buffers, where Asio's makes one of each.
  return std::make_unique<StreamOf<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), *tls);
}

}  // namespace lockstep::web
