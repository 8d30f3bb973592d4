#include "web/connection.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/error.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http/empty_body.hpp"
#include "boost/beast/http/message.hpp"
#include "boost/beast/http/parser.hpp"
#include "boost/beast/http/write.hpp"
#include "common/limits.h"
#include "web/byte_stream.h"
#include "web/compression.h"

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

// The head of an answer; what all answers have is in it.
class Head {
 public:
  explicit Head(int status) : response_(static_cast<http::status>(status), 11) {
    for (const auto& [name, value] : kHeaders) response_.set(name, value);
  }
  http::response<http::empty_body>* operator->() { return &response_; }
  std::shared_ptr<const std::string> Text() const {
    std::ostringstream text;
    text << response_.base();
    return std::make_shared<const std::string>(text.str());
  }

 private:
  http::response<http::empty_body> response_;
};

// The unsent rest of some texts, which it holds.
class Outgoing {
 public:
  explicit Outgoing(std::vector<std::shared_ptr<const std::string>> texts)
      : texts_(std::move(texts)) {
    for (const auto& text : texts_) {
      if (!text->empty()) buffers_.push_back(asio::buffer(*text));
    }
  }
  const std::vector<asio::const_buffer>& buffers() const { return buffers_; }
  void Took(size_t bytes) {
    auto first = buffers_.begin();
    while (first != buffers_.end() && bytes >= first->size()) bytes -= first++->size();
    buffers_.erase(buffers_.begin(), first);
    if (bytes > 0) buffers_.front() += bytes;
  }

 private:
  std::vector<std::shared_ptr<const std::string>> texts_;
  std::vector<asio::const_buffer> buffers_;
};

std::string ToString(beast::string_view text) { return {text.data(), text.size()}; }

class Connection final : public Watcher, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Site* site, asio::ip::tcp::socket socket)
      : site_(site),
        stream_(MakeByteStream(std::move(socket),
                               site->tls == nullptr ? nullptr : site->tls->Context())),
        timer_(Lowest().get_executor()) {
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
    Lowest().expires_after(seconds(limits::kPageRequestSeconds));
    stream_->Handshake(Mine([this](Error error, size_t) {
      if (error) return;
      // OpenSSL does not verify a certificate again when a session is resumed.
      if (auto shown = common::ReadCertificate(stream_->PeerCertificate()); shown.ok()) {
        certificate_ = *std::move(shown);
      }
      if (Counts()) AwaitRequest();
    }));
  }

  void Wake() override {
    asio::post(Lowest().get_executor(), [self = shared_from_this()] {
      // Asio forbids a second write on a stream before the first has ended. The first one's handler
      // sends what has come since.
      if (self->feed_ != nullptr && !self->writing_) self->SendEvents();
    });
  }

 private:
  beast::tcp_stream& Lowest() { return stream_->Lowest(); }

  // Whether the browser's certificate still counts. It may be revoked or expire while the
  // connection lasts.
  bool Counts() const {
    return site_->tls == nullptr || (certificate_ && site_->tls->Counts(*certificate_));
  }

  // From now on until Busy() this may be closed for another connection.
  void Idle() {
    if (idle_) return;
    Error ignored;
    const auto peer = Lowest().socket().remote_endpoint(ignored);
    // The pointer is weak: the site's list must not keep a connection alive that has ended.
    idle_ = site_->idle.Add(peer.address(), served_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      asio::post(self->Lowest().get_executor(), [self] {
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
  ByteStream::Done Mine(ByteStream::Done work) {
    return [self = shared_from_this(), work = std::move(work)](Error error, size_t bytes) {
      work(error, bytes);
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
    ReadSome([this] { ReadRequest(); });
  }

  void ReadRequest() {
    Lowest().expires_after(seconds(limits::kPageRequestSeconds));
    ParseRequest();
  }

  // With what has come; reads on where that is not all of the head.
  void ParseRequest() {
    Error error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (parser_->is_header_done()) {
      Busy();
      return Serve();
    }
    if (error && error != http::error::need_more) return Refuse(error);
    if (buffer_.size() == buffer_.max_size()) return Refuse(http::error::buffer_overflow);
    ReadSome([this] { ParseRequest(); });
  }

  // Into buffer_, which has room. A connection that ends or breaks is dropped.
  void ReadSome(std::function<void()> then) {
    const size_t room = buffer_.max_size() - buffer_.size();
    stream_->ReadSome(buffer_.prepare(std::min(kReadAtOnce, room)),
                      Mine([this, then = std::move(then)](Error error, size_t bytes) {
                        if (error == asio::error::eof && parser_->got_some())
                          return Refuse(http::error::partial_message);
                        if (error) return Busy();
                        buffer_.commit(bytes);
                        then();
                      }));
  }

  // Answers bytes that are no request, by an error of Beast's parser.
  void Refuse(Error error) {
    Busy();
    closes_ = true;
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return Send(ErrorAnswer(431, "the request is too long"));
    Send(ErrorAnswer(400, "that is no request"));
  }

  void Serve() {
    if (!Counts()) return;  // nothing holds the connection any more: it is closed
    const auto& message = parser_->get();
    served_ = IdleConnections::Served::kYes;
    Request request;
    request.method = ToString(message.method_string());
    request.host = ToString(message[http::field::host]);
    request.if_none_match = ToString(message[http::field::if_none_match]);
    request.last_event_id = ToString(message["Last-Event-ID"]);
    request.accepts_gzip = AcceptsGzip(ToString(message[http::field::accept_encoding]));
    is_head_ = message.method() == http::verb::head;
    // Bytes behind a request with a body are not read as the next one.
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
    const Respond respond = [self = shared_from_this()](Answer answer) {
      asio::post(self->Lowest().get_executor(),
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
    const size_t size = answer.body->size();
    // Counted over all connections: readers that are slow hold whole reports in memory.
    site_->answer_bytes += answered_ = static_cast<int64_t>(size);
    const int64_t most = size > kLarge ? limits::kPageAnswerBytes : 2 * limits::kPageAnswerBytes;
    if (site_->answer_bytes > most && answer.status == 200) {
      Sent();
      return Send(ErrorAnswer(503, "too much is being sent already; try again later"));
    }
    Head head(answer.status);
    for (const auto& [name, value] : answer.headers) head->set(name, value);
    head->keep_alive(!closes_);
    // A 304 has no content, and a Content-Length would have to be that of the 200 (RFC 9110,
    // section 8.6).
    if (answer.status != 304) {
      head->set(http::field::content_type, answer.type);
      head->content_length(size);
    }
    std::vector<std::shared_ptr<const std::string>> texts = {head.Text()};
    if (!is_head_) texts.push_back(answer.body);
    give_up_at_ = Now() + kPatience + milliseconds((is_head_ ? 0 : size) / kMinBytesPerMillisecond);
    SendSome(std::make_shared<Outgoing>(std::move(texts)));
  }

  // Sends piece by piece. A reader that takes nothing for a while, or too little over the whole
  // answer, is cut off: it would hold the answer's memory for as long as it likes.
  void SendSome(const std::shared_ptr<Outgoing>& outgoing) {
    // A time for each piece catches a reader that stops, the total one that takes a byte at a time.
    Lowest().expires_at(std::min(Now() + kPatience, give_up_at_));
    stream_->WriteSome(outgoing->buffers(), Mine([this, outgoing](Error error, size_t bytes) {
                         outgoing->Took(bytes);
                         if (!error && !outgoing->buffers().empty()) return SendSome(outgoing);
                         Sent();
                         if (error) return;
                         if (closes_) return Close();
                         AwaitRequest();
                       }));
  }
  static std::chrono::steady_clock::time_point Now() { return std::chrono::steady_clock::now(); }

  // The answer was taken, or will not be. A second call does nothing, so that the destructor may
  // call this, too.
  void Sent() { site_->answer_bytes -= std::exchange(answered_, 0); }

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
    auto feed = site_->feeds->Join(watch.run_id, shared_from_this());
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
    Head head(200);
    head->set(http::field::content_type, "text/event-stream");
    head->set(http::field::cache_control, "no-store");
    head->keep_alive(false);
    Write({head.Text()});
  }

  void SendEvents() {
    // Each browser that watches gets here every limits::kPageHeartbeatSeconds at least.
    if (!Counts()) return StopWatching();
    Feed::Part part = feed_->Read(place_, watch_.all_hosts, watch_.after);
    place_ = part.next;
    last_ = part.over;
    if (!part.texts.empty()) return Write(std::move(part.texts));
    if (last_) return Close();
    timer_.expires_after(seconds(limits::kPageHeartbeatSeconds));
    timer_.async_wait([self = shared_from_this()](Error error) {
      if (error || self->writing_ || self->feed_ == nullptr) return;
      // Nothing is read from a browser that watches, so only a write finds out that it has gone. A
      // line that begins with a colon is a comment, which browsers ignore.
      self->Write({std::make_shared<const std::string>(": still here\n\n")});
    });
  }

  void Write(std::vector<Feed::Text> texts) {
    writing_ = true;
    timer_.cancel();
    Lowest().expires_after(seconds(limits::kPageStallSeconds));
    WriteSome(std::make_shared<Outgoing>(std::move(texts)));
  }

  void WriteSome(const std::shared_ptr<Outgoing>& outgoing) {
    stream_->WriteSome(outgoing->buffers(), Mine([this, outgoing](Error error, size_t bytes) {
                         outgoing->Took(bytes);
                         if (!error && !outgoing->buffers().empty()) return WriteSome(outgoing);
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
  std::unique_ptr<ByteStream> stream_;
  std::optional<common::CertificateFacts> certificate_;  // none without TLS
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{static_cast<size_t>(limits::kPageRequestBytes) + kReadAtOnce};
  std::optional<http::request_parser<http::empty_body>> parser_;
  int64_t answered_ = 0;  // bytes of an answer that is being sent
  std::chrono::steady_clock::time_point give_up_at_;
  std::optional<IdleConnections::Key> idle_;
  IdleConnections::Served served_ = IdleConnections::Served::kNo;
  int requests_left_ = 1000;
  bool closes_ = false;
  bool is_head_ = false;
  // Only for a connection that watches.
  Watch watch_;
  std::shared_ptr<Feed> feed_;
  uint64_t place_ = 0;
  bool counted_ = false;
  bool writing_ = false;
  bool last_ = false;
};

}  // namespace

void ServeConnection(Site* site, asio::ip::tcp::socket socket) {
  std::make_shared<Connection>(site, std::move(socket))->Begin();
}

void Reject(const Site& site, asio::ip::tcp::socket socket) {
  if (site.tls != nullptr) return;  // an answer would come before the handshake
  const Answer answer = ErrorAnswer(503, "too many connections; try later");
  Head head(answer.status);
  head->set(http::field::content_type, answer.type);
  head->keep_alive(false);
  head->content_length(answer.body->size());
  const auto outgoing =
      std::make_shared<Outgoing>(std::vector<Feed::Text>{head.Text(), answer.body});
  const std::shared_ptr<ByteStream> stream = MakeByteStream(std::move(socket), nullptr);
  stream->Lowest().expires_after(kPatience);
  // A new socket's buffer takes it as one.
  stream->WriteSome(outgoing->buffers(), [stream, outgoing](ByteStream::Error, size_t) {});
}

}  // namespace lockstep::web
