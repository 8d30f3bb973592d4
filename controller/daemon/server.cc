#include "controller/daemon/server.h"

#include <chrono>

#include "common/limits.h"
#include "common/log.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

constexpr auto kLastAnswers = std::chrono::seconds(2);
// Workers' keepalives on idle connections (worker/link/session.cc) are no abuse.
constexpr int kPingsEveryMs = timing::kKeepaliveAllowedNs / timing::kMs;

// Limits the cost of connections, whoever opens them.
void SetLimits(grpc::ServerBuilder* builder) {
  // A second controller on the port must fail, not share it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->SetMaxReceiveMessageSize(static_cast<int>(limits::kWorkerBytes));
  builder->SetMaxSendMessageSize(static_cast<int>(limits::kReportBytes));
  // A connection without a call is closed, and so is one that does not finish its handshake. The
  // quota bounds the messages that are being received over all connections.
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              static_cast<int>(limits::kIdleConnectionMs));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              static_cast<int>(limits::kHelloNs / timing::kMs));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              static_cast<int>(limits::kStreamsOfAConnection));
  builder->SetResourceQuota(
      grpc::ResourceQuota("controller").Resize(static_cast<size_t>(limits::kGrpcBytes)));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingsEveryMs);
}

// The address to dial on this machine: of all addresses of the machine, the loopback one.
std::string DialableAddress(const std::string& asked, const std::string& address) {
  if (asked.rfind("unix:", 0) == 0) return asked;
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host == "0.0.0.0" || host.empty() || host == "*") return "127.0.0.1" + address.substr(colon);
  return host == "[::]" ? "[::1]" + address.substr(colon) : address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(const Options& options,
                                                          const ServiceParts& parts) {
  std::unique_ptr<Listener> listener(new Listener(parts));
  if (absl::Status status = listener->Bind(options); !status.ok()) return status;
  if (options.http.empty()) return listener;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kReportBytes));
  auto page = web::Server::Start({options.http, options.http_names, options.http_tls},
                                 listener->server_->InProcessChannel(arguments));
  if (!page.ok()) return page.status();
  listener->page_ = *std::move(page);
  log::Info("web page at {}", listener->page_->url());
  listener->addresses_ += "http " + listener->page_->url() + "\n";
  return listener;
}

absl::Status Listener::Bind(const Options& options) {
  grpc::ServerBuilder builder;
  SetLimits(&builder);
  std::vector<int> ports(options.listen.size(), 0);
  credentials_ = common::ServerCredentials(options.tls);
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(options.listen[i], credentials_, &ports[i]);
  }
  builder.RegisterService(&service_);
  builder.RegisterService(&gateway_);
  server_ = builder.BuildAndStart();
  std::vector<std::string> listen;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& asked = options.listen[i];
    const bool bound = server_ != nullptr && (ports[i] != 0 || asked.rfind("unix:", 0) == 0);
    if (!bound) {
      return absl::UnavailableError(
          "cannot listen on " + asked +
          "; is another controller running there? (lockstep status asks it)");
    }
    const std::string address = asked.substr(0, asked.rfind(':') + 1) + std::to_string(ports[i]);
    log::Info("listening on {}{}", address,
              options.tls != nullptr ? " (mutual TLS)" : " (plaintext)");
    addresses_ += "listen " + address + "\n";
    if (asked.rfind("unix:", 0) != 0) listen.push_back(address);
    if (address_.empty()) address_ = DialableAddress(asked, address);
  }
  service_.SetListen(std::move(listen));
  return absl::OkStatus();
}

// After the deadline gRPC cancels the calls that are left. Without one, a single watcher could keep
// the server from ending.
void Listener::Shutdown() { server_->Shutdown(std::chrono::system_clock::now() + kLastAnswers); }

}  // namespace lockstep::controller
