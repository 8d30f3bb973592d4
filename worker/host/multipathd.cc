#include "worker/host/multipathd.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::worker {
namespace {

constexpr timeval kLimit = {0, 200000};  // of each step
// Some 40 bytes a path.
constexpr size_t kMostBytes = 4 << 20;
constexpr char kQuestion[] = "show paths raw format \"%d %t %T\"";

bool SendAll(int socket, const void* bytes, size_t length) {
  return send(socket, bytes, length, MSG_NOSIGNAL) == static_cast<ssize_t>(length);
}

bool ReceiveAll(int socket, char* bytes, size_t length) {
  for (size_t have = 0; have < length;) {
    const ssize_t got = recv(socket, bytes + have, length - have, 0);
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::map<std::string, MultipathdState>> AskMultipathd(const std::string& socket) {
  const absl::Status none = absl::UnavailableError("no multipathd answers");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket.size() + 1 > sizeof address.sun_path) return none;
  memcpy(address.sun_path + 1, socket.data(), socket.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket.size());
  common::FileDescriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int fd = descriptor.get();
  // connect() goes by the limit of sending.
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kLimit, sizeof kLimit) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kLimit, sizeof kLimit) != 0 ||
      connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return none;
  }
  // Both ways: a size_t with the length, the terminating zero included, then the text.
  const size_t asked = sizeof kQuestion;
  size_t answered = 0;
  if (!SendAll(fd, &asked, sizeof asked) || !SendAll(fd, kQuestion, asked) ||
      !ReceiveAll(fd, reinterpret_cast<char*>(&answered), sizeof answered)) {
    return none;
  }
  if (answered == 0 || answered > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("multipathd announces an answer of ", answered, " bytes"));
  }
  std::string text(answered, '\0');
  if (!ReceiveAll(fd, text.data(), text.size())) return none;
  std::map<std::string, MultipathdState> states;
  for (const absl::string_view line : absl::StrSplit(text.c_str(), '\n')) {
    // The checker's state may be several words: "i/o timeout".
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 2), absl::SkipWhitespace());
    if (words.size() == 3) {
      states[words[0]] = {words[1], std::string(absl::StripAsciiWhitespace(words[2]))};
    }
  }
  return states;
}

}  // namespace lockstep::worker
