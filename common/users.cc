#include "common/users.h"

#include <pwd.h>

#include <functional>
#include <vector>

namespace lockstep::common {
namespace {

// `look` is getpwnam_r or getpwuid_r with their first argument.
std::optional<User> Found(
    const std::function<int(passwd* entry, char* text, size_t size, passwd** found)>& look) {
  // Entries of directory services may be longer than the 1 KiB that glibc suggests
  // (_SC_GETPW_R_SIZE_MAX). One that does not fit gives ERANGE.
  std::vector<char> text(16384);
  passwd entry = {};
  passwd* found = nullptr;
  if (look(&entry, text.data(), text.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return User{found->pw_name, found->pw_uid, found->pw_gid};
}

}  // namespace

std::optional<User> FindUser(const std::string& name) {
  return Found([&](passwd* entry, char* text, size_t size, passwd** found) {
    return getpwnam_r(name.c_str(), entry, text, size, found);
  });
}

std::optional<User> FindUser(uid_t uid) {
  return Found([&](passwd* entry, char* text, size_t size, passwd** found) {
    return getpwuid_r(uid, entry, text, size, found);
  });
}

}  // namespace lockstep::common
