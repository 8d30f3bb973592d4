#include "worker/host/device_number.h"

#include <sys/sysmacros.h>

#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace lockstep::worker {

std::optional<dev_t> ParseDeviceNumber(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  uint32_t major_number = 0;
  uint32_t minor_number = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &major_number) ||
      !absl::SimpleAtoi(parts[1], &minor_number)) {
    return std::nullopt;
  }
  return makedev(major_number, minor_number);
}

}  // namespace lockstep::worker
