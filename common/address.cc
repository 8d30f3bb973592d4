#include "common/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep::common {
namespace {

bool IsLoopback4(const in_addr& address) { return (ntohl(address.s_addr) >> 24) == 127; }
bool IsLoopback6(const in6_addr& address) { return IN6_IS_ADDR_LOOPBACK(&address) != 0; }

bool ResolvesToLoopback(const std::string& name) {
  addrinfo hints = {};
  // With 0 getaddrinfo(3) returns each address once for each type of socket.
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // In doubt a name counts as public: the callers then demand TLS.
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const bool local =
        entry->ai_family == AF_INET
            ? IsLoopback4(reinterpret_cast<const sockaddr_in*>(entry->ai_addr)->sin_addr)
        : entry->ai_family == AF_INET6
            ? IsLoopback6(reinterpret_cast<const sockaddr_in6*>(entry->ai_addr)->sin6_addr)
            : false;
    // Each address counts: a program may listen on any of them, or connect to it.
    if (!local) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckAddress(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  // Without brackets, the last part of an IPv6 address would be taken for a port.
  const bool bracketed = !host.empty() && host.front() == '[' && host.back() == ']';
  // Port 0 is accepted: the kernel then chooses a free one. The controller writes the addresses
  // that it listens at into its --ready-file.
  uint32_t port = 0;
  if (colon == std::string::npos || host.empty() ||
      (host.find(':') != std::string::npos && !bracketed) ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        "'" + address + "': write HOST:PORT, with a port up to 65535 (IPv6: [HOST]:PORT)");
  }
  return absl::OkStatus();
}

std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

bool IsLoopback(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return true;
  const std::string host = HostOf(address);
  in_addr four;
  in6_addr six;
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return IsLoopback4(four);
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IsLoopback6(six);
  // /etc/hosts can give even this name another address.
  return host == "localhost" && ResolvesToLoopback(host);
}

}  // namespace lockstep::common
