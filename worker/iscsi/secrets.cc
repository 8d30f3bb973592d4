#include "worker/iscsi/secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

absl::StatusOr<std::string> ReadPrivate(const std::string& path) {
  // Owner and mode are checked on the descriptor that is read: the name may lead to another file by
  // the next call. Without O_NONBLOCK, open(2) of a FIFO would wait for a writer.
  const common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(path + ": no regular file");
  if ((facts.st_mode & 077) != 0 || (facts.st_uid != 0 && facts.st_uid != geteuid())) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": others may read it; chown it to root and chmod it to 0600"));
  }
  if (static_cast<size_t>(facts.st_size) > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has more than ", kMaxBytes, " bytes"));
  }
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  if (got < 0) return common::ErrnoStatus(errno, path);
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace

absl::StatusOr<IscsiSecrets> IscsiSecrets::Load(const std::string& path) {
  const auto text = ReadPrivate(path);
  if (!text.ok()) return text.status();
  IscsiSecrets secrets;
  int number = 0;
  for (const auto line : absl::StrSplit(*text, '\n')) {
    ++number;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    const auto wrong = [&](const char* what) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what));
    };
    if (words.size() != 3 && words.size() != 5) {
      return wrong("not TARGET USER PASSWORD [TARGET-USER TARGET-PASSWORD]");
    }
    for (const std::string& word : words) {
      // libiscsi keeps a name or password in 256 bytes.
      if (word.size() > 255 || !common::IsUtf8(word)) return wrong("a word of it is too long");
    }
    ChapSecret secret{words[1], words[2], "", ""};
    if (words.size() == 5) {
      secret.target_user = words[3];
      secret.target_password = words[4];
    }
    if (!secrets.by_target_.emplace(words[0], std::move(secret)).second) {
      return wrong("its target stands further up already");
    }
  }
  return secrets;
}

IscsiSecrets IscsiSecrets::FromEnvironment() {
  IscsiSecrets secrets;
  const char* user = getenv("LOCKSTEP_ISCSI_USER");
  const char* password = getenv("LOCKSTEP_ISCSI_PASSWORD");
  if (user != nullptr && password != nullptr) {
    secrets.by_target_["*"] = ChapSecret{user, password, "", ""};
  }
  // libiscsi has variables of its own for CHAP: a login to a target that a job names must not use
  // them.
  for (const char* name : {"LOCKSTEP_ISCSI_USER", "LOCKSTEP_ISCSI_PASSWORD",
                           "LIBISCSI_CHAP_USERNAME", "LIBISCSI_CHAP_PASSWORD",
                           "LIBISCSI_CHAP_TARGET_USERNAME", "LIBISCSI_CHAP_TARGET_PASSWORD"}) {
    // unsetenv(3) leaves the bytes in memory, where every process of this user can read them
    // (/proc/PID/environ).
    if (char* value = getenv(name)) explicit_bzero(value, strlen(value));
    unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  }
  return secrets;
}

std::optional<ChapSecret> IscsiSecrets::Of(const std::string& target) const {
  auto found = by_target_.find(target);
  if (found == by_target_.end()) found = by_target_.find("*");
  if (found == by_target_.end()) return std::nullopt;
  return found->second;
}

}  // namespace lockstep::worker
