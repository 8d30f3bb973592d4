#include "proto/region.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace lockstep::v1 {
namespace {

// An offset of 1.2e18 bytes and as large an increment times 1,024 threads do not fit into 64 bits.
__extension__ using Wide = unsigned __int128;

std::string Size(uint64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); }

// A share of the part; all of it for what is no share, so that nothing fits behind it.
uint64_t ShareOf(double ratio, uint64_t part_bytes) {
  if (!(ratio >= 0 && ratio < 1)) return part_bytes;
  // The product of a large part may be rounded up to more than the part.
  return std::min(part_bytes, static_cast<uint64_t>(ratio * static_cast<double>(part_bytes)));
}

// A negative number becomes one that no part reaches.
uint64_t Unsigned(int64_t bytes) { return static_cast<uint64_t>(bytes); }

}  // namespace

absl::StatusOr<RegionBytes> RegionOf(const Region& region, uint64_t part_bytes, uint32_t thread,
                                     uint64_t block_bytes) {
  const uint64_t block = std::max<uint64_t>(1, block_bytes);
  const bool by_share = region.offset_share_ratio() != 0 || region.increment_share_ratio() != 0;
  const uint64_t offset = region.offset_share_ratio() != 0
                              ? ShareOf(region.offset_share_ratio(), part_bytes)
                              : Unsigned(region.offset_bytes());
  const uint64_t increment = region.increment_share_ratio() != 0
                                 ? ShareOf(region.increment_share_ratio(), part_bytes)
                                 : Unsigned(region.increment_bytes());
  Wide begin = Wide{offset} + Wide{increment} * thread;
  // Shares rarely are whole blocks.
  if (by_share) begin = (begin + block - 1) / block * block;
  Wide length = part_bytes > begin ? Wide{part_bytes} - begin : 0;
  if (region.size_share_ratio() != 0) {
    length = Wide{ShareOf(region.size_share_ratio(), part_bytes) / block} * block;
  } else if (region.size_bytes() != 0) {
    length = Unsigned(region.size_bytes());
  }
  if (begin + length <= part_bytes && length >= block) {
    return RegionBytes{static_cast<uint64_t>(begin), static_cast<uint64_t>(begin + length)};
  }
  const std::string whose =
      increment == 0 ? "the region" : absl::StrCat("the region of thread ", thread);
  const std::string where = begin <= UINT64_MAX
                                ? absl::StrCat("begins at ", Size(static_cast<uint64_t>(begin)))
                                : "begins beyond any device";
  if (length < block && begin + length <= part_bytes) {
    return absl::OutOfRangeError(absl::StrCat(whose, " has ", static_cast<uint64_t>(length),
                                              " bytes, which hold no block of ", Size(block)));
  }
  return absl::OutOfRangeError(
      absl::StrCat(whose, " ", where,
                   length > 0 && length <= UINT64_MAX
                       ? absl::StrCat(" and has ", Size(static_cast<uint64_t>(length)))
                       : "",
                   ", which do not fit into the ", Size(part_bytes), " of the host's part"));
}

}  // namespace lockstep::v1
