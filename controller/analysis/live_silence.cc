#include "controller/analysis/live_silence.h"

#include <algorithm>

#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

// As in a report's outages (outages.cc): with so many I/Os expected, none is no chance.
constexpr double kEnoughExpected = 10;

double FirstBegin(const v1::RunPhase& load) {
  if (load.workloads().empty()) return 0;
  int64_t first = load.workloads(0).start_delay_ns();
  for (const v1::Workload& w : load.workloads()) first = std::min(first, w.start_delay_ns());
  return static_cast<double>(first) / 1e9;
}

}  // namespace

LiveSilence::LiveSilence(const v1::RunPhase& load)
    : pauses_(std::any_of(load.workloads().begin(), load.workloads().end(),
                          [](const v1::Workload& w) { return w.think_time_ns() > 0; })),
      ends_(std::any_of(load.workloads().begin(), load.workloads().end(),
                        [](const v1::Workload& w) { return HasOwnEnd(w); })),
      begins_(FirstBegin(load)) {}

bool LiveSilence::IsSilent(const Host& host, double end_seconds) const {
  // A host that has never completed an I/O may have no workload. If that is so of all hosts, the
  // storage is stuck from the start.
  if (host.operations == 0) return !any_;
  const double rate = static_cast<double>(host.operations) / host.active_seconds;
  return rate * (end_seconds - host.quiet_from) >= kEnoughExpected;
}

// Whether the load had begun when the interval did.
bool LiveSilence::HasBegun(const measure::MergedInterval& merged) const {
  if (begins_ == 0) return true;
  return std::all_of(merged.workers.begin(), merged.workers.end(),
                     [&](const auto& worker) { return worker.second.begin_seconds >= begins_; });
}

LiveSilence::Found LiveSilence::Add(const measure::MergedInterval& merged) {
  Found found;
  // A drain is a part of an interval, in which the load ends.
  const bool is_judged =
      !pauses_ && merged.interval_class != v1::INTERVAL_CLASS_DRAIN && HasBegun(merged);
  for (const auto& [worker, part] : merged.workers) {
    if (part.seconds <= 0) continue;
    ++found.hosts;
    Host& host = hosts_.try_emplace(worker, Host{.quiet_from = begins_}).first->second;
    if (part.operations == 0) continue;
    any_ = true;
    host.operations += part.operations;
    host.active_seconds += part.seconds;
    host.quiet_from = merged.end_seconds;
  }
  if (!is_judged) return found;
  for (const auto& [worker, part] : merged.workers) {
    if (part.seconds <= 0 || part.operations > 0) continue;
    const Host& host = hosts_[worker];
    if (!IsSilent(host, merged.end_seconds)) continue;
    const double seconds = merged.end_seconds - host.quiet_from;
    found.seconds = found.silent == 0 ? seconds : std::min(found.seconds, seconds);
    ++found.silent;
  }
  if (ends_ && found.silent < found.hosts) found.silent = 0;
  if (found.silent == 0) found.seconds = 0;
  return found;
}

}  // namespace lockstep::controller
