#include "web/connection.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "boost/asio/bind_executor.hpp"
#include "boost/asio/buffer.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/beast/ssl.hpp"
#include "common/limits.h"

namespace lockstep::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A reader may take nothing for this long. After that it must have taken at least 64 kB/s over the
// whole answer.
constexpr seconds kPatience(10);
constexpr size_t kMinBytesPerMillisecond = 64;
// Answers beyond this size are refused first while many wait to be taken. Smaller ones may fill
// twice as much memory, so that the views still work while slow readers take whole reports.
constexpr size_t kLarge = 1 << 20;
constexpr size_t kReadAtOnce = 4096;

// Nothing but this server's own files is loaded or asked, nobody frames the page, and no answer is
// taken for something else.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

template <typename Fields>
void AddHeaders(Fields* response) {
  for (const auto& [name, value] : kHeaders) response->set(name, value);
}

std::string ToString(beast::string_view text) { return {text.data(), text.size()}; }

template <typename Stream>
class Connection final : public Watcher, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <typename... Arguments>
  explicit Connection(Site* site, Arguments&&... arguments)
      : site_(site),
        stream_(std::forward<Arguments>(arguments)...),
        timer_(stream_.get_executor()) {
    ++site_->connections;
  }
  ~Connection() override {
    Busy();
    StopWatching();
    Sent();
    --site_->connections;
  }

  void Begin() {
    Idle();
    if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
      AwaitRequest();
    } else {
      Lowest().expires_after(seconds(limits::kPageRequestSeconds));
      stream_.async_handshake(asio::ssl::stream_base::server, Mine([this](Error error, auto...) {
                                if (!error) AwaitRequest();
                              }));
    }
  }

  void Wake() override {
    asio::post(stream_.get_executor(), Mine([this](auto...) {
                 // Asio forbids a second async_write() on a stream before the first has ended. The
                 // first one's handler sends what has come since.
                 if (feed_ != nullptr && !writing_) SendEvents();
               }));
  }

 private:
  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }

  // From now on until Busy() this may be closed for another connection.
  void Idle() {
    if (idle_) return;
    Error ignored;
    const auto peer = Lowest().socket().remote_endpoint(ignored);
    // The pointer is weak: the site's list must not keep a connection alive that has ended.
    idle_ = site_->idle.Add(peer.address(), served_, [weak = this->weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      asio::post(self->stream_.get_executor(), [self] {
        // A request may have begun since this was posted. Its connection is not idle any more and
        // stays.
        if (self->idle_) self->Lowest().close();
      });
    });
  }
  void Busy() {
    if (idle_) site_->idle.Remove(*std::exchange(idle_, std::nullopt));
  }

  // A handler that keeps this alive.
  template <typename Work>
  auto Mine(Work work) {
    return [self = this->shared_from_this(), work = std::move(work)](auto&&... arguments) {
      work(std::forward<decltype(arguments)>(arguments)...);
    };
  }

  // A connection may be idle for long between requests, but a request that has begun must come
  // soon. One read of its own for the first bytes gives the two waits their own limits.
  void AwaitRequest() {
    Idle();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(limits::kPageRequestBytes));
    // A client that pipelines has sent the next request already (RFC 9112, section 9.3.2). A read
    // would wait for bytes that may never come.
    if (buffer_.size() > 0) return ReadRequest();
    Lowest().expires_after(seconds(limits::kPageIdleSeconds));
    stream_.async_read_some(buffer_.prepare(kReadAtOnce), Mine([this](Error error, size_t bytes) {
                              if (error) return;
                              buffer_.commit(bytes);
                              ReadRequest();
                            }));
  }

  void ReadRequest() {
    Lowest().expires_after(seconds(limits::kPageRequestSeconds));
    http::async_read_header(
        stream_, buffer_, *parser_, Mine([this](Error error, size_t) {
          Busy();
          if (!error) return Serve();
          if (error == http::error::header_limit || error == http::error::buffer_overflow) {
            closes_ = true;
            return Send(ErrorAnswer(431, "the request is too long"));
          }
          // Beast's own category means a malformed request, which is answered, except for the end
          // of the stream. After an error of the socket nobody reads an answer.
          if (error.category() == http::make_error_code(http::error::bad_method).category() &&
              error != http::error::end_of_stream) {
            closes_ = true;
            Send(ErrorAnswer(400, "that is no request"));
          }
        }));
  }

  void Serve() {
    const auto& message = parser_->get();
    served_ = IdleConnections::Served::kYes;
    Request request;
    request.method = ToString(message.method_string());
    request.host = ToString(message[http::field::host]);
    request.if_none_match = ToString(message[http::field::if_none_match]);
    request.last_event_id = ToString(message["Last-Event-ID"]);
    request.accepts_gzip =
        absl::StrContains(ToString(message[http::field::accept_encoding]), "gzip");
    is_head_ = message.method() == http::verb::head;
    // What follows a request with a body is not read as the next one.
    closes_ = !message.keep_alive() || --requests_left_ <= 0 ||
              message.count(http::field::transfer_encoding) > 0 ||
              parser_->content_length_remaining().value_or(0) > 0 ||
              (message.method() != http::verb::get && !is_head_);
    const bool one_host = message.count(http::field::host) <= 1;
    const bool known = ReadTarget(ToString(message.target()), &request);
    parser_.reset();
    if (!one_host) {  // which of them counts is not the same everywhere (RFC 9112, section 3.2)
      closes_ = true;
      return Send(ErrorAnswer(400, "a request has one Host header"));
    }
    if (!known)
      return Send(ErrorAnswer(400, "that is no path and query: percent-encoded, valid UTF-8"));
    // While the controller works on the answer, only `respond` keeps this connection alive: no read
    // or write is in progress.
    const Respond respond = [self = this->shared_from_this()](Answer answer) {
      asio::post(self->stream_.get_executor(),
                 [self, answer = std::move(answer)] { self->Send(answer); });
    };
    // The store may take longer than a reader's patience; the answer's own time begins with its
    // sending.
    Lowest().expires_never();
    auto result = site_->api->Serve(request, respond);
    if (std::holds_alternative<Answer>(result)) return Send(std::get<Answer>(std::move(result)));
    if (std::holds_alternative<Watch>(result)) return BeginWatch(std::get<Watch>(result));
  }

  void Send(const Answer& answer) {
    using Body = http::span_body<const char>;
    body_ = answer.body;
    // Counted over all connections: readers that are slow hold whole reports in memory.
    site_->answer_bytes += answered_ = static_cast<int64_t>(body_->size());
    const int64_t most =
        body_->size() > kLarge ? limits::kPageAnswerBytes : 2 * limits::kPageAnswerBytes;
    if (site_->answer_bytes > most && answer.status == 200) {
      Sent();
      return Send(ErrorAnswer(503, "too much is being sent already; try again later"));
    }
    const size_t bytes = is_head_ ? 0 : body_->size();
    auto response =
        std::make_shared<http::response<Body>>(static_cast<http::status>(answer.status), 11);
    AddHeaders(response.get());
    for (const auto& [name, value] : answer.headers) response->set(name, value);
    response->keep_alive(!closes_);
    // A 304 has no content, and a Content-Length would have to be that of the 200 (RFC 9110,
    // section 8.6).
    if (answer.status != 304) {
      response->set(http::field::content_type, answer.type);
      response->content_length(body_->size());
    }
    response->body() = Body::value_type(body_->data(), bytes);
    auto serializer = std::make_shared<http::response_serializer<Body>>(*response);
    give_up_at_ = Now() + kPatience + milliseconds(bytes / kMinBytesPerMillisecond);
    SendSome(response, serializer);
  }

  // Sends piece by piece. A reader that takes nothing for a while, or too little over the whole
  // answer, is cut off: it would hold the answer's memory for as long as it likes.
  template <typename Response, typename Serializer>
  void SendSome(const Response& response, const Serializer& serializer) {
    // A time for each piece catches a reader that stops, the total one that takes a byte at a time.
    Lowest().expires_at(std::min(Now() + kPatience, give_up_at_));
    // The serializer refers to the response, and the response to body_. All three must outlive the
    // write.
    const auto done = Mine([this, response, serializer](Error error, size_t) {
      if (!error && !is_head_ && !serializer->is_done()) return SendSome(response, serializer);
      Sent();
      if (error) return;
      if (closes_) return Close();
      AwaitRequest();
    });
    if (is_head_) return http::async_write_header(stream_, *serializer, done);
    http::async_write_some(stream_, *serializer, done);
  }
  static std::chrono::steady_clock::time_point Now() { return std::chrono::steady_clock::now(); }

  // Releases the answer, whether it was taken or not. A second call does nothing, so that the
  // destructor may call this, too.
  void Sent() {
    body_.reset();
    site_->answer_bytes -= std::exchange(answered_, 0);
  }

  void BeginWatch(const Watch& watch) {
    if (++site_->watchers > limits::kPageWatchers) {
      --site_->watchers;
      return Send(ErrorAnswer(429, absl::StrCat(limits::kPageWatchers,
                                                " pages watch already; lockstep watch shows the "
                                                "run too")));
    }
    counted_ = true;
    // The feed may call Wake() from now on. It posts to this connection's strand, where it comes
    // after this function has begun the first write.
    auto feed = site_->feeds->Join(watch.run_id, this->shared_from_this());
    if (!feed.ok()) {
      StopWatching();
      return Send(ErrorAnswer(absl::IsUnavailable(feed.status()) ? 503 : 429,
                              std::string(feed.status().message())));
    }
    watch_ = watch;
    feed_ = *std::move(feed);
    place_ = 0;
    buffer_.consume(buffer_.size());
    buffer_.shrink_to_fit();
    // The answer has no known length and ends with the connection (RFC 9112, section 6.3).
    http::response<http::empty_body> response(http::status::ok, 11);
    AddHeaders(&response);
    response.set(http::field::content_type, "text/event-stream");
    response.set(http::field::cache_control, "no-store");
    response.keep_alive(false);
    std::ostringstream head;
    head << response.base();
    Write({std::make_shared<const std::string>(head.str())});
  }

  void SendEvents() {
    Feed::Part part = feed_->Read(place_, watch_.all_hosts, watch_.after);
    place_ = part.next;
    last_ = part.over;
    if (!part.texts.empty()) return Write(std::move(part.texts));
    if (last_) return Close();
    timer_.expires_after(seconds(limits::kPageHeartbeatSeconds));
    timer_.async_wait(Mine([this](Error error) {
      if (error || writing_ || feed_ == nullptr) return;
      // Nothing is read from a browser that watches, so only a write finds out that it has gone. A
      // line that begins with a colon is a comment, which browsers ignore.
      Write({std::make_shared<const std::string>(": still here\n\n")});
    }));
  }

  void Write(std::vector<Feed::Text> texts) {
    writing_ = true;
    timer_.cancel();
    // Asio's buffers own nothing. The handler holds the texts until they are written, even if the
    // feed drops them before.
    auto buffers = std::make_shared<std::vector<asio::const_buffer>>();
    for (const Feed::Text& text : texts) buffers->push_back(asio::buffer(*text));
    Lowest().expires_after(seconds(limits::kPageStallSeconds));
    asio::async_write(stream_, *buffers,
                      Mine([this, buffers, texts = std::move(texts)](Error error, size_t) {
                        writing_ = false;
                        if (error) return StopWatching();
                        Lowest().expires_never();
                        SendEvents();
                      }));
  }

  void StopWatching() {
    if (feed_ != nullptr) site_->feeds->Leave(watch_.run_id, feed_, this);
    feed_.reset();
    if (counted_) --site_->watchers;
    counted_ = false;
    timer_.cancel();
  }

  void Close() {
    StopWatching();
    Error ignored;
    // Not close(): bytes of the peer that were not read would make it a reset, which may overtake
    // the answer (RFC 9112, section 9.6).
    Lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  Site* site_;
  Stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{static_cast<size_t>(limits::kPageRequestBytes) + kReadAtOnce};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::shared_ptr<const std::string> body_;
  int64_t answered_ = 0;  // its bytes
  std::chrono::steady_clock::time_point give_up_at_;
  std::optional<IdleConnections::Key> idle_;
  IdleConnections::Served served_ = IdleConnections::Served::kNo;
  int requests_left_ = 1000;
  bool closes_ = false;
  bool is_head_ = false;
  // Of a connection that watches.
  Watch watch_;
  std::shared_ptr<Feed> feed_;
  uint64_t place_ = 0;
  bool counted_ = false;
  bool writing_ = false;
  bool last_ = false;
};

}  // namespace

void ServeConnection(Site* site, asio::ip::tcp::socket socket) {
  if (site->tls == nullptr) {
    return std::make_shared<Connection<beast::tcp_stream>>(site, std::move(socket))->Begin();
  }
  std::make_shared<Connection<beast::ssl_stream<beast::tcp_stream>>>(site, std::move(socket),
                                                                     *site->tls)
      ->Begin();
}

void Reject(const Site& site, asio::ip::tcp::socket socket) {
  if (site.tls != nullptr) return;  // an answer would come before the handshake
  auto stream = std::make_shared<beast::tcp_stream>(std::move(socket));
  auto response = std::make_shared<http::response<http::string_body>>(
      http::status::service_unavailable, 11, "{\"error\":\"too many connections; try later\"}\n");
  AddHeaders(response.get());
  response->set(http::field::content_type, "application/json");
  response->keep_alive(false);
  response->prepare_payload();
  stream->expires_after(kPatience);
  http::async_write(*stream, *response, [stream, response](Error, size_t) {});
}

}  // namespace lockstep::web
