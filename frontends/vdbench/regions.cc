// Which part of a storage a workload reaches: `offset` of the storage, `range` of either.

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontends/vdbench/translate.h"
#include "frontends/vdbench/values.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr int64_t kMaxEnd = int64_t{1} << 50;
constexpr double kWhole = 100;      // of a range: up to here percent
constexpr double kMaxBeyond = 200;  // up to here percent that go on at the start; then bytes

// One end of a range as it is written.
struct RangeEnd {
  double number = 0;
  bool is_percent() const { return number <= kWhole; }
};

std::optional<RangeEnd> ParseEnd(const std::string& text) {
  if (const auto number = ParseNumber(text)) return RangeEnd{*number};
  if (const auto bytes = ParseSize(text)) return RangeEnd{static_cast<double>(*bytes)};
  return std::nullopt;
}

class RegionReader {
 public:
  RegionReader(const Storage& storage, const Parameter* range, int64_t largest_block,
               v1::Workload* workload, Findings* findings)
      : storage_(storage),
        range_(range),
        block_(largest_block),
        workload_(*workload),
        findings_(findings) {}

  // False if there is no region, or an error.
  bool Read() {
    if (range_ != nullptr && !ReadRange()) return false;
    // A range of all of the storage needs no region.
    if (storage_.offset_bytes == 0 && low_.number == 0 && high_.number == kWhole) return false;
    const bool is_known = BytesOf(storage_) > 0;
    const bool by_share =
        (low_.is_percent() && low_.number > 0) || (high_.is_percent() && high_.number < kWhole);
    // A share of a known size becomes bytes here, since vdbench rounds it to the largest block.
    return by_share && !is_known ? SetShares() : SetBytes();
  }

 private:
  const Origin& from() const { return range_ != nullptr ? range_->where : storage_.offset_from; }

  bool ReadRange() {
    const std::vector<std::string> items = ListOf(*range_, findings_);
    const auto low = items.size() == 2 ? ParseEnd(items[0]) : std::nullopt;
    const auto high = items.size() == 2 ? ParseEnd(items[1]) : std::nullopt;
    if (!low || !high || low->number >= high->number) {
      findings_->Fail(range_->where, "is no (low,high) in percent or in bytes of a storage");
      return false;
    }
    // Numbers further up do not fit into 64 bits either.
    if (high->number > static_cast<double>(kMaxEnd)) {
      findings_->Fail(range_->where, "lies beyond the storage");
      return false;
    }
    low_ = *low;
    high_ = *high;
    if (high_.number <= kWhole || high_.number > kMaxBeyond) return true;
    // Such a range goes on at the start of the storage. With seekpct=eof it ends with the storage,
    // in vdbench, too.
    if (workload_.passes() == 0) {
      findings_->Refuse(range_->where, "a range that goes on at the start of the storage");
      return false;
    }
    high_.number = kWhole;
    findings_->Remark(range_->where, "is a range up to 100 %, as in vdbench with seekpct=eof");
    return true;
  }

  // The size of the storage is not known before the run.
  bool SetShares() {
    // Only the size would say at which share an offset in bytes lies.
    if (storage_.offset_bytes > 0) {
      findings_->Refuse(storage_.offset_from,
                        "a region with an offset in bytes and a size in percent; give the storage "
                        "a size");
      return false;
    }
    if (!low_.is_percent() || !high_.is_percent()) {
      findings_->Refuse(range_->where,
                        "a region with one end in percent and one in bytes; give the storage a "
                        "size");
      return false;
    }
    v1::Region* region = workload_.mutable_region();
    region->set_offset_share_ratio(low_.number / kWhole);
    // Up to the end it is without a size: both ends are rounded to blocks.
    if (high_.number < kWhole) region->set_size_share_ratio((high_.number - low_.number) / kWhole);
    return true;
  }

  // Rounded down to the largest block, as vdbench does before it adds the offset.
  int64_t BytesAt(const RangeEnd& end) const {
    const auto size = static_cast<double>(BytesOf(storage_));
    const double bytes = end.is_percent() ? size * end.number / kWhole : end.number;
    return static_cast<int64_t>(bytes) / block_ * block_;
  }

  bool SetBytes() {
    const int64_t size = BytesOf(storage_);
    const bool to_end = high_.number == kWhole;
    const int64_t begin = BytesAt(low_) + storage_.offset_bytes;
    const int64_t end = to_end ? size : BytesAt(high_);  // 0: not known
    if (begin > kMaxEnd || end > (size > 0 ? size : kMaxEnd)) {
      findings_->Fail(from(), "lies beyond the storage");
      return false;
    }
    if ((size > 0 || end > 0) && end - begin < 2 * block_) {
      findings_->Fail(from(), absl::StrCat("leaves ", std::max<int64_t>(0, end - begin),
                                           " bytes of the storage; vdbench needs two blocks of ",
                                           block_, " bytes"));
      return false;
    }
    RemarkOrder(begin);
    v1::Region* region = workload_.mutable_region();
    region->set_offset_bytes(begin);
    if (!to_end) region->set_size_bytes(end - begin);
    return true;
  }

  void RemarkOrder(int64_t begin) const {
    if (workload_.block_sizes().empty()) return;
    int64_t smallest = workload_.block_sizes(0).block_size_bytes();
    for (const v1::WeightedBlockSize& line : workload_.block_sizes()) {
      smallest = std::min(smallest, line.block_size_bytes());
    }
    if (begin % smallest == 0) return;
    findings_->Remark(storage_.offset_from,
                      "I/Os of several sizes begin at multiples of the smallest one");
  }

  const Storage& storage_;
  const Parameter* range_;
  const int64_t block_;
  v1::Workload& workload_;
  Findings* findings_;
  RangeEnd low_, high_{kWhole};
};

}  // namespace

int64_t BytesOf(const Storage& storage) {
  return storage.target.has_file() ? storage.target.file().size_bytes()
                                   : storage.target.device().size_bytes();
}

int64_t LargestBlock(const v1::Workload& workload) {
  int64_t largest = workload.block_size_bytes();
  for (const v1::WeightedBlockSize& line : workload.block_sizes()) {
    largest = std::max({largest, line.block_size_bytes(), line.up_to_bytes()});
  }
  return largest;
}

void SetRegion(const Storage& storage, const Parameter* range, int64_t largest_block,
               v1::Workload* workload, Origins* origins, Findings* findings) {
  if (largest_block == 0) return;  // an error that is said elsewhere
  if (!RegionReader(storage, range, largest_block, workload, findings).Read()) return;
  const v1::Region& region = workload->region();
  const bool is_offset = storage.offset_bytes > 0;
  const Origin& from = is_offset || range == nullptr ? storage.offset_from : range->where;
  (*origins)[region.offset_share_ratio() > 0 ? "region.offset_share" : "region.offset"] = from;
  if (range == nullptr) return;
  (*origins)[region.size_share_ratio() > 0 ? "region.size_share" : "region.size"] = range->where;
}

int64_t ReachedBytes(const Storage& storage, const v1::Workload& workload) {
  const v1::Region& region = workload.region();
  if (region.size_bytes() > 0) return region.size_bytes();
  return BytesOf(storage) > 0 ? BytesOf(storage) - region.offset_bytes() : 0;
}

}  // namespace lockstep::frontends::vdbench
