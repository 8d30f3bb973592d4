#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls.h"
#include "grpcpp/channel.h"

namespace lockstep::web {

// The read-only web page and its JSON, over HTTP: docs/reference/http.md has the paths. JSON is
// protobuf's own of the same messages that the CLI gets. Errors are {"error": "…"} with a fitting
// status.
//
// A request's Host must be an address, `localhost`, this machine's name or one of `names`: a page
// elsewhere whose name is made to resolve to this server (DNS rebinding) gets nothing. A connection
// has no thread of its own. Connections and browsers that watch runs have limits (common/limits.h).
class Server {
 public:
  struct Options {
    std::string address;  // HOST:PORT
    std::vector<std::string> names;
    // With a store: TLS, and only browsers with a certificate of its authority that still counts.
    // Any such browser may read, as on the controller's port.
    std::shared_ptr<const common::TlsStore> tls;
  };
  // Queries the controller through `channel`. UNAVAILABLE when the port is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const Options& options, const std::shared_ptr<grpc::Channel>& channel);
  ~Server();
  // http://HOST:PORT/ or https://HOST:PORT/
  const std::string& url() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::web
