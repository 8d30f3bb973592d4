// A forwarder that delays what it passes on: link LISTEN-ADDRESS TO-ADDRESS TO-PORT UP-US DOWN-US.
// Prints the port that it listens on, and serves until it is killed.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/clock.h"

namespace {

using lockstep::common::SystemClock;

// Passes on what comes from `source` once it is `delay` old, in order, until the end of the stream.
void PassOn(int source, int sink, int64_t delay_ns) {
  struct Queue {
    std::mutex mutex;
    std::condition_variable arrived;
    // when it is due; empty at the end of the stream
    std::deque<std::pair<int64_t, std::string>> data;
  };
  const auto queue = std::make_shared<Queue>();
  std::thread([=] {
    char buffer[65536];
    while (true) {
      const ssize_t got = read(source, buffer, sizeof buffer);
      {
        std::lock_guard<std::mutex> lock(queue->mutex);
        queue->data.emplace_back(SystemClock().MonotonicNs() + delay_ns,
                                 std::string(buffer, got > 0 ? static_cast<size_t>(got) : 0));
      }
      queue->arrived.notify_one();
      if (got <= 0) return;
    }
  }).detach();
  std::thread([=] {
    prctl(PR_SET_TIMERSLACK, 1);
    while (true) {
      std::pair<int64_t, std::string> next;
      {
        std::unique_lock<std::mutex> lock(queue->mutex);
        queue->arrived.wait(lock, [&] { return !queue->data.empty(); });
        next = std::move(queue->data.front());
        queue->data.pop_front();
      }
      SystemClock().SleepUntil(next.first);
      if (next.second.empty()) {
        shutdown(sink, SHUT_WR);
        return;
      }
      for (size_t sent = 0; sent < next.second.size();) {
        const ssize_t some =
            send(sink, next.second.data() + sent, next.second.size() - sent, MSG_NOSIGNAL);
        if (some <= 0) return;
        sent += static_cast<size_t>(some);
      }
    }
  }).detach();
}

sockaddr_in Address(const char* ip, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, ip, &address.sin_addr);
  return address;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here = Address(argv[1], 0);
  socklen_t length = sizeof here;
  if (bind(server, reinterpret_cast<sockaddr*>(&here), length) != 0 || listen(server, 64) != 0 ||
      getsockname(server, reinterpret_cast<sockaddr*>(&here), &length) != 0) {
    std::perror(argv[1]);
    return 1;
  }
  std::printf("%d\n", ntohs(here.sin_port));
  std::fflush(stdout);
  const sockaddr_in to = Address(argv[2], atoi(argv[3]));
  while (true) {
    const int near = accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return 1;
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(far, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      close(near);
      close(far);
      continue;
    }
    const int on = 1;
    for (int one : {near, far}) setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    PassOn(near, far, atoll(argv[4]) * 1000);
    PassOn(far, near, atoll(argv[5]) * 1000);
  }
}
