#include "controller/plan/pattern_rules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/assign.h"
#include "controller/plan/target_rules.h"
#include "controller/plan/workload_problems.h"
#include "proto/region.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSectorBytes = 512;

bool IsOneSize(const v1::Workload& w) { return w.access().empty() && w.block_sizes().empty(); }

bool TakesTurns(const v1::Workload& w) {
  return w.file_order() == v1::FILE_ORDER_ROUND_ROBIN || w.file_order() == v1::FILE_ORDER_RANDOM;
}

bool HasIncrement(const v1::Region& region) {
  return region.increment_bytes() != 0 || region.increment_share_ratio() != 0;
}

// The reason why the region of one of the workload's threads does not fit a part of so many bytes;
// empty if it does. The last thread's region reaches furthest.
std::string RegionProblem(const v1::Workload& w, uint64_t part_bytes) {
  const uint32_t last = HasIncrement(w.region()) ? std::max(1U, w.threads()) - 1 : 0;
  const auto region =
      v1::RegionOf(w.region(), part_bytes, last, static_cast<uint64_t>(SmallestBlock(w)));
  if (!region.ok()) return std::string(region.status().message());
  if (region->end - region->begin >= static_cast<uint64_t>(LargestBlock(w))) return "";
  return absl::StrCat("the region has ", region->end - region->begin,
                      " bytes, which hold no block of ", common::FormatSize(LargestBlock(w)));
}

class PatternRules {
 public:
  PatternRules(const v1::JobSpec& job, const TargetIndex& targets, const v1::Workload& w,
               const Complain& complain)
      : job_(job), targets_(targets), w_(w), add_(complain) {}

  void Check() {
    CheckOrder();
    CheckSequential();
    if (w_.has_sequence()) CheckSequence();
    if (w_.has_region()) CheckRegion();
  }

 private:
  void CheckOrder() {
    if (w_.read_ratio() < 0 || w_.read_ratio() > 1) add_(".read", "must lie between 0 and 100%");
    if (w_.trim_ratio() < 0 || w_.trim_ratio() > 1) add_(".trim", "must lie between 0 and 100%");
    const v1::Pattern& p = w_.pattern();
    if (p.has_shuffled() && !IsOneSize(w_)) {
      add_(".pattern", "shuffled needs one block size: every block once");
    }
    // The shared position counts blocks, which must be of one size for that.
    if (p.sequential().shared() && (!IsOneSize(w_) || w_.merge() > 1)) {
      add_(".pattern", "a shared sequential position needs one block size, and no merging");
    }
    if (w_.random_ratio() < 1 && (p.has_sequential() || p.has_shuffled())) {
      add_(".random", "mixes sequential I/Os into a random pattern; this one is not");
    }
    if (p.has_hot_zones()) CheckZones(p.hot_zones());
  }

  void CheckZones(const v1::HotZones& zones) {
    double io = 0;
    double size = 0;
    for (int i = 0; i < zones.zones_size(); ++i) {
      const v1::HotZone& zone = zones.zones(i);
      io += zone.io_ratio();
      size += zone.size_ratio();
      if (zone.io_ratio() > 0 && zone.size_ratio() == 0) {
        add_(absl::StrCat(".pattern.hot_zones.zones[", i, "].size"),
             "is 0%, but the zone has I/Os");
      }
    }
    if (zones.zones().empty()) add_(".pattern.hot_zones.zones", "is empty");
    // Shares are decimal fractions: ten of 10 % do not add up to exactly 1 in binary.
    if (!zones.zones().empty() && std::abs(io - 1) > 1e-6) {
      add_(".pattern.hot_zones.zones",
           absl::StrCat("their shares of I/O add up to ", 100 * io, "%, not 100%"));
    }
    // Zones may cover less than the target. No I/O reaches the rest then.
    if (size > 1 + 1e-6) {
      add_(".pattern.hot_zones.zones",
           absl::StrCat("their sizes add up to ", 100 * size, "% of the target"));
    }
  }

  // Skips and the way backwards count blocks of one size on files that follow one another.
  void CheckSequential() {
    const v1::Sequential& p = w_.pattern().sequential();
    CheckSkipAfter(p);
    if (p.skip_bytes() == 0 && !p.backwards()) return;
    const std::string field =
        absl::StrCat(".pattern.sequential.", p.backwards() ? "backwards" : "skip");
    if (p.shared()) add_(field, "is for threads with parts of their own; leave shared out");
    CheckPlain(field);
    if (p.skip_bytes() == 0) return;
    CheckSkip(p);
    CheckFiles();
  }

  // Only offsets matter, which skip_after and skip decide together.
  void CheckSkip(const v1::Sequential& p) {
    const bool has_after = p.skip_after_bytes() != 0;
    const std::string field =
        absl::StrCat(".pattern.sequential.", has_after ? "skip_after" : "skip");
    const std::string what = has_after ? "and skip together are not" : "is not";
    const int64_t bytes = v1::SkipSpanOf(p);
    if (w_.direct() && bytes % kSectorBytes != 0) {
      add_(field, absl::StrCat(what, " a multiple of 512, which O_DIRECT requires"));
    }
    if (w_.verify() && w_.block_size_bytes() > 0 && bytes % w_.block_size_bytes() != 0) {
      add_(field, absl::StrCat(what, " a multiple of the block size, ",
                               common::FormatSize(w_.block_size_bytes()),
                               ": verified blocks begin at multiples of it"));
    }
  }

  void CheckSkipAfter(const v1::Sequential& p) {
    const std::string field = ".pattern.sequential.skip_after";
    const int64_t bytes = p.skip_after_bytes();
    if (bytes == 0) return;
    if (p.skip_bytes() == 0) return add_(field, "says nothing without a skip");
    if (bytes < w_.block_size_bytes()) {
      add_(field, absl::StrCat("holds no block of ", common::FormatSize(w_.block_size_bytes())));
    }
  }

  // The I/Os that fit into so many bytes.
  uint64_t OffsetsIn(uint64_t bytes) const {
    const v1::Sequential& p = w_.pattern().sequential();
    const auto block = static_cast<uint64_t>(std::max<int64_t>(1, w_.block_size_bytes()));
    const auto skip = static_cast<uint64_t>(p.skip_bytes());
    const auto after = static_cast<uint64_t>(p.skip_after_bytes());
    // CheckSkipAfter() refuses a skip_after of less than a block, but for 0: a skip after each
    // block.
    if (after < block) return (bytes - block) / (block + skip) + 1;
    return bytes / (after + skip) * (after / block) +
           std::min(bytes % (after + skip), after) / block;
  }

  // A thread whose part has one place would do all of its I/O there. If the workers alone know the
  // size of a target, they refuse it.
  void CheckFiles() {
    const auto block = static_cast<uint64_t>(std::max<int64_t>(1, w_.block_size_bytes()));
    uint64_t places = 0;
    int known = 0;
    ForEachKnownPart([&](const v1::Target& target, uint64_t part) {
      ++known;
      const auto region = v1::RegionOf(w_.region(), part, 0, block);
      if (!region.ok()) return;
      const uint64_t files = std::max(1U, target.file().count());
      places += files * OffsetsIn(region->end - region->begin);
    });
    // With an increment each thread has a region of its own. Without one the threads share this
    // one.
    const uint64_t sharers = HasIncrement(w_.region()) ? 1 : std::max(1U, w_.threads());
    if (known != w_.targets_size() || places >= 2 * sharers) return;
    add_(".pattern.sequential.skip",
         absl::StrCat("leaves ", places, " offsets for ", sharers,
                      sharers == 1 ? " thread" : " threads", "; each needs at least two"));
  }

  void CheckSequence() {
    const v1::Pattern& p = w_.pattern();
    // The field's own range does not apply to a length that is not there.
    if (w_.sequence().length() == 0) {
      add_(".sequence.length", "is missing; a sequence has at least two I/Os");
    }
    if (p.has_sequential() || p.has_shuffled()) {
      add_(".sequence", "follows offsets that are drawn: it needs another pattern");
    }
    if (w_.random_ratio() < 1) add_(".sequence", "and random do not go together; leave one out");
    CheckPlain(".sequence");
  }

  void CheckPlain(const std::string& field) {
    if (!IsOneSize(w_)) add_(field, "needs one block size");
    if (w_.merge() > 1) add_(field, "and merge do not go together; leave one out");
    if (TakesTurns(w_)) add_(field, "takes files one after the other; leave file_order out");
    if (w_.create()) add_(field, "needs files that are there: create begins with empty ones");
    if (w_.has_copy()) add_(field, "is not for copies, which visit each block once");
  }

  void CheckRegion() {
    const v1::Region& r = w_.region();
    const auto both = [&](int64_t bytes, double share, const std::string& name) {
      if (bytes == 0 || share == 0) return;
      add_(absl::StrCat(".region.", name),
           absl::StrCat("stands beside ", name, "_share; give one"));
    };
    both(r.offset_bytes(), r.offset_share_ratio(), "offset");
    both(r.size_bytes(), r.size_share_ratio(), "size");
    both(r.increment_bytes(), r.increment_share_ratio(), "increment");
    for (const auto& [name, bytes] :
         {std::pair("offset", r.offset_bytes()), {"increment", r.increment_bytes()}}) {
      if (w_.direct() && bytes % kSectorBytes != 0) {
        add_(absl::StrCat(".region.", name), "is not a multiple of 512, which O_DIRECT requires");
      } else if (w_.verify() && w_.block_size_bytes() > 0 && bytes % w_.block_size_bytes() != 0) {
        add_(absl::StrCat(".region.", name),
             absl::StrCat("is not a multiple of the block size, ",
                          common::FormatSize(w_.block_size_bytes()),
                          ": verified blocks begin at multiples of it"));
      }
    }
    if (HasIncrement(r) && w_.pattern().sequential().shared()) {
      add_(".region.increment", "gives each thread a region; a shared position has one for all");
    }
    if (w_.create()) add_(".region", "needs files that are there: create begins with empty ones");
    if (w_.has_copy()) add_(".region", "is not for copies; give the source a smaller size");
    for (int i = 0; i < w_.targets_size(); ++i) {
      const int index = targets_.Find(w_.targets(i));
      if (index >= 0) CheckPart(absl::StrCat(".targets[", i, "]"), job_.targets(index));
    }
    ForEachKnownPart([&](const v1::Target& target, uint64_t part) {
      const std::string problem = RegionProblem(w_, part);
      if (problem.empty()) return;
      add_(".region",
           absl::StrCat(target.has_file() ? "a file of '" : "'", target.name(), "': ", problem));
    });
  }

  // A host's part of a file or device must be one piece for a region to lie in it.
  void CheckPart(const std::string& field, const v1::Target& target) {
    if (target.sharing() == v1::SHARING_INTERLEAVED) {
      add_(field, absl::StrCat("'", target.name(),
                               "' is interleaved: a region lies in one piece of a target, and a "
                               "host has many stripes of it"));
    }
    if (target.sharing() == v1::SHARING_SLICED && target.file().count() > 1) {
      add_(field, absl::StrCat("'", target.name(),
                               "' has files that are cut into slices together; a region needs "
                               "files that are private, overlapped or owned"));
    }
  }

  // Parts whose size the job says: files and null targets that are not cut into slices.
  void ForEachKnownPart(const std::function<void(const v1::Target&, uint64_t)>& take) const {
    for (const std::string& name : w_.targets()) {
      const int index = targets_.Find(name);
      if (index < 0) continue;
      const v1::Target& target = job_.targets(index);
      const int64_t size = KnownSizeOf(target);
      const bool is_cut =
          target.sharing() == v1::SHARING_SLICED || target.sharing() == v1::SHARING_INTERLEAVED;
      if (is_cut || size == INT64_MAX) continue;
      take(target, static_cast<uint64_t>(size));
    }
  }

  const v1::JobSpec& job_;
  const TargetIndex& targets_;
  const v1::Workload& w_;
  const Complain& add_;
};

// Bytes of a target that are one worker's.
uint64_t PartOf(const v1::Target& target, const PlanWorker& worker, uint32_t index,
                uint64_t workers) {
  if (target.has_file() && target.sharing() != v1::SHARING_SLICED) {
    return static_cast<uint64_t>(target.file().size_bytes());
  }
  const uint64_t bytes = TargetBytes(target, worker, index);
  return target.sharing() == v1::SHARING_SLICED ? SliceBytes(bytes, workers) : bytes;
}

}  // namespace

void CheckPattern(const v1::JobSpec& job, const TargetIndex& targets, const v1::Workload& workload,
                  const Complain& complain) {
  PatternRules(job, targets, workload, complain).Check();
}

std::vector<std::string> RegionProblems(const v1::JobSpec& job,
                                        const std::vector<PlanWorker>& workers) {
  const auto may_have_region = [](const v1::PhaseSpec& phase) {
    const auto& workloads = phase.run().workloads();
    return phase.run().has_sweep() ||
           std::any_of(workloads.begin(), workloads.end(),
                       [](const v1::Workload& w) { return w.has_region(); });
  };
  const auto find = [&](const WorkloadOnWorker& on, const AddProblem& add) {
    if (!on.workload.has_region()) return;
    for (const std::string& name : on.workload.targets()) {
      const int index = on.targets.Find(name);
      if (index < 0) continue;
      const uint64_t part =
          PartOf(job.targets(index), on.worker, static_cast<uint32_t>(index), workers.size());
      if (part == 0) continue;  // not known
      const std::string problem = RegionProblem(on.workload, part);
      if (!problem.empty()) add(absl::StrCat(", target ", name, ": ", problem));
    }
  };
  return ProblemsOnWorkers(job, workers, may_have_region, find);
}

}  // namespace lockstep::controller
