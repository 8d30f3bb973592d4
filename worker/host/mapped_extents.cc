#include "worker/host/mapped_extents.h"

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "worker/host/device_number.h"

namespace lockstep::worker {
namespace {

constexpr uint64_t kMapSectorBytes = 512;
// Tables of volumes with thousands of extents. A longer one is not asked for again.
constexpr size_t kMaxTableBytes = 1 << 20;

// As the kernel's huge_encode_dev() has it.
uint64_t Encoded(dev_t number) {
  const uint64_t minor_number = minor(number);
  return (minor_number & 0xff) | uint64_t{major(number)} << 8 | (minor_number & ~0xffULL) << 12;
}

std::optional<std::vector<MappedExtent>> ParseTable(const std::vector<char>& buffer,
                                                    const dm_ioctl& header) {
  std::vector<MappedExtent> extents;
  size_t at = header.data_start;
  for (uint32_t i = 0; i < header.target_count; ++i) {
    dm_target_spec spec;
    if (at + sizeof spec > buffer.size()) return std::nullopt;
    memcpy(&spec, buffer.data() + at, sizeof spec);
    const char* parameters = buffer.data() + at + sizeof spec;
    const std::string type(spec.target_type, strnlen(spec.target_type, sizeof spec.target_type));
    const std::string text(parameters, strnlen(parameters, buffer.size() - at - sizeof spec));
    auto parsed = ParseMapped(type, spec.sector_start, spec.length, text);
    if (!parsed) return std::nullopt;
    extents.insert(extents.end(), parsed->begin(), parsed->end());
    // Counted from where the first one begins (retrieve_status() in the kernel's dm-ioctl.c).
    const size_t next = header.data_start + size_t{spec.next};
    if (next <= at && i + 1 < header.target_count) return std::nullopt;
    at = next;
  }
  return extents;
}

}  // namespace

std::optional<std::vector<MappedExtent>> ParseMapped(const std::string& target, uint64_t begin,
                                                     uint64_t sectors,
                                                     const std::string& parameters) {
  const std::vector<std::string> words = absl::StrSplit(parameters, ' ', absl::SkipEmpty());
  const bool is_linear = target == "linear";
  uint64_t stripes = 1;
  size_t first = 0;
  if (target == "striped") {
    // NUMBER CHUNK (DEVICE OFFSET)…
    if (words.size() < 2 || !absl::SimpleAtoi(words[0], &stripes)) return std::nullopt;
    first = 2;
  } else if (!is_linear) {
    return std::nullopt;
  }
  if (stripes == 0 || sectors % stripes != 0 || words.size() != first + 2 * stripes) {
    return std::nullopt;
  }
  std::vector<MappedExtent> extents;
  for (uint64_t i = 0; i < stripes; ++i) {
    uint64_t offset = 0;
    const dev_t device = ParseDeviceNumber(words[first + 2 * i]).value_or(0);
    if (device == 0 || !absl::SimpleAtoi(words[first + 2 * i + 1], &offset)) return std::nullopt;
    MappedExtent& extent = extents.emplace_back();
    extent.begin = begin * kMapSectorBytes;
    extent.end = (begin + sectors) * kMapSectorBytes;
    extent.device = device;
    extent.device_begin = offset * kMapSectorBytes;
    extent.device_end = (offset + sectors / stripes) * kMapSectorBytes;
    extent.is_linear = is_linear;
  }
  return extents;
}

std::optional<std::vector<MappedExtent>> MappedExtentsOf(dev_t mapped) {
  const common::FileDescriptor control(open("/dev/mapper/control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) return std::nullopt;
  for (size_t size = 16384; size <= kMaxTableBytes; size *= 8) {
    std::vector<char> buffer(size);
    dm_ioctl header = {};
    header.version[0] = 4;
    header.data_size = static_cast<uint32_t>(size);
    header.data_start = sizeof header;
    header.flags = DM_STATUS_TABLE_FLAG;
    header.dev = Encoded(mapped);
    memcpy(buffer.data(), &header, sizeof header);
    if (ioctl(control.get(), DM_TABLE_STATUS, buffer.data()) != 0) return std::nullopt;
    memcpy(&header, buffer.data(), sizeof header);
    if ((header.flags & DM_BUFFER_FULL_FLAG) != 0) continue;
    auto extents = ParseTable(buffer, header);
    // Nothing mapped is no device that could be compared.
    return extents && !extents->empty() ? extents : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lockstep::worker
