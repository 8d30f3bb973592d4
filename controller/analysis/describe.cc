#include "controller/analysis/describe.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

std::string Size(int64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); }

std::string OffsetsOf(const v1::Workload& w) {
  const v1::Pattern& p = w.pattern();
  switch (p.kind_case()) {
    case v1::Pattern::kSequential:
      return absl::StrCat("sequential", p.sequential().shared() ? " (shared position)" : "",
                          p.sequential().backwards() ? " backwards" : "",
                          p.sequential().skip_bytes() != 0
                              ? absl::StrCat(" skipping ", Size(p.sequential().skip_bytes()))
                              : "",
                          p.sequential().skip_after_bytes() != 0
                              ? absl::StrCat(" after ", Size(p.sequential().skip_after_bytes()))
                              : "");
    case v1::Pattern::kZipf:
      return absl::StrFormat("zipf %.3g", p.zipf().theta());
    case v1::Pattern::kPareto:
      return absl::StrFormat("pareto %.3g", p.pareto().h());
    case v1::Pattern::kNormal:
      return "normal";
    case v1::Pattern::kHotZones:
      return absl::StrCat("in ", p.hot_zones().zones_size(), " zones");
    case v1::Pattern::kShuffled:
      return "shuffled";
    default:
      break;
  }
  if (w.random_ratio() < 1) {
    return absl::StrFormat("%.4g %% random", 100 * w.random_ratio());
  }
  return "random";
}

std::string Pattern(const v1::Workload& w) {
  const v1::Pattern& p = w.pattern();
  const bool draws = p.has_zipf() || p.has_pareto() || p.has_normal() || p.has_hot_zones();
  // The rest of the I/Os follow the one before.
  return draws && w.random_ratio() < 1
             ? absl::StrFormat("%s, %.4g %% random", OffsetsOf(w), 100 * w.random_ratio())
             : OffsetsOf(w);
}

std::string SequenceOf(const v1::Workload& w) {
  if (!w.has_sequence()) return "";
  return absl::StrCat(", ", w.sequence().length(),
                      w.sequence().order() == v1::SEQUENCE_ORDER_IDENTICAL
                          ? " I/Os at each offset"
                          : " I/Os from each offset on");
}

// "1 GiB" or "25 %"; empty for what is not given.
std::string Amount(int64_t bytes, double share) {
  if (share != 0) return absl::StrFormat("%.4g %%", 100 * share);
  return bytes != 0 ? Size(bytes) : "";
}

std::string RegionText(const v1::Workload& w) {
  const v1::Region& r = w.region();
  const std::string offset = Amount(r.offset_bytes(), r.offset_share_ratio());
  const std::string size = Amount(r.size_bytes(), r.size_share_ratio());
  const std::string increment = Amount(r.increment_bytes(), r.increment_share_ratio());
  if (offset.empty() && size.empty() && increment.empty()) return "";
  return absl::StrCat(
      ", ", size.empty() ? "" : absl::StrCat(size, " "), "from ",
      offset.empty() ? "the start" : offset, " on",
      increment.empty() ? "" : absl::StrCat(", each thread ", increment, " further"));
}

std::string Sizes(const v1::Workload& w) {
  if (!w.access().empty()) {
    // A specification may have many lines, and the summary is a single one.
    return absl::StrCat("access specification of ", w.access_size(), " lines");
  }
  if (w.block_sizes().empty()) return Size(w.block_size_bytes());
  std::vector<std::string> sizes;
  for (const v1::WeightedBlockSize& line : w.block_sizes()) {
    sizes.push_back(line.up_to_bytes() > line.block_size_bytes()
                        ? absl::StrCat(Size(line.block_size_bytes()), "–", Size(line.up_to_bytes()))
                        : Size(line.block_size_bytes()));
  }
  return absl::StrJoin(sizes, "/");
}

std::string Mix(const v1::Workload& w) {
  if (w.has_copy()) return absl::StrCat("copy of ", w.copy().from(), " to ", w.copy().to());
  if (!w.access().empty()) {
    const bool has_priorities =
        std::any_of(w.access().begin(), w.access().end(),
                    [](const v1::AccessLine& line) { return line.has_io_priority(); });
    return has_priorities ? "mixed by line, with priorities" : "mixed by line";
  }
  if (w.read_ratio() >= 1) return "reads";
  // The share of trims is one of what is not read, hence "of the rest".
  const std::string rest = w.trim_ratio() >= 1 ? "trims"
                           : w.trim_ratio() > 0
                               ? absl::StrFormat("%.4g %% of the rest trims", 100 * w.trim_ratio())
                               : "writes";
  if (w.read_ratio() <= 0) return rest;
  return absl::StrFormat("%.4g %% reads%s%s", 100 * w.read_ratio(),
                         w.trim_ratio() > 0 ? absl::StrCat(", ", rest) : "",
                         w.mix() == v1::MIX_EXACT ? " in exact order" : "");
}

void AddLimit(const v1::DirectionLimit& limit, const char* of, std::string* text) {
  if (limit.iops() > 0) {
    absl::StrAppend(text, ", at most ", common::FormatCount(limit.iops()), of, "/s");
  }
  if (limit.throughput_bytes_per_second() > 0) {
    absl::StrAppend(text, ", at most ",
                    common::FormatThroughput(limit.throughput_bytes_per_second()), " of", of);
  }
}

std::string Load(const v1::Workload& w) {
  if (w.has_open_loop()) {
    const v1::OpenLoop& loop = w.open_loop();
    const std::string rate =
        loop.has_measured()
            ? absl::StrFormat("%.4g %% of phase %s", 100 * loop.measured().share_ratio(),
                              loop.measured().phase())
            : absl::StrCat(common::FormatCount(loop.rate_per_second()), "/s");
    // Rate limits and think time cannot follow: they are refused beside an open loop
    // (workload_rules.cc).
    return absl::StrCat(", open loop ", rate,
                        loop.arrival() == v1::ARRIVAL_FIXED ? " (fixed gaps)" : " (poisson)",
                        loop.ramp_to_ratio() != 1
                            ? absl::StrFormat(" changing to %.4g %%", 100 * loop.ramp_to_ratio())
                            : "");
  }
  std::string text;
  if (w.max_iops() > 0) {
    absl::StrAppend(&text, ", at most ", common::FormatCount(w.max_iops()), "/s");
  }
  if (w.max_throughput_bytes_per_second() > 0) {
    absl::StrAppend(&text, ", at most ",
                    common::FormatThroughput(w.max_throughput_bytes_per_second()));
  }
  AddLimit(w.read_limit(), " reads", &text);
  AddLimit(w.write_limit(), " writes", &text);
  if (w.think_time_ns() > 0) {
    absl::StrAppend(&text, ", thinking ",
                    common::FormatDuration(static_cast<double>(w.think_time_ns())));
  }
  return text;
}

// When it runs, if not all the time, and what it ends.
std::string Times(const v1::Workload& w) {
  std::string text;
  if (w.start_delay_ns() > 0) {
    absl::StrAppend(&text, ", from ",
                    common::FormatDuration(static_cast<double>(w.start_delay_ns())), " on");
  }
  if (w.runtime_ns() > 0) {
    absl::StrAppend(&text, ", for ", common::FormatDuration(static_cast<double>(w.runtime_ns())));
  }
  if (w.ends_phase()) absl::StrAppend(&text, ", ends the phase");
  if (w.flow() > 0) absl::StrAppend(&text, ", flow ", w.flow());
  if (w.min_rate().iops() > 0) {
    absl::StrAppend(&text, ", at least ", common::FormatCount(w.min_rate().iops()), "/s");
  }
  if (w.min_rate().throughput_bytes_per_second() > 0) {
    absl::StrAppend(&text, ", at least ",
                    common::FormatThroughput(w.min_rate().throughput_bytes_per_second()));
  }
  return text;
}

std::string Priority(const v1::IoPriority& priority) {
  switch (priority.class_()) {
    case v1::IO_PRIORITY_CLASS_REALTIME:
      return absl::StrCat("realtime ", priority.level());
    case v1::IO_PRIORITY_CLASS_IDLE:
      return "idle";
    default:
      return absl::StrCat("best effort ", priority.level());
  }
}

std::string Sync(const v1::Fsync& f) {
  const char* how = f.mode() == v1::SYNC_MODE_FDATASYNC         ? "fdatasync"
                    : f.mode() == v1::SYNC_MODE_SYNC_FILE_RANGE ? "sync_file_range"
                                                                : "fsync";
  std::string text;
  if (f.every() == 1) absl::StrAppend(&text, ", ", how, " after each write");
  if (f.every() > 1) absl::StrAppend(&text, ", ", how, " every ", f.every(), " writes");
  if (f.every_ios() > 0) absl::StrAppend(&text, ", ", how, " every ", f.every_ios(), " I/Os");
  if (f.shared()) absl::StrAppend(&text, " of all threads");
  if (f.at_end()) absl::StrAppend(&text, ", ", how, " at the end");
  return text;
}

}  // namespace

std::string DescribeWorkload(const v1::Workload& w) {
  std::string text = absl::StrCat(Pattern(w), " ", Sizes(w), " ", Mix(w), ", ", w.threads(),
                                  w.threads() == 1 ? " thread" : " threads", " × depth ",
                                  w.queue_depth(), ", ", w.direct() ? "direct" : "buffered");
  absl::StrAppend(&text, SequenceOf(w), RegionText(w));
  if (w.write_through() == v1::WRITE_THROUGH_SYNC) absl::StrAppend(&text, ", O_SYNC");
  if (w.write_through() == v1::WRITE_THROUGH_DSYNC) absl::StrAppend(&text, ", O_DSYNC");
  absl::StrAppend(&text, Load(w), Times(w), Sync(w.fsync()));
  if (w.has_io_priority()) absl::StrAppend(&text, ", priority ", Priority(w.io_priority()));
  if (w.verify()) absl::StrAppend(&text, ", verified");
  if (w.create()) absl::StrAppend(&text, ", creating files");
  return text;
}

}  // namespace lockstep::controller
