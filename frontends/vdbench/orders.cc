// Offsets that a workload leaves out (`stride`), and those that it prefers (`rhpct`, `whpct`).

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontends/vdbench/translate.h"
#include "frontends/vdbench/values.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr int64_t kMaxStride = int64_t{1} << 50;
constexpr int64_t kSectorOfStride = 512;
// vdbench wants so many blocks in each of the two areas.
constexpr int64_t kBlocksOfAnArea = 2;

// A percentage of I/Os that hit; 0 without the parameter.
double HitsOf(const Parameter* parameter, Findings* findings) {
  if (parameter == nullptr) return 0;
  const auto percent = ParseNumber(parameter->value);
  if (percent && *percent <= 100) return *percent;
  findings->Fail(parameter->where, "is no percentage");
  return 0;
}

// The share of the workload's I/Os that hit, in percent. Nothing if reads and writes differ: a
// workload has one order for both.
std::optional<double> CommonHits(double reads, double writes, bool is_swept,
                                 const v1::Workload& workload) {
  if (reads == writes) return reads;
  if (is_swept) return std::nullopt;
  // Without rdpct a workload only reads.
  if (!workload.has_read_ratio() || workload.read_ratio() == 1) return reads;
  return workload.read_ratio() == 0 ? std::optional(writes) : std::nullopt;
}

// The largest values that the loops of a run give a workload.
struct Extremes {
  int64_t block_bytes = 0;
  int64_t threads = 1;
};

// The largest number of a loop, or `least`. Numbers beyond `limit` are an error that is said
// elsewhere.
int64_t LargestOf(const Parameter* loop, int64_t least, int64_t limit, Findings* findings) {
  if (loop == nullptr) return least;
  int64_t largest = least;
  for (const std::string& text : ListOf(*loop, findings)) {
    const int64_t number = ParseSize(text).value_or(0);
    if (number <= limit) largest = std::max(largest, number);
  }
  return largest;
}

void CheckStride(const Load& load, const Storage& storage, const Extremes& most, bool is_one_size,
                 const v1::Workload& workload, Findings* findings) {
  const int64_t skip = workload.pattern().sequential().skip_bytes();
  if (skip == 0) return;
  const Origin& from = load.stride->where;
  if (!is_one_size) {
    return findings->Refuse(from, "a distance between I/Os of several sizes");
  }
  if (most.threads > 1) {
    findings->Remark(from,
                     "each thread skips through a part of its own; in vdbench all threads share "
                     "one position");
  }
  const int64_t reached = ReachedBytes(storage, workload);
  if (reached == 0) return;  // the worker knows it
  const int64_t block = most.block_bytes;
  const int64_t places = reached < block ? 0 : (reached - block) / (block + skip) + 1;
  // A thread with one offset would do all of its I/Os there.
  if (places >= 2 * most.threads) return;
  findings->Fail(
      from, absl::StrCat("leaves ", places, " offsets for ", most.threads,
                         most.threads == 1 ? " thread" : " threads", "; each needs at least two"));
}

// The workload begins behind so many bytes of what it reaches.
void LeaveOut(int64_t bytes, const Origin& from, v1::Workload* workload, Origins* origins) {
  v1::Region* region = workload->mutable_region();
  region->set_offset_bytes(region->offset_bytes() + bytes);
  if (region->size_bytes() > 0) region->set_size_bytes(region->size_bytes() - bytes);
  (*origins)["region.offset"] = from;
}

void SetHits(const Load& load, const Storage& storage, const Statement& run, int64_t largest_block,
             v1::Workload* workload, Origins* origins, Findings* findings) {
  const double reads = HitsOf(load.read_hits, findings);
  const double writes = HitsOf(load.write_hits, findings);
  if ((reads == 0 && writes == 0) || largest_block == 0) return;
  const Origin& from = (reads > 0 ? load.read_hits : load.write_hits)->where;
  if (const Parameter* area = run.Find("hitarea")) {
    return findings->Refuse(area->where, "a hit area of the run; write it into each sd");
  }
  if (load.seek_percent < 100 || !workload->pattern().has_random()) {
    return findings->Refuse(from, "hits of I/Os that are not all at random offsets");
  }
  const auto hits = CommonHits(reads, writes, run.Find("forrdpct") != nullptr, *workload);
  if (!hits) {
    return findings->Refuse(from, "hits of reads and of writes with shares of their own");
  }
  if (BytesOf(storage) == 0) {
    return findings->Refuse(
        from, "the size of the storage, of which the hit area is a part; give the sd a size");
  }
  // vdbench rounds the ends of both areas down to the largest block.
  const int64_t bytes = ReachedBytes(storage, *workload) / largest_block * largest_block;
  const int64_t area = storage.hit_area_bytes / largest_block * largest_block;
  if (area < kBlocksOfAnArea * largest_block || bytes - area < kBlocksOfAnArea * largest_block) {
    return findings->Fail(
        from, absl::StrCat("needs two blocks of ", largest_block,
                           " bytes in the hit area and two behind it, and these have ", area,
                           " and ", bytes - area, " bytes"));
  }
  // Misses never fall into the hit area, which lies in front.
  if (*hits == 0) return LeaveOut(area, from, workload, origins);
  const double size = static_cast<double>(area) / static_cast<double>(bytes);
  v1::HotZones* zones = workload->mutable_pattern()->mutable_hot_zones();
  v1::HotZone* hot = zones->add_zones();
  hot->set_io_ratio(*hits / 100);
  hot->set_size_ratio(size);
  (*origins)["pattern"] = from;
  if (*hits == 100) return;
  v1::HotZone* rest = zones->add_zones();
  rest->set_io_ratio(1 - *hits / 100);
  rest->set_size_ratio(1 - size);
}

}  // namespace

void SetStride(const Parameter& stride, double seek_percent, v1::Workload* workload,
               Findings* findings) {
  const std::vector<std::string> items = ListOf(stride, findings);
  const auto least = items.size() == 2 ? ParseSize(items[0]) : std::nullopt;
  const auto most = items.size() == 2 ? ParseSize(items[1]) : std::nullopt;
  if (!least || !most || *least > *most || *most > kMaxStride) {
    return findings->Fail(stride.where, "is no (min,max) in bytes");
  }
  // A stride replaces the random offset of a seek. Without seeks vdbench never looks at it.
  if (seek_percent == 0) {
    return findings->Remark(stride.where, "has no effect: with this seekpct vdbench never seeks");
  }
  if (seek_percent < 100) {
    return findings->Refuse(stride.where, "a distance that only some of the I/Os keep");
  }
  if (*least != *most) {
    return findings->Refuse(stride.where, "a distance between two I/Os that is drawn at random");
  }
  if (*least % kSectorOfStride != 0) {
    return findings->Fail(stride.where, "is no multiple of 512");
  }
  v1::Sequential* order = workload->mutable_pattern()->mutable_sequential();
  // vdbench counts from the end of an I/O to the begin of the next one, as a skip does.
  order->set_skip_bytes(*least);
  if (*least == 0 && workload->block_sizes().empty()) order->set_shared(true);
}

void SetOffsets(const Statement& run, const Load& load, const Storage& storage,
                v1::Workload* workload, Origins* origins, Findings* findings) {
  const Parameter* sizes = run.Find("forxfersize");
  const Parameter* threads = run.Find("forthreads");
  // vdbench rounds to the largest size of all, also to one that a loop replaces.
  const Extremes most{
      LargestOf(sizes, LargestBlock(*workload), kMaxBlock, findings),
      LargestOf(threads, threads == nullptr ? workload->threads() : 1, kMaxThreads, findings)};
  const Parameter* range = load.range != nullptr ? load.range : storage.range;
  SetRegion(storage, range, most.block_bytes, workload, origins, findings);
  SetHits(load, storage, run, most.block_bytes, workload, origins, findings);
  // A loop over sizes gives all workloads one size at each point.
  const bool is_one_size = workload->block_sizes().empty() || sizes != nullptr;
  CheckStride(load, storage, most, is_one_size, *workload, findings);
}

}  // namespace lockstep::frontends::vdbench
