#include "common/users.h"

#include <grp.h>
#include <pwd.h>

#include <functional>
#include <vector>

namespace lockstep::common {
namespace {

// Entries of directory services may be longer than the 1 KiB that glibc suggests
// (_SC_GETPW_R_SIZE_MAX). One that does not fit gives ERANGE.
constexpr size_t kEntryBytes = 16384;

// `look` is getpwnam_r or getpwuid_r with their first argument.
std::optional<User> Found(
    const std::function<int(passwd* entry, char* text, size_t size, passwd** found)>& look) {
  std::vector<char> text(kEntryBytes);
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

bool IsOwnGroup(uid_t uid, gid_t gid) {
  const std::optional<User> user = FindUser(uid);
  std::vector<char> text(kEntryBytes);
  group entry = {};
  group* found = nullptr;
  return user && getgrgid_r(gid, &entry, text.data(), text.size(), &found) == 0 &&
         found != nullptr && user->name == found->gr_name;
}

}  // namespace lockstep::common
