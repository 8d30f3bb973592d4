#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "proto/result.pb.h"

namespace lockstep::worker {

// The counters of NFS mounts since they were mounted, by mount point and operation, from the text
// of /proc/self/mountstats (net/sunrpc/stats.c). Mount points stay as they are written there, with
// octal escapes. Only the given `mounts` are read; malformed lines are left out.
using NfsCounters = std::map<std::pair<std::string, std::string>, v1::NfsSample>;
NfsCounters ParseMountStats(const std::string& text, const std::set<std::string>& mounts);

// The increase between two readings; nothing where the counters began anew.
std::optional<v1::NfsSample> Difference(const v1::NfsSample& earlier, const v1::NfsSample& later);

}  // namespace lockstep::worker
