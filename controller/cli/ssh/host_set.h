#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::cli {

// A host as ssh(1) is told it, and as reports name it. All functions are pure.
struct SshHost {
  std::string destination;  // "node1", "bench@node1", "2001:db8::1"
  std::string name;         // "node1"; of an IPv6 address with '-' instead of ':'
  friend bool operator==(const SshHost&, const SshHost&) = default;
};

// The hosts of node sets: "node1", "bench@node[1-64]", "r[1-2]n[01-16,20],login". Widths are kept:
// [01-16] begins with 01. INVALID_ARGUMENT for what ssh could take for an option or a URI, for a
// name that is given twice, and for more than limits::kSshHosts hosts.
absl::StatusOr<std::vector<SshHost>> ParseHosts(const std::vector<std::string>& sets);

// The node sets in a file: one or several a line, separated by white space; '#' begins a comment.
std::vector<std::string> HostFileSets(const std::string& content);

}  // namespace lockstep::cli
