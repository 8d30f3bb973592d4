#include "controller/core/range_locks.h"

#include <algorithm>
#include <tuple>

#include "common/check.h"

namespace lockstep::controller {
namespace {

bool Before(const ByteRange& a, const ByteRange& b) {
  return std::tie(a.thing, a.begin, a.end) < std::tie(b.thing, b.begin, b.end);
}

}  // namespace

void RangeLocks::Lock(const std::string& run_id, const std::string& worker_id,
                      const std::vector<ByteRange>& ranges) {
  if (ranges.empty()) return;
  // Find() would never meet an empty range: another run could write there.
  LOCKSTEP_CHECK(std::all_of(ranges.begin(), ranges.end(),
                             [](const ByteRange& range) { return range.begin < range.end; }),
                 "an empty range is locked");
  // A worker names its ranges at the inspection, and again whenever it is armed. Equal ones are
  // dropped, or the table would grow with each phase.
  std::vector<ByteRange>& held = ranges_[{run_id, worker_id}];
  held.insert(held.end(), ranges.begin(), ranges.end());
  std::sort(held.begin(), held.end(), Before);
  const auto same = [](const ByteRange& a, const ByteRange& b) {
    return !Before(a, b) && !Before(b, a);
  };
  held.erase(std::unique(held.begin(), held.end(), same), held.end());
  changed_ = true;
}

void RangeLocks::LockAll(const std::string& run_id, const std::string& worker_id,
                         const std::string& host) {
  all_[{run_id, worker_id}] = host;
}

bool RangeLocks::IsFree(const Holder& holder, int64_t now_ns) const {
  const auto lost = lost_.find(holder);
  // While the run lasts its lost worker may take part again, so only the end of the run makes the
  // time count.
  return over_.contains(holder.first) && lost != lost_.end() &&
         safeguards_.Pass(common::Safeguard::kQuarantine, lost->second <= now_ns);
}

void RangeLocks::Reindex() {
  if (!changed_) return;
  index_.clear();
  for (const auto& [holder, held] : ranges_) {
    for (const ByteRange& range : held) {
      // The keys of a std::map stay where they are. Code that erases one sets changed_, so that the
      // index is rebuilt before it is read again.
      index_.push_back({range.thing, range.begin, range.end, &holder});
    }
  }
  std::stable_sort(index_.begin(), index_.end(),
                   [](const Entry& a, const Entry& b) { return a.thing < b.thing; });
  changed_ = false;
}

RangeLocks::Conflict RangeLocks::Find(const std::string& run_id,
                                      const std::vector<ByteRange>& ranges, int64_t now_ns) {
  Reindex();
  // Only writers are kept apart: a job that writes nothing does not wait for anybody.
  for (auto all = all_.begin(); !ranges.empty() && all != all_.end();) {
    if (IsFree(all->first, now_ns)) {
      all = all_.erase(all);
    } else if (all->first.first != run_id) {
      return {all->first.first, all->first.second, 0, all->second};
    } else {
      ++all;
    }
  }
  // Holders whose time has passed are erased after the search: index_ points at their keys.
  std::set<Holder> free;  // lost ones whose time has passed
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& wanted = ranges[i];
    auto entry = std::lower_bound(index_.begin(), index_.end(), wanted.thing,
                                  [](const Entry& e, uint64_t thing) { return e.thing < thing; });
    for (; entry != index_.end() && entry->thing == wanted.thing; ++entry) {
      const Holder& holder = *entry->holder;
      if (holder.first == run_id || entry->begin >= wanted.end || wanted.begin >= entry->end ||
          free.contains(holder)) {
        continue;
      }
      if (!IsFree(holder, now_ns)) return {holder.first, holder.second, i, ""};
      free.insert(holder);
    }
  }
  for (const Holder& holder : free) ranges_.erase(holder);
  changed_ = changed_ || !free.empty();
  return {};
}

void RangeLocks::Lose(const std::string& run_id, const std::string& worker_id, int64_t free_ns) {
  lost_[{run_id, worker_id}] = free_ns;
}

void RangeLocks::Confirm(const std::string& worker_id) {
  for (auto lost = lost_.begin(); lost != lost_.end();) {
    if (lost->first.second != worker_id) {
      ++lost;
      continue;
    }
    // A run that goes on keeps the ranges, since its worker may be given the same targets again.
    // They are then freed with the run.
    if (over_.contains(lost->first.first)) {
      changed_ = ranges_.erase(lost->first) > 0 || changed_;
      all_.erase(lost->first);
    }
    lost = lost_.erase(lost);
  }
}

bool RangeLocks::HoldsAnything(const std::string& run_id) const {
  const auto ranges = ranges_.lower_bound({run_id, ""});
  const auto all = all_.lower_bound({run_id, ""});
  return (ranges != ranges_.end() && ranges->first.first == run_id) ||
         (all != all_.end() && all->first.first == run_id);
}

bool RangeLocks::Holds(const std::string& worker_id, int64_t now_ns) const {
  return std::any_of(lost_.begin(), lost_.end(), [&](const auto& lost) {
    return lost.first.second == worker_id &&
           (lost.second > now_ns || over_.count(lost.first.first) == 0);
  });
}

int64_t RangeLocks::End(const std::string& run_id) {
  over_.insert(run_id);
  int64_t last = 0;
  for (const auto& [holder, free_ns] : lost_) {
    if (holder.first == run_id) last = std::max(last, free_ns);
  }
  changed_ = true;
  for (auto held = ranges_.lower_bound({run_id, ""});
       held != ranges_.end() && held->first.first == run_id;) {
    held = !lost_.contains(held->first) ? ranges_.erase(held) : std::next(held);
  }
  std::erase_if(all_, [&](const auto& all) {
    return all.first.first == run_id && !lost_.contains(all.first);
  });
  LOCKSTEP_CHECK(last != 0 || !HoldsAnything(run_id), "a run that is over holds ranges for ever");
  // over_ is needed only while a lost worker holds something. A controller that runs for months
  // would otherwise collect every run.
  if (last == 0) over_.erase(run_id);
  return last;
}

}  // namespace lockstep::controller
