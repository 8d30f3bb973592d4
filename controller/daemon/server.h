#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/api/controller_service.h"
#include "grpcpp/grpcpp.h"
#include "web/server.h"

namespace lockstep::controller {

// Everything that listens: workers' and users' ports, and the page.
class Listener {
 public:
  struct Options {
    std::vector<std::string> listen;        // HOST:PORT; port 0 takes a free one
    std::shared_ptr<common::TlsStore> tls;  // null: plaintext
    std::string http;                       // of the page; empty for none
    std::vector<std::string> http_names;
    std::shared_ptr<const common::TlsStore> http_tls;  // null: plaintext
  };
  // `parts` outlive this.
  static absl::StatusOr<std::unique_ptr<Listener>> Start(const Options& options,
                                                         const ServiceParts& parts);
  // For --ready-file: "listen HOST:PORT" and "http URL", a line each.
  const std::string& addresses() const { return addresses_; }
  // The first, as somebody on this machine dials it.
  const std::string& address() const { return address_; }
  void StopPage() { page_.reset(); }
  // Ends what still runs after a while.
  void Shutdown();

 private:
  explicit Listener(const ServiceParts& parts) : service_(parts), gateway_(parts) {}
  absl::Status Bind(const Options& options);

  ControllerService service_;
  WorkerGateway gateway_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;  // outlive the server, which asks them
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<web::Server> page_;
  std::string addresses_, address_;
};

}  // namespace lockstep::controller
