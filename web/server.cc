#include "web/server.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/address.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "google/protobuf/util/json_util.h"
#include "grpcpp/grpcpp.h"
#include "httplib.h"
#include "proto/controller.grpc.pb.h"
#include "web/connections.h"
#include "web/event_stream.h"
#include "web/page_files.h"
#include "web/page_server.h"
#include "xxhash.h"

namespace lockstep::web {
namespace {

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  return google::protobuf::util::MessageToJsonString(message, &json, options).ok() ? json : "{}";
}

void SendWords(int status, const std::string& words, httplib::Response* response);

void SendError(const grpc::Status& status, httplib::Response* response) {
  const int code = status.error_code() == grpc::StatusCode::NOT_FOUND             ? 404
                   : status.error_code() == grpc::StatusCode::INVALID_ARGUMENT    ? 400
                   : status.error_code() == grpc::StatusCode::PERMISSION_DENIED   ? 403
                   : status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED  ? 429
                   : status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ? 422
                                                                                  : 503;
  SendWords(code, status.error_message(), response);
}

// Nothing but this server's own files is loaded or asked, nobody frames the page, and no answer is
// taken for something else.
const httplib::Headers kHeaders = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; "
     "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};
constexpr auto kHeartbeat = std::chrono::seconds(5);
constexpr int kCallSeconds = 30;

// As a JSON string.
std::string Quoted(const std::string& words) {
  v1::Problem error;  // borrowed for its string: protobuf quotes it
  error.set_message(words);
  const std::string json = Json(error);
  const size_t begin = json.find("\"message\":") + 10;
  return json.substr(begin, json.rfind('}') - begin);
}

void SendWords(int status, const std::string& words, httplib::Response* response) {
  response->status = status;
  response->set_content("{\"error\":" + Quoted(words) + "}", "application/json");
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The last event of a watch. A run has ended only where the controller says so.
std::string LastEvent(const grpc::Status& status) {
  if (status.ok()) return "event: end\ndata: {}\n\n";
  const bool for_good = status.error_code() == grpc::StatusCode::NOT_FOUND ||
                        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return absl::StrCat("event: failed\ndata: {\"retry\":", for_good ? "false" : "true",
                      ",\"error\":", Quoted(status.error_message()), "}\n\n");
}

const char* TypeOf(const std::string& name) {
  if (name.size() > 3 && name.substr(name.size() - 3) == ".js") {
    return "text/javascript; charset=utf-8";
  }
  if (name.size() > 4 && name.substr(name.size() - 4) == ".css") return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

}  // namespace

class Server::Impl {
 public:
  Impl(const std::vector<std::string>& names, const std::shared_ptr<grpc::Channel>& channel)
      : names_(names.begin(), names.end()), stub_(v1::Controller::NewStub(channel)) {
    char host[256] = {};
    if (gethostname(host, sizeof host - 1) == 0) names_.insert(host);
    names_.insert("localhost");
  }

  absl::Status Start(const std::string& address) {
    const size_t colon = address.rfind(':');
    if (colon == std::string::npos) {
      return absl::InvalidArgumentError("--http " + address + ": write HOST:PORT");
    }
    const std::string host = common::HostOf(address);
    names_.insert(host);
    AddRoutes();
    server_.set_default_headers(kHeaders);
    server_.new_task_queue = [] { return new Connections; };
    // an answer is several writes: without it each waits for an acknowledgement that is delayed by
    // 40 ms
    server_.set_tcp_nodelay(true);
    server_.set_payload_max_length(static_cast<size_t>(limits::kPageRequestBytes));
    int port = atoi(address.c_str() + colon + 1);
    if (port == 0) {
      port = server_.bind_to_any_port(host);
      if (port <= 0) return absl::UnavailableError("--http " + address + ": cannot listen there");
    } else if (!server_.bind_to_port(host, port)) {
      return absl::UnavailableError("--http " + address +
                                    ": cannot listen there; is the port taken?");
    }
    if (!server_.WidenBacklog()) {
      return absl::ErrnoToStatus(errno, "--http " + address);
    }
    url_ = "http://" + address.substr(0, colon) + ":" + std::to_string(port) + "/";
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return absl::OkStatus();
  }

  ~Impl() {
    {
      common::MutexLock lock(&mutex_);
      stopping_ = true;
      for (const auto& stream : streams_) stream->Cancel();
    }
    server_.stop();
    server_.CloseAll();
    if (thread_.joinable()) thread_.join();
  }

  const std::string& url() const { return url_; }

 private:
  // Whether a browser that was led here by a name of somebody else's would be served.
  bool IsOurs(const std::string& host_header) const {
    if (host_header.empty()) return false;
    const bool has_port = host_header.rfind(':') != std::string::npos && host_header.back() != ']';
    const std::string host = common::HostOf(has_port ? host_header : host_header + ":80");
    in6_addr address;
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &address) == 1 || names_.contains(host);
  }

  void AddRoutes() {
    server_.set_pre_routing_handler([this](const httplib::Request& request,
                                           httplib::Response& response) {
      if (request.method != "GET" && request.method != "HEAD") {
        SendWords(405, "this page only reads", &response);
        return httplib::Server::HandlerResponse::Handled;
      }
      if (IsOurs(request.get_header_value("Host"))) {
        return httplib::Server::HandlerResponse::Unhandled;
      }
      SendWords(421, "this page is not served under that name; --http-name allows one", &response);
      return httplib::Server::HandlerResponse::Handled;
    });
    for (const common::EmbeddedFile& file : PageFiles()) {
      if (EndsWith(file.name, ".gz")) continue;
      AddAsset(file.name == "index.html" ? "/" : "/" + file.name, file);
    }
    server_.Get("/api/status", [this](const httplib::Request&, httplib::Response& response) {
      Answer<v1::StatusReply>(&response, [this](auto* context, auto* reply) {
        return stub_->Status(context, {}, reply);
      });
    });
    server_.Get("/api/runs", [this](const httplib::Request& request, httplib::Response& response) {
      constexpr uint32_t kShown = 50;
      uint32_t limit = kShown;
      if (request.has_param("limit") &&
          (!absl::SimpleAtoi(request.get_param_value("limit"), &limit) || limit == 0 ||
           limit > limits::kHistoryLimit)) {
        return SendWords(400, absl::StrCat("limit: a number from 1 to ", limits::kHistoryLimit),
                         &response);
      }
      v1::HistoryRequest ask;
      ask.set_limit(limit);
      Answer<v1::HistoryReply>(&response, [&](auto* context, auto* reply) {
        return stub_->History(context, ask, reply);
      });
    });
    server_.Get(R"(/api/runs/([0-9a-z-]{1,36})/report)",
                [this](const httplib::Request& request, httplib::Response& response) {
                  v1::ReportRequest ask;
                  ask.set_run_id(request.matches[1]);
                  Answer<v1::Report>(&response, [&](auto* context, auto* reply) {
                    return stub_->GetReport(context, ask, reply);
                  });
                });
    server_.Get(R"(/api/runs/([0-9a-z-]{1,36})/events)",
                [this](const httplib::Request& request, httplib::Response& response) {
                  uint64_t after = 0;
                  const std::string last = request.get_header_value("Last-Event-ID");
                  if (!absl::SimpleAtoi(last, &after)) after = 0;
                  StreamEvents(request.matches[1], after, &response);
                });
  }

  void AddAsset(const std::string& path, const common::EmbeddedFile& file) {
    const common::EmbeddedFile* compressed = nullptr;
    for (const common::EmbeddedFile& other : PageFiles()) {
      if (other.name == file.name + ".gz") compressed = &other;
    }
    const std::string tag =
        absl::StrFormat("\"%016x\"", XXH3_64bits(file.content.data(), file.content.size()));
    server_.Get(path, [&file, compressed, tag](const httplib::Request& request,
                                               httplib::Response& response) {
      response.set_header("ETag", tag);
      response.set_header("Cache-Control", "no-cache");
      response.set_header("Vary", "Accept-Encoding");
      if (request.get_header_value("If-None-Match") == tag) {
        response.status = 304;
        return;
      }
      const bool gzip =
          compressed != nullptr &&
          request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
      // What is compressed already the library must not compress again: it goes by the request's
      // header.
      const_cast<httplib::Request&>(request).headers.erase("Accept-Encoding");
      if (gzip) response.set_header("Content-Encoding", "gzip");
      response.set_content(gzip ? compressed->content : file.content, TypeOf(file.name));
    });
  }

  template <typename Reply, typename Call>
  void Answer(httplib::Response* response, const Call& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kCallSeconds));
    Reply reply;
    const grpc::Status status = call(&context, &reply);
    if (!status.ok()) return SendError(status, response);
    response->set_header("Cache-Control", "no-store");
    response->set_content(Json(reply), "application/json");
  }

  void StreamEvents(const std::string& run_id, uint64_t after, httplib::Response* response) {
    std::shared_ptr<EventStream> stream;
    {
      common::MutexLock lock(&mutex_);
      if (stopping_) return SendWords(503, "the controller is shutting down", response);
      if (streams_.size() >= static_cast<size_t>(limits::kPageStreams)) {
        return SendWords(429,
                         absl::StrCat(limits::kPageStreams,
                                      " pages watch already; lockstep watch shows the run too"),
                         response);
      }
      stream = EventStream::Begin(stub_.get(), run_id, after);
      streams_.insert(stream);
    }
    response->set_header("Cache-Control", "no-store");
    response->set_chunked_content_provider(
        "text/event-stream",
        [stream](size_t, httplib::DataSink& sink) {
          const auto event = stream->Next(kHeartbeat);
          // A browser that has gone is found out by writing to it.
          const std::string text = !event           ? LastEvent(stream->status())
                                   : event->empty() ? ": waiting\n\n"
                                                    : *event;
          if (!sink.write(text.data(), text.size())) return false;
          if (!event) sink.done();
          return true;
        },
        [this, stream](bool) {
          stream->Cancel();
          common::MutexLock lock(&mutex_);
          streams_.erase(stream);
        });
  }

  std::set<std::string> names_;
  std::unique_ptr<v1::Controller::Stub> stub_;
  PageServer server_;
  std::string url_;
  std::thread thread_;
  common::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<EventStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
const std::string& Server::url() const { return impl_->url(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const std::string& address, const std::vector<std::string>& names,
    const std::shared_ptr<grpc::Channel>& channel) {
  auto impl = std::make_unique<Impl>(names, channel);
  if (absl::Status status = impl->Start(address); !status.ok()) return status;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace lockstep::web
