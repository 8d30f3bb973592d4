#include "measure/rollups.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"

namespace lockstep::measure {

OperationStats RollupTable::Open(const v1::OperationCounters& encoded) {
  const auto delta = OperationDelta::Decode(encoded);
  LOCKSTEP_CHECK(delta.ok(), "a roll-up that was encoded here cannot be read");
  OperationStats stats;
  stats.Add(*delta);
  return stats;
}

void RollupTable::Add(uint32_t workload, int64_t begin_ns, const OperationDelta& delta) {
  // The histogram of an interval cannot be divided, so the whole interval counts where it begins.
  const int64_t begin = begin_ns / kRollupNs * kRollupNs;
  const Key key{workload, delta.kind, begin};
  auto found = open_.find(key);
  if (found == open_.end()) {
    const auto closed = closed_.find(key);
    // Beyond the limit no roll-up is begun, but those that exist still grow: each one that is kept
    // is complete.
    if (closed == closed_.end() && size() >= static_cast<size_t>(limits::kRollupsOfAPhase)) return;
    found =
        open_.emplace(key, closed == closed_.end() ? OperationStats() : Open(closed->second)).first;
    if (closed != closed_.end()) closed_.erase(closed);
  }
  found->second.Add(delta);
  if (begin > newest_ns_) {
    newest_ns_ = begin;
    // An open roll-up has a whole histogram (20 KiB) for each metric. Two spans of ten seconds stay
    // open, since workers deliver at slightly different times.
    CloseBefore(newest_ns_ - kRollupNs);
  }
}

// Workers deliver at about the same time: a sample that comes later than this is the exception, and
// decodes its roll-up again.
void RollupTable::CloseBefore(int64_t begin_ns) {
  for (auto entry = open_.begin(); entry != open_.end();) {
    if (std::get<2>(entry->first) >= begin_ns) {
      ++entry;
      continue;
    }
    closed_[entry->first] = entry->second.Encode(std::get<1>(entry->first));
    entry = open_.erase(entry);
  }
}

std::vector<Rollup> RollupTable::Take() const {
  std::map<Key, v1::OperationCounters> all = closed_;
  for (const auto& [key, stats] : open_) all[key] = stats.Encode(std::get<1>(key));
  std::vector<Rollup> rollups;
  for (const auto& [key, counters] : all) {
    const auto& [workload, kind, begin] = key;
    for (const v1::Histogram& histogram : counters.histograms()) {
      rollups.push_back({workload, kind, histogram.metric(), begin, counters.operations(),
                         counters.bytes(), histogram.buckets()});
    }
  }
  return rollups;
}

}  // namespace lockstep::measure
