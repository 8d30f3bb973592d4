#include "worker/host/multipathd.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/text.h"
#include "common/timing.h"

namespace lockstep::worker {
namespace {

// PathWatch asks five times a second: the answer must come before the next poll is due.
constexpr int64_t kLimitNs = 200 * timing::kMs;  // of the whole exchange
constexpr size_t kMaxState = 64;                 // columns of a state
// A path takes some 40 bytes of the answer.
constexpr size_t kMaxBytes = 4 << 20;
constexpr char kQuestion[] = "show paths raw format \"%d %t %T\"";

// Waits until the socket can be read or written, as `events` says. False when it is too late.
bool Await(int socket, short events, int64_t deadline_ns) {
  const int64_t left_ns = deadline_ns - common::SystemClock().MonotonicNs();
  pollfd waiting = {socket, events, 0};
  return left_ns > 0 && poll(&waiting, 1, static_cast<int>(left_ns / timing::kMs) + 1) == 1;
}

bool SendAll(int socket, const void* bytes, size_t length, int64_t deadline_ns) {
  // The question is far shorter than the socket's buffer. If only a part of it can be sent,
  // multipathd does not read, and that counts as no answer.
  return Await(socket, POLLOUT, deadline_ns) &&
         send(socket, bytes, length, MSG_NOSIGNAL) == static_cast<ssize_t>(length);
}

bool ReceiveAll(int socket, char* bytes, size_t length, int64_t deadline_ns) {
  for (size_t have = 0; have < length;) {
    if (!Await(socket, POLLIN, deadline_ns)) return false;
    const ssize_t got = recv(socket, bytes + have, length - have, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

// The name is in the abstract namespace, which anybody may take while no multipathd runs.
bool IsTrusted(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == 0 || peer.uid == geteuid());
}

}  // namespace

absl::StatusOr<std::map<std::string, MultipathdState>> QueryMultipathd(const std::string& socket) {
  const absl::Status none = absl::UnavailableError("no multipathd answers");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket.size() + 1 > sizeof address.sun_path) return none;
  // A name in the abstract namespace begins with a zero byte and has no other at its end (unix(7)).
  memcpy(address.sun_path + 1, socket.data(), socket.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket.size());
  const int64_t deadline = common::SystemClock().MonotonicNs() + kLimitNs;
  common::FileDescriptor descriptor(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = descriptor.get();
  // connect(2) of a socket that does not block fails at once where the server's queue is full.
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) return none;
  if (!IsTrusted(fd)) {
    return absl::UnavailableError("what answers for multipathd is a user's program, not root's");
  }
  // Both ways: a size_t with the length, the terminating zero included, then the text.
  const size_t asked = sizeof kQuestion;
  size_t answered = 0;
  if (!SendAll(fd, &asked, sizeof asked, deadline) || !SendAll(fd, kQuestion, asked, deadline) ||
      !ReceiveAll(fd, reinterpret_cast<char*>(&answered), sizeof answered, deadline)) {
    return none;
  }
  if (answered == 0 || answered > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("multipathd announces an answer of ", answered, " bytes"));
  }
  std::string text(answered, '\0');
  if (!ReceiveAll(fd, text.data(), text.size(), deadline)) return none;
  std::map<std::string, MultipathdState> states;
  for (const absl::string_view line : absl::StrSplit(text.c_str(), '\n')) {
    // The checker's state may be several words: "i/o timeout".
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 2), absl::SkipWhitespace());
    if (words.size() == 3) {
      states[words[0]] = {
          common::Printable(words[1], kMaxState),
          common::Printable(std::string(absl::StripAsciiWhitespace(words[2])), kMaxState)};
    }
  }
  return states;
}

}  // namespace lockstep::worker
