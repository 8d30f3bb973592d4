#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::common {

// A LUN of an iSCSI target (RFC 7143): iscsi://HOST[:PORT]/NAME/LUN.
struct IscsiUrl {
  std::string portal;  // HOST:PORT, an IPv6 address in brackets
  std::string target;  // iqn.…, eui.… or naa.…
  int lun = 0;

  // With the port, always the same for the same LUN of the same portal.
  std::string text() const;
  // Without the LUN.
  std::string target_text() const;
};

// INVALID_ARGUMENT says what is wrong. A user's name or password in it is refused: secrets do not
// belong into jobs, listings and logs.
absl::StatusOr<IscsiUrl> ParseIscsiUrl(const std::string& text);

inline constexpr char kIscsiScheme[] = "iscsi://";

}  // namespace lockstep::common
