#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lockstep::worker {

// The number of a device as the kernel writes it, "8:1". Nothing where the text is no such pair.
std::optional<dev_t> ParseDeviceNumber(const std::string& text);

}  // namespace lockstep::worker
