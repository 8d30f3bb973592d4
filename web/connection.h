#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "boost/asio/ip/tcp.hpp"
#include "web/api.h"
#include "web/feeds.h"
#include "web/idle_connections.h"
#include "web/page_tls.h"

namespace lockstep::web {

// State that all connections share; outlives them.
struct Site {
  Api* api = nullptr;
  Feeds* feeds = nullptr;
  std::atomic<int64_t> connections{0};
  IdleConnections idle;
  std::atomic<int64_t> watchers{0};
  std::atomic<int64_t> answer_bytes{0};  // that wait to be taken
  std::unique_ptr<PageTls> tls;          // null: none
};

// Serves a browser's connection until it ends. It holds itself; it costs no thread, and has the
// limits of common/limits.h.
void ServeConnection(Site* site, boost::asio::ip::tcp::socket socket);
// Closes the connection. Without TLS it is told before that there are too many.
void Reject(const Site& site, boost::asio::ip::tcp::socket socket);

}  // namespace lockstep::web
