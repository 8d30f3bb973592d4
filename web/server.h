#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace lockstep::web {

// The read-only web page and its JSON, over HTTP:
//   GET /                        the page (everything in it comes from this binary)
//   GET /api/status              StatusReply
//   GET /api/runs?limit=N        HistoryReply
//   GET /api/runs/ID/report      Report
//   GET /api/runs/ID/events      WatchEvents as server-sent events, until the run ends
// JSON is protobuf's own of the same messages that the CLI gets. Errors are {"error": "…"} with a
// fitting status.
//
// A request's Host must be an address, `localhost`, this machine's name or one of `names`: a page
// elsewhere whose name is made to resolve to this server (DNS rebinding) gets nothing. Connections
// and streams have limits (common/limits.h).
class Server {
 public:
  // Listens on HOST:PORT and asks the controller through `channel`. UNAVAILABLE when the port is
  // taken.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const std::string& address, const std::vector<std::string>& names,
      const std::shared_ptr<grpc::Channel>& channel);
  ~Server();
  // http://HOST:PORT/
  const std::string& url() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::web
