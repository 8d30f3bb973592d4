#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lockstep::common {

// The system's users. Thread-safe.
struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<User> FindUser(const std::string& name);
std::optional<User> FindUser(uid_t uid);

// Whether the group has the user's own name. By convention it has no other members then
// (useradd(8), --user-group).
bool IsOwnGroup(uid_t uid, gid_t gid);

}  // namespace lockstep::common
