#include "controller/plan/selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/copy_rules.h"
#include "controller/plan/direct_blocks.h"
#include "controller/plan/layers.h"
#include "controller/plan/loads.h"
#include "controller/plan/observes.h"
#include "controller/plan/pattern_rules.h"
#include "controller/plan/reservation.h"
#include "controller/plan/space_needs.h"
#include "controller/plan/target_axes.h"
#include "controller/plan/validate.h"
#include "controller/plan/workload_hosts.h"
#include "proto/workload.h"

namespace lockstep::controller {

namespace {

// One piece of a name: a text, or several of which one stands there.
using Choices = std::vector<std::string>;

absl::StatusOr<Choices> ParseRange(const std::string& list, size_t max_names) {
  Choices choices;
  for (const auto& piece : absl::StrSplit(list, ',')) {
    const std::string part(piece);
    const size_t dash = part.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    const bool numbers =
        dash != std::string::npos && part.find_first_not_of("0123456789-") == std::string::npos;
    if (!numbers) {
      choices.push_back(part);
      continue;
    }
    // Two numbers of nine digits and a dash: both fit 32 bits.
    if (dash > 9 || part.size() > 19 || !absl::SimpleAtoi(part.substr(0, dash), &first) ||
        !absl::SimpleAtoi(part.substr(dash + 1), &last) || last < first) {
      return absl::InvalidArgumentError(
          absl::StrCat("'[", common::Printable(list, 60),
                       "]' is not a range as 1-8 or 001-120, of at most 9 digits"));
    }
    // The count is checked before any name is made: 0-999999999 would be a thousand million of
    // them.
    if (uint64_t{last} - first + 1 + choices.size() > max_names) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'[", common::Printable(list, 60), "]' stands for more than ", max_names, " names"));
    }
    for (uint64_t i = first; i <= last; ++i) {
      // The digits of the first number are the width, so that 001-120 keeps its zeros.
      choices.push_back(absl::StrFormat("%0*d", static_cast<int>(dash), i));
    }
  }
  return choices;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostNames(const std::string& text,
                                                         size_t max_names) {
  max_names = std::min<size_t>(max_names, limits::kHostNames);
  if (max_names == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", common::Printable(text, 60),
                                                   "' is one name too many; the maximum is ",
                                                   limits::kHostNames));
  }
  std::vector<Choices> pieces;
  size_t count = 1;
  int ranges = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at);
    const size_t close = open == std::string::npos ? open : text.find(']', open);
    if (close == std::string::npos) {
      // A bracket that is not closed stays in the name, and IsHostName() refuses it below.
      pieces.push_back({text.substr(at)});
      break;
    }
    pieces.push_back({text.substr(at, open - at)});
    // A range of one name does not raise the count, so the number of ranges has a limit of its own.
    if (++ranges > limits::kHostRanges) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", common::Printable(text, 60), "' has more than ", limits::kHostRanges, " ranges"));
    }
    auto choices = ParseRange(text.substr(open + 1, close - open - 1), max_names);
    if (!choices.ok()) return choices.status();
    count *= choices->size();
    if (count > max_names) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", common::Printable(text, 60), "' stands for more than ", max_names, " names"));
    }
    pieces.push_back(*std::move(choices));
    at = close + 1;
  }
  // The product of all pieces. `count` has bounded its size before it is made.
  std::vector<std::string> names = {""};
  for (const Choices& choices : pieces) {
    std::vector<std::string> longer;
    longer.reserve(names.size() * choices.size());
    for (const std::string& name : names) {
      for (const std::string& choice : choices) longer.push_back(name + choice);
    }
    names = std::move(longer);
  }
  for (const std::string& name : names) {
    if (common::IsHostName(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", common::Printable(name, 60),
        "' is not a valid host name (letters, digits, '.', '_' and '-', at most 253)"));
  }
  return names;
}

absl::StatusOr<std::vector<uint32_t>> Select(const v1::HostSelector& selector,
                                             const std::vector<PlanWorker>& workers) {
  std::set<std::string> wanted;
  for (const std::string& text : selector.names()) {
    // Each text may stand only for what the texts before it have left of the limit.
    const auto names = ExpandHostNames(
        text, limits::kHostNames - std::min<size_t>(wanted.size(), limits::kHostNames));
    if (!names.ok()) return names.status();
    wanted.insert(names->begin(), names->end());
  }
  std::vector<uint32_t> chosen;
  std::set<std::string> found;
  for (uint32_t i = 0; i < workers.size(); ++i) {
    const v1::Hello& hello = workers[i].hello;
    if (!wanted.empty() && !wanted.contains(hello.host().name())) continue;
    const bool labelled =
        std::all_of(selector.labels().begin(), selector.labels().end(), [&](const auto& label) {
          const auto has = hello.labels().find(label.first);
          return has != hello.labels().end() && has->second == label.second;
        });
    if (!labelled) continue;
    found.insert(hello.host().name());
    chosen.push_back(i);
  }
  // Workers attach in any order. With a `count` the same hosts must be taken each time, and a
  // worker's slice and seed follow from its place here.
  std::sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t i) {
      return std::pair(workers[i].hello.host().name(), workers[i].hello.worker_id());
    };
    return key(a) < key(b);
  });
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      std::back_inserter(missing));
  if (!missing.empty()) {
    const size_t shown = std::min<size_t>(missing.size(), 8);
    const std::string more =
        missing.size() > shown ? absl::StrCat(" and ", missing.size() - shown, " more") : "";
    return absl::ResourceExhaustedError(absl::StrCat(
        "no worker is attached on ",
        absl::StrJoin(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        more));
  }
  if (chosen.empty() || chosen.size() < selector.count()) {
    std::vector<std::string> names;
    for (uint32_t i : chosen) names.push_back(workers[i].hello.host().name());
    return absl::ResourceExhaustedError(absl::StrCat(
        "the job needs ", std::max<uint32_t>(1, selector.count()),
        selector.count() > 1 ? " hosts, " : " host, ", chosen.size(), " that match are attached",
        names.empty() ? "" : ": ", absl::StrJoin(names, ", "), "; `lockstep hosts` lists all"));
  }
  if (selector.count() != 0) chosen.resize(selector.count());
  return chosen;
}

namespace {

// One job on one fleet: subject by subject.
class FleetChecker {
 public:
  FleetChecker(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
               const StoreLocation& store)
      : job_(job), workers_(workers), store_(store), use_(UseOfTargets(job)) {}

  FleetCheck Run() {
    CheckSynthetic();
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      for (const v1::TargetInspection& found : workers_[w].inspection.targets()) {
        // refused when it came in
        if (found.target() >= static_cast<uint32_t>(job_.targets_size())) continue;
        CheckTarget(w, found);
      }
    }
    const ObserveCheck observes = CheckObserves(job_, workers_);
    for (const std::string& refusal : observes.refusals) Refuse(refusal);
    for (const std::string& warning : observes.warnings) check_.warnings.push_back(warning);
    CheckSharedBytes();
    for (const std::string& problem : HostProblems(job_, workers_)) Refuse(problem);
    CheckStripes();
    for (const std::string& problem : FenceProblems(job_, workers_)) Refuse(problem);
    for (const std::string& problem : CopyProblems(job_, workers_)) Refuse(problem);
    for (const std::string& problem : RegionProblems(job_, workers_)) Refuse(problem);
    for (const std::string& problem : DirectBlockProblems(job_, workers_)) Refuse(problem);
    CheckSpace();
    WarnOfStore();
    return std::move(check_);
  }

 private:
  const v1::Target& TargetOf(const v1::TargetInspection& found) const {
    return job_.targets(static_cast<int>(found.target()));
  }
  // The job file's own name of the target. A sweep that varies it has a target for each variant.
  static const std::string& NameInFile(const v1::Target& target) {
    return target.variant_of().empty() ? target.name() : target.variant_of();
  }
  const std::string& HostOf(uint32_t worker) const { return workers_[worker].hello.host().name(); }

  void Refuse(const std::string& text) {
    constexpr size_t kMaxRefusals = 100;
    if (check_.refusals.size() < kMaxRefusals) check_.refusals.push_back(text);
  }

  // `text` begins with the name of the target.
  void RefuseTarget(uint32_t w, const v1::TargetInspection& found, const std::string& text) {
    check_.refused[{w, found.target()}] = text;
    Refuse(absl::StrCat(HostOf(w), ": ", text));
  }

  void CheckSynthetic() {
    const auto synthetic = std::count_if(workers_.begin(), workers_.end(), [](const PlanWorker& w) {
      return w.inspection.synthetic();
    });
    // A fleet of synthetic workers alone is for trying Lockstep out, and its report says so.
    if (synthetic == 0 || synthetic == static_cast<std::ptrdiff_t>(workers_.size())) return;
    Refuse(absl::StrCat(synthetic, " of ", workers_.size(),
                        " workers are synthetic (--simulate): their figures are made up, and "
                        "cannot be added to real ones; select hosts by name, or by the label "
                        "synthetic: yes"));
  }

  void CheckTarget(uint32_t w, const v1::TargetInspection& found) {
    const PlanWorker& worker = workers_[w];
    const v1::Target& target = TargetOf(found);
    // A target that the worker refuses has no layers, sizes or paths that could be checked.
    if (!found.refused().empty()) {
      return Refuse(absl::StrCat(HostOf(w), ": target ", target.name(), ": ", found.refused()));
    }
    if (!target.variant_of().empty() && found.foreign_files_size() > 0) {
      return RefuseTarget(
          w, found,
          absl::StrCat("target ", target.name(), ": ", found.paths_size() > 0 ? found.paths(0) : "",
                       ": Lockstep did not make all of its files. A sweep makes "
                       "and removes those that it varies; use a path without "
                       "other files"));
    }
    // Device names mean something to one kernel only.
    const std::string& boot_id = worker.hello.host().boot_id();
    // The store's own writes disturb the figures, hence a warning. CheckSpace() refuses files that
    // could fill the store's file system.
    const TargetDevices under = DevicesUnder(worker.inspection, found);
    for (const auto* devices : {&under.top, &under.lower}) {
      for (const std::string& name : *devices) {
        if (store_.device != absl::StrCat(boot_id, "/", name)) continue;
        const std::string& of = NameInFile(target);
        if (warned_.insert(of).second) beside_store_[name].push_back(of);
      }
    }
    WarnOfPageCache(w, found, under);
    if (found.device_name().empty() && !target.has_null() && !worker.inspection.synthetic() &&
        warned_.insert("memory " + NameInFile(target)).second) {
      check_.warnings.push_back(absl::StrCat(
          "target ", NameInFile(target), " has no block device underneath (", found.filesystem(),
          "): memory or a network is measured, and nothing can be cross-checked"));
    }
  }

  // One warning for each device, however many targets lie on it.
  void WarnOfStore() {
    for (const auto& [device, targets] : beside_store_) {
      constexpr size_t kNamed = 3;
      const size_t named = targets.size() > kNamed + 1 ? kNamed : targets.size();
      const auto end = targets.begin() + static_cast<std::ptrdiff_t>(named);
      check_.warnings.push_back(absl::StrCat(
          targets.size() == 1 ? "target " : "targets ", absl::StrJoin(targets.begin(), end, ", "),
          named < targets.size() ? absl::StrCat(" and ", targets.size() - named, " more") : "",
          targets.size() == 1 ? " lies on " : " lie on ", device,
          ", where Lockstep's own store writes too; for figures that count, use another device or "
          "--store"));
    }
  }

  // Warns of a loop device among the layers whose file the kernel caches.
  void WarnOfPageCache(uint32_t w, const v1::TargetInspection& found, const TargetDevices& under) {
    const std::string loop = found.page_cached() ? found.device_name()
                                                 : CachedDeviceAmong(workers_[w].inspection, under);
    const std::string& target = NameInFile(TargetOf(found));
    if (loop.empty() || !warned_.insert("cached " + target).second) return;
    check_.warnings.push_back(absl::StrCat(
        "target ", target, TargetOf(found).has_device() && found.page_cached() ? " is" : " lies on",
        " a loop device without direct I/O (", loop, " on ", HostOf(w),
        "): its file goes through the page cache, and memory is measured with it; losetup "
        "--direct-io=on /dev/",
        loop, " changes that"));
  }

  // Private targets have bytes of their own on each worker, and no two targets of which one is
  // written have bytes in common.
  void CheckSharedBytes() {
    struct Owned {
      ByteRange range;
      uint32_t worker = 0, target = 0;
    };
    std::vector<Owned> all;
    size_t settings = 0;  // the run locks them as well (TargetLocks)
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      for (const v1::TargetInspection& found : workers_[w].inspection.targets()) {
        if (found.target() >= static_cast<uint32_t>(job_.targets_size())) continue;
        const uint32_t target = FirstVariantOf(job_, found.target());
        for (const ByteRange& range : RangesOf(found)) all.push_back({range, w, target});
        settings += static_cast<size_t>(found.settings_ranges_size());
        if (all.size() + settings > static_cast<size_t>(limits::kMaxRangesOfARun)) {
          return Refuse(
              absl::StrCat("the job has more than ", limits::kMaxRangesOfARun,
                           " byte ranges (files, the names by which they are reached, extents "
                           "of disks) over all workers; use fewer files"));
        }
      }
    }
    // After sorting by begin, a range overlaps an earlier one exactly if it begins before the
    // furthest end so far. Comparing all pairs would take hours for the 4 million ranges that are
    // allowed.
    std::sort(all.begin(), all.end(), [](const Owned& a, const Owned& b) {
      return std::tie(a.range.thing, a.range.begin, a.worker, a.target) <
             std::tie(b.range.thing, b.range.begin, b.worker, b.target);
    });
    std::set<std::pair<uint32_t, uint32_t>> said;  // targets
    for (size_t first = 0, end = 0; first < all.size(); first = end) {
      uint64_t reach = 0;
      for (end = first; end < all.size() && all[end].range.thing == all[first].range.thing; ++end) {
        const Owned& here = all[end];
        const bool overlaps = end > first && here.range.begin < reach;
        // The neighbour stands for all earlier ranges that reach here. If one of those conflicts
        // with this range over written bytes, some pair of neighbours conflicts, too. The refusal
        // may then name another pair.
        const Owned& before = all[end > first ? end - 1 : end];
        reach = std::max(end > first ? reach : 0, here.range.end);
        if (!overlaps) continue;
        const v1::Target& a = job_.targets(static_cast<int>(before.target));
        const v1::Target& b = job_.targets(static_cast<int>(here.target));
        if (here.target != before.target) {
          const bool written = use_[here.target].changed() || use_[before.target].changed();
          if (written && said.insert({before.target, here.target}).second) {
            Refuse(absl::StrCat(HostOf(here.worker), ": targets ", a.name(), " and ", b.name(),
                                " are the same bytes under two names",
                                here.worker == before.worker
                                    ? ""
                                    : absl::StrCat(" (with ", HostOf(before.worker), ")"),
                                "; name them once"));
          }
        } else if (here.worker != before.worker && b.sharing() == v1::SHARING_PRIVATE &&
                   said.insert({here.target, here.target}).second) {
          Refuse(absl::StrCat(
              HostOf(here.worker), ": target ", b.name(), ": ", PathOf(here.worker, here.target),
              " is also used by ", HostOf(before.worker),
              "; put {host} or {worker} into the path, or share it with sharing: sliced"));
        }
      }
    }
  }

  void CheckStripes() {
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      for (const v1::TargetInspection& found : workers_[w].inspection.targets()) {
        if (found.target() >= static_cast<uint32_t>(job_.targets_size())) continue;
        const v1::Target& target = TargetOf(found);
        if (target.sharing() != v1::SHARING_INTERLEAVED) continue;
        const auto stripe = static_cast<uint64_t>(std::max<int64_t>(4096, target.stripe_bytes()));
        const uint64_t stripes = found.size_bytes() / stripe / workers_.size();
        if (stripes <= static_cast<uint64_t>(limits::kStripes)) continue;
        return Refuse(absl::StrCat("target ", target.name(), ": has ", stripes,
                                   " stripes for each worker; the maximum is ", limits::kStripes,
                                   "; write a longer stripe"));
      }
    }
  }

  std::string PathOf(uint32_t worker, uint32_t target) const {
    for (const v1::TargetInspection& found : workers_[worker].inspection.targets()) {
      if (found.target() == target && found.paths_size() > 0) return found.paths(0);
    }
    return "";
  }

  // Compares the bytes that all workers will allocate on each file system with those that it has.
  void CheckSpace() {
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      for (const v1::TargetInspection& found : workers_[w].inspection.targets()) {
        const bool is_store = !store_.filesystem_id.empty() &&
                              found.filesystem_id() == store_.filesystem_id &&
                              found.target() < static_cast<uint32_t>(job_.targets_size()) &&
                              use_[found.target()].prepared;
        if (!is_store || (job_.store_filesystem() && store_.may_fill)) continue;
        const std::string text = absl::StrCat(
            "target ", TargetOf(found).name(), ": ", found.paths_size() > 0 ? found.paths(0) : "",
            " lies on the file system of Lockstep's own store, which a full disk would stop. ",
            "Use another one, or allow it in both places: store_filesystem: true in the job",
            job_.store_filesystem() ? " (done)" : "",
            ", and --allow-store-filesystem at the controller", store_.may_fill ? " (done)" : "");
        // Said once, and shown on each host.
        check_.refused[{w, found.target()}] = text;
        if (stored_.insert(TargetOf(found).name()).second) RefuseTarget(w, found, text);
      }
    }
    for (const auto& [id, space] : SpaceNeeds(job_, workers_, use_)) {
      // A full file system stops whatever else writes to it, so a reserve stays free. The absolute
      // limit keeps 5 % of a large one from being wasted.
      constexpr double kReserveShare = 0.05;
      constexpr double kReserveBytes = 1073741824;
      const double reserve = std::min(kReserveShare * space.total, kReserveBytes);
      if (space.needed <= 0) continue;
      check_.spaces[id] = {space.path, space.needed, space.free - reserve};
      if (space.needed + reserve <= space.free) continue;
      Refuse(absl::StrCat(
          *space.hosts.begin(),
          space.hosts.size() > 1 ? absl::StrCat(" and ", space.hosts.size() - 1, " more") : "",
          ": ", space.path, ": all workers together need ", common::FormatSize(space.needed),
          ", its file system has ", common::FormatSize(space.free), " free, of which ",
          common::FormatSize(std::round(reserve)), " stay free"));
    }
  }

  const v1::JobSpec& job_;
  const std::vector<PlanWorker>& workers_;
  const StoreLocation& store_;
  const std::vector<TargetUse> use_;
  FleetCheck check_;
  std::set<std::string> warned_;
  std::map<std::string, std::vector<std::string>> beside_store_;  // targets by device
  std::set<std::string> stored_;
};

}  // namespace

std::vector<ByteRange> RangesOf(const v1::TargetInspection& found) {
  return RangesOf(found.file_ranges(), found.ranges());
}

std::vector<ByteRange> RangesOf(const std::string& file_ranges,
                                const google::protobuf::RepeatedPtrField<v1::ByteRange>& extents) {
  std::vector<ByteRange> ranges;
  // The worker packs 8 bytes for each file in little-endian order (proto/inspection.proto). Reading
  // byte by byte does not depend on the byte order of this machine.
  for (size_t at = 0; at + 8 <= file_ranges.size(); at += 8) {
    ByteRange range;
    for (int byte = 7; byte >= 0; --byte) {
      range.thing =
          range.thing << 8 | static_cast<uint8_t>(file_ranges[at + static_cast<size_t>(byte)]);
    }
    ranges.push_back(range);
  }
  for (const v1::ByteRange& extent : extents) {
    ByteRange range{extent.thing(), extent.begin_bytes(),
                    extent.end_bytes() == 0 ? ~uint64_t{0} : extent.end_bytes()};
    // An empty range holds nothing, and would sort among those of other targets as a conflict.
    if (range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

FleetCheck CheckFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                      const StoreLocation& store) {
  return FleetChecker(job, workers, store).Run();
}

}  // namespace lockstep::controller
