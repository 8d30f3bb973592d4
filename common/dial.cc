#include "common/dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/files.h"
#include "common/text.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::common {
namespace {

constexpr int kConnectMs = 2000;

// Empty when something listens there.
std::string Probe(const std::string& address) {
  // A path has no name to resolve and no port: gRPC's own words say what is wrong with it.
  if (address.rfind("unix:", 0) == 0) return "";
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = address.substr(address.rfind(':') + 1);
  if (const int error = getaddrinfo(HostOf(address).c_str(), port.c_str(), &hints, &list);
      error != 0) {
    return absl::StrCat("its name does not resolve (", gai_strerror(error), ")");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  std::string why = "nobody answers";
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const FileDescriptor fd(
        socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid()) continue;
    int error = connect(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd ready = {fd.get(), POLLOUT, 0};
      socklen_t size = sizeof error;
      // A connect(2) that does not block tells its outcome by SO_ERROR once the socket can be
      // written.
      if (poll(&ready, 1, kConnectMs) != 1 ||
          getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = ETIMEDOUT;
      }
    }
    // One address is enough: gRPC, too, tries them one after the other.
    if (error == 0) return "";
    why = error == ECONNREFUSED ? "nobody listens there" : ErrnoText(error);
  }
  return why;
}

// Returns how gRPC ends a call there. Any call does: a handshake that fails fails before it.
grpc::Status CallSomething(const std::shared_ptr<grpc::Channel>& channel) {
  // A generic stub needs no code that is generated from the services, so that common/ need not
  // depend on proto/.
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  // The deadline is what ends queue.Next() below when nobody answers.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(3));
  grpc::CompletionQueue queue;
  grpc::ByteBuffer answer;
  grpc::Status status;
  auto call =
      stub.PrepareUnaryCall(&context, "/lockstep.v1.Controller/Status", grpc::ByteBuffer(), &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  // gRPC wants a queue to be drained before it is destroyed.
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

}  // namespace

// gRPC verifies the certificate's chain as ever, and its names against this one. It also becomes
// the authority of each call, which gRPC compares with the certificate, too.
void DemandServerName(const std::string& server_name, grpc::ChannelArguments* arguments) {
  if (!server_name.empty()) arguments->SetSslTargetNameOverride(server_name);
}

bool AwaitConnection(grpc::Channel* channel, std::chrono::seconds limit) {
  const auto deadline = std::chrono::system_clock::now() + limit;
  while (true) {
    const grpc_connectivity_state state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN ||
        !channel->WaitForStateChange(state, deadline)) {
      return false;
    }
  }
}

std::string WhyNotConnected(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& address, bool tls, const std::string& server_name) {
  if (const std::string why = Probe(address); !why.empty()) return why;
  const grpc::Status called = CallSomething(channel);
  // The controller has no such call, and says so once a handshake has succeeded.
  if (called.ok() || called.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return "it answers, but too slowly: the machine there, the one here or the network is busy; "
           "try again";
  }
  const std::string words = called.error_message();
  const std::string said = words.empty() ? "" : absl::StrCat(" (", Printable(words, 300), ")");
  if (!tls) {
    return absl::StrCat("something listens there, but does not accept a connection without TLS",
                        said, "; give --tls-cert, --tls-key and --tls-ca, or check the address");
  }
  // gRPC has one code for all failures of a handshake: the words of the TLS library are all that
  // tells them apart.
  if (absl::StrContains(words, "CERTIFICATE_VERIFY_FAILED") ||
      absl::StrContains(words, "certificate verify failed")) {
    return absl::StrCat(
        "its certificate was not signed by --tls-ca, or is not for this name, or has expired",
        said);
  }
  if (absl::StrContains(words, "Peer name")) {
    return absl::StrCat("its certificate is not for this name", said, "; it needs ",
                        server_name.empty() ? HostOf(address) : server_name,
                        " among its alternative names");
  }
  if (absl::StrContains(words, "WRONG_VERSION_NUMBER") ||
      absl::StrContains(words, "wrong version number")) {
    return absl::StrCat("it does not speak TLS", said, "; it was started without certificates");
  }
  return absl::StrCat(
      "the TLS handshake failed", said,
      "; the controller refuses a certificate that its --tls-ca did not sign, or that has expired");
}

}  // namespace lockstep::common
