#pragma once

#include <cstdint>
#include <string>

#include "proto/job.pb.h"

namespace lockstep::measure {

// A block's header has a number for the file, device or LUN in which the block lies. The number is
// the same on every host that sees this thing. Workers report their writes by it, and the
// controller knows from its own plan which thing each number means.

// The number of a thing, which ThingOfFile() or ThingOfDevice() has described.
uint64_t TargetKey(const std::string& thing);

// The path of a file target's file, {host}, {worker} and {file} filled in.
std::string FilePath(const v1::FileTarget& target, uint32_t file, const std::string& host,
                     uint32_t worker_index);
// The file as a thing: a private file is another one on each host, also where the path is the same.
std::string ThingOfFile(const v1::Target& target, const std::string& path, const std::string& host);
// A device or LUN as a thing: by its identity, or by its path where it has none. `boot_id`: of the
// host's kernel; an image's numbers mean something to one kernel alone.
std::string ThingOfDevice(const std::string& identity, const std::string& path,
                          const std::string& boot_id);

}  // namespace lockstep::measure
