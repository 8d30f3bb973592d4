#include "web/server.h"

#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/strand.hpp"
#include "common/address.h"
#include "common/limits.h"
#include "proto/controller.grpc.pb.h"
#include "web/connection.h"

namespace lockstep::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

// The threads of Api and of gRPC make what takes time, so two threads are enough to pass it on to
// all browsers.
constexpr int kThreads = 2;
// Without a pause, async_accept() fails at once again and a thread spins for as long as no file
// descriptor is free.
constexpr std::chrono::milliseconds kPause(100);

std::set<std::string> NamesOf(const std::string& address, const std::vector<std::string>& given) {
  std::set<std::string> names(given.begin(), given.end());
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) names.insert(host);
  names.insert("localhost");
  names.insert(common::HostOf(address));
  std::set<std::string> lower;
  for (const std::string& name : names) lower.insert(absl::AsciiStrToLower(name));
  return lower;
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Options& options, const std::shared_ptr<grpc::Channel>& channel)
      : options_(options),
        stub_(v1::Controller::NewStub(channel)),
        feeds_(stub_.get(), &calls_),
        api_(NamesOf(options.address, options.names), stub_.get(), &calls_),
        acceptor_(context_) {
    site_.api = &api_;
    site_.feeds = &feeds_;
  }

  absl::Status Start() {
    if (absl::Status status = ReadTls(); !status.ok()) return status;
    const size_t colon = options_.address.rfind(':');
    uint32_t port = 0;
    if (colon == std::string::npos ||
        !absl::SimpleAtoi(options_.address.substr(colon + 1), &port) || port > 65535) {
      return absl::InvalidArgumentError("--http " + options_.address + ": write HOST:PORT");
    }
    const std::string host = common::HostOf(options_.address);
    Error error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(host, absl::StrCat(port), tcp::resolver::passive, error);
    if (error || found.empty()) {
      return absl::UnavailableError(
          absl::StrCat("--http ", options_.address, ": ", error.message()));
    }
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), error);
    // A controller that starts again binds while connections of the one before are in TIME_WAIT.
    // Linux still refuses a port on which another socket listens (socket(7)).
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    // A short backlog makes a crowd of browsers wait: the kernel drops a SYN that finds it full,
    // and the client repeats it after a second.
    if (!error) acceptor_.listen(static_cast<int>(limits::kPageBacklog), error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("--http ", options_.address,
                                                 ": cannot listen there (", error.message(),
                                                 "); is the port taken?"));
    }
    url_ = absl::StrCat(site_.tls == nullptr ? "http://" : "https://",
                        options_.address.substr(0, colon), ":", acceptor_.local_endpoint().port(),
                        "/");
    Accept();
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] { context_.run(); });
    }
    return absl::OkStatus();
  }

  ~Impl() {
    // The calls end first: their callbacks use api_ and the connections. Then nothing pushes work
    // to api_ any more, and last the threads of the connections end.
    calls_.CancelAll();
    api_.Stop();
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  const std::string& url() const { return url_; }

 private:
  absl::Status ReadTls() {
    if (options_.tls == nullptr) return absl::OkStatus();
    auto tls = PageTls::Make(options_.tls);
    if (!tls.ok()) return tls.status();
    site_.tls = *std::move(tls);
    return absl::OkStatus();
  }

  void Accept() {
    // Two threads run the context. The strand keeps the handlers of one connection from running at
    // once, so a connection needs no lock.
    acceptor_.async_accept(asio::make_strand(context_), [this](Error error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        // Out of file descriptors, for instance: that does not pass at once.
        pause_.expires_after(kPause);
        return pause_.async_wait([this](Error) { Accept(); });
      }
      Error ignored;
      // An answer may be several writes. Without TCP_NODELAY (tcp(7)) each waits for an
      // acknowledgement that the peer delays: 40 ms a request were measured instead of 0.6 ms.
      socket.set_option(tcp::no_delay(true), ignored);
      site_.connections < limits::kPageConnections || site_.idle.CloseOne()
          ? ServeConnection(&site_, std::move(socket))
          : Reject(site_, std::move(socket));
      Accept();
    });
  }

  const Options options_;
  std::unique_ptr<v1::Controller::Stub> stub_;
  Calls calls_;
  Feeds feeds_;
  Api api_;
  Site site_;
  // Declared after all that connections use. The context destroys the handlers that are left, and
  // with them the connections.
  asio::io_context context_{kThreads};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  std::string url_;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
const std::string& Server::url() const { return impl_->url(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const Options& options, const std::shared_ptr<grpc::Channel>& channel) {
  auto impl = std::make_unique<Impl>(options, channel);
  if (absl::Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace lockstep::web
