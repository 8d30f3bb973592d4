#include "web/page_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::web {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kRequestsOfAConnection = 1000;
// What a reader may let an answer wait, and the slowest that it may be after that.
constexpr milliseconds kPatience(10000);
constexpr size_t kSlowestBytesPerMillisecond = 16;

bool Await(int fd, short events, milliseconds limit) {
  pollfd waited = {fd, events, 0};
  const auto end = steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now()).count();
    const int ready = poll(&waited, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0;
  }
}

void PeerOf(const sockaddr_storage& address, std::string* ip, int* port) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    *port = ntohs(v4->sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    *port = ntohs(v6->sin6_port);
  }
  *ip = text;
}

}  // namespace

// What the library reads a request from and writes its answer to.
class PageServer::Connection final : public httplib::Stream {
 public:
  explicit Connection(socket_t fd) : fd_(fd) {}

  // Whether a request begins within the time that a connection may be idle.
  bool AwaitRequest() const {
    return Await(fd_, POLLIN, std::chrono::seconds(limits::kPageIdleSeconds));
  }
  void BeginRequest() {
    bytes_left_ = static_cast<size_t>(limits::kPageRequestBytes);
    until_ = steady_clock::now() + std::chrono::seconds(limits::kPageRequestSeconds);
    written_ = 0;
    waited_ = milliseconds(0);
  }

  bool is_readable() const override { return Await(fd_, POLLIN, milliseconds(0)); }
  bool is_writable() const override { return Await(fd_, POLLOUT, milliseconds(0)); }
  ssize_t read(char* out, size_t size) override {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now());
    if (bytes_left_ == 0 || !Await(fd_, POLLIN, std::max(left, milliseconds(0)))) return -1;
    const ssize_t got = recv(fd_, out, std::min(size, bytes_left_), 0);
    if (got > 0) bytes_left_ -= static_cast<size_t>(got);
    return got;
  }
  ssize_t write(const char* data, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t put = send(fd_, data + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put > 0) {
        done += static_cast<size_t>(put);
        written_ += static_cast<size_t>(put);
        continue;
      }
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
      const milliseconds allowed =
          kPatience + milliseconds(written_ / kSlowestBytesPerMillisecond) - waited_;
      const auto began = steady_clock::now();
      if (allowed.count() <= 0 || !Await(fd_, POLLOUT, allowed)) return -1;
      waited_ += std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address = {};
    socklen_t length = sizeof address;
    if (getpeername(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      PeerOf(address, &ip, &port);
    }
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address = {};
    socklen_t length = sizeof address;
    if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      PeerOf(address, &ip, &port);
    }
  }
  socket_t socket() const override { return fd_; }

 private:
  const socket_t fd_;
  size_t bytes_left_ = 0;
  steady_clock::time_point until_;
  size_t written_ = 0;
  milliseconds waited_{0};
};

bool PageServer::process_and_close_socket(socket_t fd) {
  bool serve = false;
  {
    common::MutexLock lock(&mutex_);
    serve = !closing_ && open_.insert(fd).second;
  }
  Connection connection(fd);
  for (int left = kRequestsOfAConnection; serve && left > 0 && connection.AwaitRequest(); --left) {
    connection.BeginRequest();
    bool closed = false;
    bool strange = false;
    try {
      serve = process_request(connection, left == 1, closed, [&](httplib::Request& request) {
        request.ranges.clear();
        // What follows such a request is not read as the next one.
        strange = (request.method != "GET" && request.method != "HEAD") ||
                  request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
      });
    } catch (const std::exception&) {
      break;  // no memory: this connection ends, the others go on
    }
    if (closed || strange) break;
  }
  common::MutexLock lock(&mutex_);
  open_.erase(fd);
  shutdown(fd, SHUT_RDWR);
  close(fd);
  return serve;
}

bool PageServer::WidenBacklog() const {
  return ::listen(svr_sock_, static_cast<int>(limits::kPageBacklog)) == 0;
}

void PageServer::CloseAll() {
  common::MutexLock lock(&mutex_);
  closing_ = true;
  for (socket_t fd : open_) shutdown(fd, SHUT_RDWR);
}

}  // namespace lockstep::web
