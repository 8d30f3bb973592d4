#include "controller/analysis/live_silence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

LiveSilence::LiveSilence(const v1::RunPhase& load, int64_t interval_ns)
    : workloads_(load.workloads().begin(), load.workloads().end()),
      interval_(static_cast<double>(interval_ns) / 1e9) {}

void LiveSilence::Learn(uint32_t worker, const v1::IntervalSample& sample) {
  Host& host = hosts_[worker];
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    const int64_t until = workload.ended_ns() > 0 ? workload.ended_ns() : sample.end_ns();
    host.parts[workload.workload()].runs_until = static_cast<double>(until) / 1e9;
  }
}

void LiveSilence::AddPart(uint32_t worker, const measure::MergedInterval::Part& part) {
  Host& host = hosts_[worker];
  if (host.begin_seconds < 0) host.begin_seconds = part.begin_seconds;
  for (const auto& [workload, operations] : part.workloads) {
    host.parts[workload].ios += static_cast<double>(operations);
  }
  AddIos(part, &host);
  any_ = any_ || part.operations > 0;
  if (part.operations > 0) return;
  host.silences.Add(Nanoseconds(part.begin_seconds),
                    Nanoseconds(part.begin_seconds + part.seconds));
}

void LiveSilence::AddIos(const measure::MergedInterval::Part& part, Host* host) const {
  const auto append = [&](double ios) {
    host->ios.Append(ios);
    ++host->intervals;
    if (host->ios.size() > kMaxPoints) host->ios.Thin();
  };
  // Intervals that did not come leave the later ones where they are.
  if (host->intervals == 0) host->ios_begin_seconds = part.begin_seconds;
  const double due = (part.begin_seconds - host->ios_begin_seconds) / interval_;
  // A host whose clock leaps begins anew: so many points would keep the others waiting.
  if (due - host->intervals > kMaxLostIntervals) {
    host->ios = {};
    host->intervals = 0;
    host->ios_begin_seconds = part.begin_seconds;
  } else {
    while (host->intervals + 0.5 < due) append(std::numeric_limits<double>::quiet_NaN());
  }
  append(static_cast<double>(part.operations));
}

HostIos LiveSilence::HostIosOf(const Host& host) const {
  HostIos ios{host.ios_begin_seconds, interval_ * host.ios.step(), host.ios.Points()};
  for (double& point : ios.ios) point *= host.ios.step();  // the mean of so many intervals
  return ios;
}

void LiveSilence::AddLatencies(const measure::MergedInterval& merged) {
  for (const auto& [of, latencies] : merged.kind_latencies) {
    const auto& [workload, kind] = of;
    const bool pauses = workload < workloads_.size() && LongestThinkNs(workloads_[workload]) > 0;
    if (pauses && measure::IsIo(kind)) latencies_[workload].Add(latencies);
  }
}

SilencePart LiveSilence::SilencePartOf(uint32_t workload, const Part& part) const {
  SilencePart out{.ios = part.ios};
  if (workload >= workloads_.size()) return out;
  const v1::Workload& w = workloads_[workload];
  out.begin_seconds = static_cast<double>(w.start_delay_ns()) / 1e9;
  if (HasOwnEnd(w)) out.end_seconds = part.runs_until;
  out.min_share = LeastShare(w);
  const auto latencies = latencies_.find(workload);
  out.pause_seconds =
      PauseSeconds(w, latencies == latencies_.end() ? 0 : latencies->second.Percentile(50));
  return out;
}

MeanRates LiveSilence::RatesUntil(double end_seconds) const {
  MeanRates rates;
  for (const auto& [worker, host] : hosts_) {
    for (const auto& [workload, part] : host.parts) {
      rates.Add(workload, part.ios,
                ObservedSeconds(SilencePartOf(workload, part), {host.begin_seconds, end_seconds}));
    }
  }
  return rates;
}

// What a host is expected to do of the workload as long as nobody has completed an I/O. Storage
// that is stuck from the start promises nothing, and stands still all the same: only the job's own
// rate makes a silence of some length likely.
double LiveSilence::ExpectedBeforeAny(uint32_t workload) const {
  const v1::Workload& w = workloads_[workload];
  double rate = std::numeric_limits<double>::infinity();
  if (w.open_loop().rate_per_second() > 0) {
    const double last = w.open_loop().has_ramp_to_ratio() ? w.open_loop().ramp_to_ratio() : 1;
    rate = w.open_loop().rate_per_second() * (1 + last) / 2;  // the mean, as of other rates
  }
  if (w.max_iops() > 0) rate = std::min(rate, w.max_iops());
  if (w.max_throughput_bytes_per_second() > 0) {
    rate = std::min(rate, w.max_throughput_bytes_per_second() /
                              static_cast<double>(std::max<int64_t>(1, LargestBlock(w))));
  }
  const auto hosts = std::count_if(hosts_.begin(), hosts_.end(), [&](const auto& host) {
    return host.second.parts.contains(workload);
  });
  return rate / static_cast<double>(std::max<std::ptrdiff_t>(1, hosts));
}

// The length of the host's outage that reaches to this instant; 0 if there is none.
double LiveSilence::SilentSeconds(const Host& host, double end_seconds,
                                  const MeanRates& rates) const {
  std::vector<SilencePart> parts;
  for (const auto& [workload, part] : host.parts) {
    parts.push_back(SilencePartOf(workload, part));
    if (workload >= workloads_.size()) continue;
    parts.back().expected_rate =
        any_ ? rates.Expected(workload, workloads_[workload]) : ExpectedBeforeAny(workload);
  }
  std::vector<SilentSpan> silences;
  for (const auto& [begin_ns, end_ns] : host.silences.spans()) {
    silences.push_back({static_cast<double>(begin_ns) / 1e9, static_cast<double>(end_ns) / 1e9});
  }
  const std::vector<SilentSpan> outages =
      OutagesAmong(silences, parts, {host.begin_seconds, end_seconds}, interval_, HostIosOf(host));
  if (outages.empty() || outages.back().end_seconds < end_seconds - interval_ / 2) return 0;
  return outages.back().seconds();
}

LiveSilence::Found LiveSilence::Add(const measure::MergedInterval& merged) {
  Found found;
  AddLatencies(merged);
  // A drain is a part of an interval, in which the load ends.
  const bool is_drain = merged.interval_class == v1::INTERVAL_CLASS_DRAIN;
  for (const auto& [worker, part] : merged.workers) {
    if (part.seconds <= 0) continue;
    ++found.hosts;
    if (!is_drain) AddPart(worker, part);
  }
  if (is_drain) return found;
  std::optional<MeanRates> rates;  // only where somebody is silent: it takes a look at all hosts
  for (const auto& [worker, part] : merged.workers) {
    if (part.seconds <= 0 || part.operations > 0) continue;
    const Host& host = hosts_[worker];
    if (host.parts.empty()) continue;
    if (!rates) rates = RatesUntil(merged.end_seconds);
    const double seconds = SilentSeconds(host, merged.end_seconds, *rates);
    if (seconds <= 0) continue;
    found.seconds = found.silent == 0 ? seconds : std::min(found.seconds, seconds);
    ++found.silent;
  }
  return found;
}

}  // namespace lockstep::controller
