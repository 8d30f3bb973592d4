#include "web/server.h"

#include <atomic>
#include <set>
#include <mutex>
#include <thread>

#include "google/protobuf/util/json_util.h"
#include "grpcpp/grpcpp.h"
#include "httplib.h"
#include "proto/controller.grpc.pb.h"
#include "web/page_files.h"

namespace lockstep::web {
namespace {

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  return google::protobuf::util::MessageToJsonString(message, &json, options).ok() ? json : "{}";
}

void SendError(const grpc::Status& status, httplib::Response* response) {
  v1::Problem error;  // borrowed for its string: protobuf quotes it
  error.set_message(status.error_message());
  const std::string json = Json(error);
  response->status = status.error_code() == grpc::StatusCode::NOT_FOUND         ? 404
                     : status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ? 400
                     : status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? 403
                                                                                  : 503;
  response->set_content("{\"error\":" + json.substr(json.find("\"message\":") + 10), "application/json");
}

const char* TypeOf(const std::string& name) {
  if (name.size() > 3 && name.substr(name.size() - 3) == ".js") return "text/javascript; charset=utf-8";
  if (name.size() > 4 && name.substr(name.size() - 4) == ".css") return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(std::shared_ptr<grpc::Channel> channel) : stub_(v1::Controller::NewStub(channel)) {}

  absl::Status Start(const std::string& address) {
    const size_t colon = address.rfind(':');
    if (colon == std::string::npos) return absl::InvalidArgumentError("--http " + address + ": write HOST:PORT");
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
    AddRoutes();
    server_.new_task_queue = [] { return new httplib::ThreadPool(16); };
    int port = atoi(address.c_str() + colon + 1);
    if (port == 0) {
      port = server_.bind_to_any_port(host);
      if (port <= 0) return absl::UnavailableError("--http " + address + ": cannot listen there");
    } else if (!server_.bind_to_port(host, port)) {
      return absl::UnavailableError("--http " + address + ": cannot listen there; is the port taken?");
    }
    url_ = "http://" + address.substr(0, colon) + ":" + std::to_string(port) + "/";
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return absl::OkStatus();
  }

  ~Impl() {
    stopping_ = true;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (grpc::ClientContext* context : watching_) context->TryCancel();
    }
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  const std::string& url() const { return url_; }

 private:
  void AddRoutes() {
    for (const common::EmbeddedFile& file : PageFiles()) {
      const std::string path = file.name == "index.html" ? "/" : "/" + file.name;
      server_.Get(path, [&file](const httplib::Request&, httplib::Response& response) { response.set_content(file.content, TypeOf(file.name)); });
    }
    server_.Get("/api/status", [this](const httplib::Request&, httplib::Response& response) {
      Answer<v1::StatusReply>(&response, [this](auto* context, auto* reply) { return stub_->Status(context, {}, reply); });
    });
    server_.Get("/api/runs", [this](const httplib::Request& request, httplib::Response& response) {
      v1::HistoryRequest ask;
      ask.set_limit(request.has_param("limit") ? std::min(1000, atoi(request.get_param_value("limit").c_str())) : 50);
      Answer<v1::HistoryReply>(&response, [&](auto* context, auto* reply) { return stub_->History(context, ask, reply); });
    });
    server_.Get(R"(/api/runs/([0-9a-z-]+)/report)", [this](const httplib::Request& request, httplib::Response& response) {
      v1::ReportRequest ask;
      ask.set_run_id(request.matches[1]);
      Answer<v1::Report>(&response, [&](auto* context, auto* reply) { return stub_->GetReport(context, ask, reply); });
    });
    server_.Get(R"(/api/runs/([0-9a-z-]+)/events)",
                [this](const httplib::Request& request, httplib::Response& response) { StreamEvents(request.matches[1], &response); });
  }

  template <typename Reply, typename Call>
  void Answer(httplib::Response* response, const Call& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    Reply reply;
    const grpc::Status status = call(&context, &reply);
    if (!status.ok()) return SendError(status, response);
    response->set_header("Cache-Control", "no-store");
    response->set_content(Json(reply), "application/json");
  }

  // One watch of a run, as server-sent events.
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchEvent>> reader;
  };

  void StreamEvents(const std::string& run_id, httplib::Response* response) {
    auto stream = std::make_shared<Stream>();
    v1::WatchRequest ask;
    ask.set_run_id(run_id);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      watching_.insert(&stream->context);
    }
    stream->reader = stub_->Watch(&stream->context, ask);
    response->set_header("Cache-Control", "no-store");
    response->set_chunked_content_provider(
        "text/event-stream",
        [stream](size_t, httplib::DataSink& sink) {
          v1::WatchEvent event;
          const bool more = stream->reader->Read(&event);
          const std::string text = more ? "data: " + Json(event) + "\n\n" : "event: end\ndata: {}\n\n";
          if (!sink.write(text.data(), text.size())) return false;
          if (!more) sink.done();
          return true;
        },
        [this, stream](bool) {
          stream->context.TryCancel();
          stream->reader->Finish();
          std::lock_guard<std::mutex> lock(mutex_);
          watching_.erase(&stream->context);
        });
  }

  std::unique_ptr<v1::Controller::Stub> stub_;
  httplib::Server server_;
  std::string url_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::set<grpc::ClientContext*> watching_;  // guarded by mutex_
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
const std::string& Server::url() const { return impl_->url(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const std::string& address, std::shared_ptr<grpc::Channel> channel) {
  auto impl = std::make_unique<Impl>(std::move(channel));
  if (absl::Status status = impl->Start(address); !status.ok()) return status;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace lockstep::web
