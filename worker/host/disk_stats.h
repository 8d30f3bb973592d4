#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "proto/result.pb.h"

namespace lockstep::worker {

// The counters of every block device since boot, by name, from the text of /proc/diskstats (kernel
// Documentation/admin-guide/iostats.rst). Sectors there are 512 bytes. Lines that are not of the
// form are left out; fields that an older kernel does not have are 0. `names`: only of these
// devices; null: of all.
std::map<std::string, v1::DeviceSample> ParseDiskStats(
    const std::string& text, const std::set<std::string>* names = nullptr);

// The increase between two readings. The kernel's counters of time are 32 bits wide and wrap.
std::optional<v1::DeviceSample> Difference(const v1::DeviceSample& earlier,
                                           const v1::DeviceSample& later);

}  // namespace lockstep::worker
