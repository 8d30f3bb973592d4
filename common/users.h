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

}  // namespace lockstep::common
