// Bytes on the page's port: a request, or anything else. The controller behind it answers every
// call with nothing.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "grpcpp/grpcpp.h"
#include "proto/controller.grpc.pb.h"
#include "web/server.h"

namespace {

class Silent final : public lockstep::v1::Controller::Service {
  grpc::Status GetStatus(grpc::ServerContext*, const lockstep::v1::StatusRequest*,
                         lockstep::v1::StatusReply*) override {
    return grpc::Status::OK;
  }
};

struct World {
  World() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    controller = builder.BuildAndStart();
    auto started =
        lockstep::web::Server::Start({"127.0.0.1:0", {}, {}}, controller->InProcessChannel({}));
    if (!started.ok()) std::abort();
    page = *std::move(started);
    const std::string url = page->url();
    port = static_cast<uint16_t>(std::atoi(url.c_str() + url.rfind(':') + 1));
  }
  Silent service;
  std::unique_ptr<grpc::Server> controller;
  std::unique_ptr<lockstep::web::Server> page;
  uint16_t port = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World* const world = new World();
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(world->port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    (void)!send(fd, data, size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    char answer[4096];
    std::string start;
    for (ssize_t got; (got = recv(fd, answer, sizeof(answer), 0)) > 0;) {
      if (start.size() < 4096) start.append(answer, got);
    }
    // Whatever was asked: an answer is one of this server's, with its headers.
    if (start.compare(0, 9, "HTTP/1.1 ") == 0 &&
        start.find("Content-Security-Policy") == std::string::npos && start.find(" 400 ") > 12 &&
        start.find(" 414 ") > 12) {
      __builtin_trap();
    }
  }
  close(fd);
  return 0;
}
