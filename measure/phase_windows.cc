// In which time did all workloads run, and in which did each?

#include <algorithm>

#include "measure/phase_series.h"

namespace lockstep::measure {

void PhaseSeries::LearnParts(uint32_t worker, const v1::IntervalSample& sample) {
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    // The entry is made without an end, too: ExtendWindows() counts it among the parts that a
    // common interval needs.
    int64_t& end = parts_[{worker, workload.workload()}];
    if (workload.ended_ns() > 0) end = workload.ended_ns();
  }
}

bool PhaseSeries::EndedInRamp(const PartId& id, int64_t ended_ns) const {
  return ended_ns > 0 &&
         static_cast<double>(ended_ns) / 1e9 <= Of(id.worker).first_measured_seconds;
}

// The parts of the compared workers in a measured interval, without those that ended in the ramp
// and those of a worker that has not measured it.
std::vector<PartInterval> PhaseSeries::PartsOf(const Pending& pending) const {
  std::vector<PartInterval> parts;
  for (const uint32_t worker : Compared()) {
    const auto from = pending.parts.find(worker);
    if (from == pending.parts.end() || from->second.interval_class != v1::INTERVAL_CLASS_MEASURED) {
      continue;
    }
    for (auto id = parts_.lower_bound({worker, 0}); id != parts_.end(); ++id) {
      if (id->first.worker != worker) break;
      if (EndedInRamp(id->first, id->second)) continue;
      PartInterval part{.worker = worker,
                        .workload = id->first.workload,
                        .begin_ns = from->second.begin_ns,
                        .end_ns = from->second.end_ns};
      // A part that begins in a later interval begins after this one's end: no time is common then.
      const auto begin = options_.begins.find(part.workload);
      if (begin != options_.begins.end()) part.begin_ns = std::max(part.begin_ns, begin->second);
      // 0 stands for a part that has not ended by itself. A part that ended in an earlier interval
      // gets no time in this one, instead of a negative one.
      part.is_over = id->second != 0 && id->second <= part.end_ns;
      if (part.is_over) part.end_ns = std::max(part.begin_ns, id->second);
      for (const auto& [workload, delta] : from->second.operations) {
        if (workload != part.workload) continue;
        part.kinds.emplace_back(delta.kind, IoSums{delta.counts.operations, delta.counts.bytes});
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

void PhaseSeries::ExtendWindows(const Pending& pending) {
  const std::vector<PartInterval> parts = PartsOf(pending);
  const std::set<uint32_t> compared = Compared();
  // How many parts have a measured time, by workload: an interval that one of them lacks is no
  // common one. A workload without any has an entry, too.
  std::map<uint32_t, size_t> wanted;
  size_t all = 0;
  // parts_ may name workers that are not compared, such as one that was lost. No interval would be
  // common to all if those counted.
  for (const auto& [id, end] : parts_) {
    if (!compared.contains(id.worker)) continue;
    size_t& parts_of = wanted[id.workload];
    if (EndedInRamp(id, end)) continue;
    ++parts_of;
    ++all;
  }
  std::map<uint32_t, std::vector<const PartInterval*>> sets;
  std::vector<const PartInterval*> total;
  for (const PartInterval& part : parts) {
    total.push_back(&part);
    // The only workload's window is the phase's, which WindowOf() falls back on.
    if (wanted.size() > 1) sets[part.workload].push_back(&part);
  }
  if (total.size() == all) window_.Add(total);
  for (const auto& [workload, set] : sets) {
    if (set.size() == wanted[workload]) windows_[workload].Add(set);
  }
  if (wanted.size() < 2) return;
  // Without an entry WindowOf() would give it the time of the others.
  for (const auto& [workload, count] : wanted) {
    if (count == 0) windows_.try_emplace(workload);
  }
}

const CommonWindow& PhaseSeries::WindowOf(uint32_t workload) const {
  const auto found = windows_.find(workload);
  return found == windows_.end() ? window_ : found->second;
}

}  // namespace lockstep::measure
