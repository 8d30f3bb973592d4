#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/iscsi_url.h"

namespace lockstep::worker {

// CHAP (RFC 7143, 12.1): who this worker is to a target and, for mutual CHAP, who the target is.
struct ChapSecret {
  std::string user, password;
  std::string target_user, target_password;  // empty: the target need not prove itself
};

// The CHAP secrets of this worker, by target. They are printed nowhere. Immutable; thread-safe.
class IscsiSecrets {
 public:
  IscsiSecrets() = default;
  // A file with lines of `TARGET USER PASSWORD [TARGET-USER TARGET-PASSWORD]`, TARGET an IQN or
  // `*`; empty lines and those that begin with # are passed over. PERMISSION_DENIED when others
  // than its owner may read it, or its owner is neither root nor this user; INVALID_ARGUMENT names
  // the line, never what stands in it.
  static absl::StatusOr<IscsiSecrets> Load(const std::string& path);
  // Reads LOCKSTEP_ISCSI_USER and LOCKSTEP_ISCSI_PASSWORD, for all targets, and takes them out of
  // the environment. Call this before there are threads.
  static IscsiSecrets FromEnvironment();

  std::optional<ChapSecret> Of(const std::string& target) const;

 private:
  std::map<std::string, ChapSecret> by_target_;
};

}  // namespace lockstep::worker
