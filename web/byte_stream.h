#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "boost/asio/buffer.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ssl/context.hpp"
#include "boost/beast/core/tcp_stream.hpp"

namespace lockstep::web {

// The bytes of a browser's connection, with or without TLS. The operations are virtual, because
// each one that Asio composes of a type of stream and a handler is compiled anew.
//
// All functions are called on the socket's strand, where the handlers run, too. At most one read
// and one write are in progress. A handler keeps alive what it uses, the stream included.
class ByteStream {
 public:
  using Error = boost::system::error_code;
  using Done = std::function<void(Error error, size_t bytes)>;

  virtual ~ByteStream() = default;
  // Calls `done` with 0 bytes; at once where there is no TLS.
  virtual void Handshake(Done done) = 0;
  // At least one byte, or an error.
  virtual void ReadSome(boost::asio::mutable_buffer into, Done done) = 0;
  // At least one byte of `buffers`, whose memory the handler holds, or an error.
  virtual void WriteSome(const std::vector<boost::asio::const_buffer>& buffers, Done done) = 0;
  // The browser's certificate in PEM, after the handshake; empty where there is no TLS.
  virtual std::string PeerCertificate() = 0;
  // For its timeouts, its executor and its socket.
  virtual boost::beast::tcp_stream& Lowest() = 0;
};

// `tls` may be null: none.
std::unique_ptr<ByteStream> MakeByteStream(boost::asio::ip::tcp::socket socket,
                                           const std::shared_ptr<boost::asio::ssl::context>& tls);

}  // namespace lockstep::web
