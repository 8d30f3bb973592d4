// The cause is the first of these that holds in the time in which the host was slow: its
// processors' quota, steal, an I/O throttle of its control group, waiting above a device that is
// not busy, an interface at its line rate, a slower device, lost TCP segments, a run queue; each
// clearly more than at the others. Requests under a throttle and segments are counted per phase,
// the rest per interval. Segments are no cause of a part of the phase: nothing tells whether they
// were sent again in it.
//
// Steal, slower devices and a run queue are the cause of a stretch if they are also clearly more
// than in the rest of the phase: what is the same all the time explains no part of it.
//
// A quota is the cause of a stretch if it was used up for a share of the stretch
// (worker/host/control_groups.h says how the share is made), and clearly more than in the rest of
// the phase: a quota that holds a host back all the time explains no part of it. Shares of periods
// do not show how much the load lost in each. A quota that is used up in every period, before and
// in the stretch, is told apart by the time for which processors kept its threads waiting. Of
// workers of earlier versions there is only one count for the phase. It explains a stretch if it is
// large enough for half of it.

#include "controller/analysis/straggler_causes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/io_throttles.h"
#include "controller/analysis/network_limit.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// A host must clearly differ in itself and from its peers: load alone raises some of these figures
// on all hosts alike.
constexpr double kThrottled = 0.05;
constexpr double kSteal = 0.05;
constexpr double kSlower = 1.5;
constexpr double kRetransmits = 0.01;

// A host that was slow for less than this share of the phase was slow in a part of it.
constexpr double kPhaseMajority = 0.75;
// A quota that is known for the whole phase only must have held for so much of the part.
constexpr double kOfStretch = 0.5;
// Beyond the rest of the phase.
constexpr double kMoreThrottled = 1.5;
constexpr double kMoreThanRest = 1.5;

// An I/O whose requests took less than this share of its time waited above the device.
constexpr double kInDevice = 0.5;
// A throttle must have held for this share of the time in which the host was slow.
constexpr double kThrottleHeld = 0.5;

// The known facts about a host's surroundings at some points of its series.
struct Surroundings {
  double steal = 0, run_queue = 0;
  // Of its control groups' quota; the phase's where has_quota_samples is false.
  double throttled = 0;
  double throttled_time = 0;  // seconds per second, over all processors; 0 without samples
  bool has_quota_samples = false;
  double await_ms = 0;          // of its devices' requests
  double latency_ms = 0;        // of its own I/Os: ServiceMs()
  std::optional<LineUse> line;  // the direction of its interfaces nearest to its line rate
};

// The values at these points, as far as the series has them. A point is not known if an interval in
// it did not arrive.
std::vector<double> ValuesAt(const measure::RateSeries& series, const std::vector<size_t>& at) {
  const std::vector<double> points = series.Points();
  std::vector<double> values;
  for (const size_t i : at) {
    if (i < points.size() && !std::isnan(points[i])) values.push_back(points[i]);
  }
  return values;
}

// 0 if none of them is known.
double MeanAt(const measure::RateSeries& series, const std::vector<size_t>& at) {
  const std::vector<double> values = ValuesAt(series, at);
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

// Requests of devices, and the seconds that they took.
struct RequestSums {
  double requests = 0, seconds = 0;

  // Of the points at which both are known.
  void Add(const measure::DeviceRates& rates, const std::vector<size_t>& at) {
    const std::vector<double> counts = rates.requests.Points();
    const std::vector<double> times = rates.request_seconds.Points();
    for (const size_t i : at) {
      if (i >= counts.size() || i >= times.size()) continue;
      if (std::isnan(counts[i]) || std::isnan(times[i])) continue;
      requests += counts[i];
      seconds += times[i];
    }
  }
};

double RatioMs(double seconds, double count) { return count > 0 ? 1e3 * seconds / count : 0; }

Surroundings SurroundingsOf(const PhaseView& view, const v1::PhaseReport& report,
                            const v1::HostReport& host, const std::vector<size_t>& at) {
  Surroundings s;
  const measure::WorkerRates& own = view.series().Of(host.worker_index()).rates;
  s.latency_ms = ServiceMs(view, host, MeanAt(own.iops, at), MeanAt(own.latency_seconds, at));
  s.line = BusiestLineIn(view, report, host.worker_index(), at);
  // A quota is the worker's own, also where another worker samples the kernel for it.
  s.has_quota_samples = view.series().Of(host.worker_index()).quota.samples > 0;
  s.throttled =
      s.has_quota_samples ? std::min(1.0, MeanAt(own.throttled_ratio, at)) : host.throttled_ratio();
  s.throttled_time = MeanAt(own.throttled_time, at);
  std::set<std::string> devices;
  for (const v1::DeviceReport& d : report.devices()) {
    const bool is_of =
        std::find(d.workers().begin(), d.workers().end(), host.worker_index()) != d.workers().end();
    if (is_of && !d.nested()) devices.insert(d.name());
  }
  const measure::RunWorker* self = view.WorkerOf(host.worker_index());
  RequestSums sums;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    // One worker of each kernel samples it. Its points are as long as the host's own.
    const measure::RunWorker* sampler = view.WorkerOf(worker.worker_index);
    if (self == nullptr || sampler == nullptr || sampler->boot_id != self->boot_id) continue;
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    for (const auto& [name, rates] : series.rates.devices) {
      if (devices.contains(name)) sums.Add(rates, at);
    }
    if (series.host.samples == 0) continue;
    s.steal = MeanAt(series.rates.steal_ratio, at);
    s.run_queue = MeanAt(series.rates.run_queue, at);
  }
  s.await_ms = RatioMs(sums.seconds, sums.requests);
  return s;
}

double MedianOfPeers(const std::vector<Surroundings>& peers, double Surroundings::*figure) {
  std::vector<double> values;
  for (const Surroundings& peer : peers) values.push_back(peer.*figure);
  return MedianOf(values);
}

// The median share of their line rates, of the peers that know these; nothing without one.
std::optional<double> LinesOf(const std::vector<Surroundings>& peers) {
  std::vector<double> shares;
  for (const Surroundings& peer : peers) {
    if (peer.line) shares.push_back(peer.line->ratio);
  }
  return shares.empty() ? std::nullopt : std::optional(MedianOf(shares));
}

// A host and what is known of its peers.
struct CauseEvidence {
  const v1::PhaseReport& report;
  const v1::HostReport& self;
  bool direct = true;     // all of its I/O
  DirectTimes times;      // while it was slow
  double slow_share = 1;  // of the phase's time
  // Its rate while it was slow over that of the phase; none if it was slow all the time.
  std::optional<double> slow_rate;
  Surroundings own;     // while it was slow
  Surroundings before;  // all 0 where it was slow from the begin
  bool has_before = false;
  Surroundings rest;  // while it was not slow; all 0 where it was slow all the time
  std::vector<Surroundings> peers;
  std::vector<double> retransmits;  // of the peers
  std::set<std::string> limits_of_peers;
  const v1::PhaseResult* result = nullptr;  // its own; null if there is none
  // The points in which it was slow, from and to seconds after T.
  std::vector<std::pair<double, double>> slow_points;

  double OfPeers(double Surroundings::*figure) const { return MedianOfPeers(peers, figure); }
  // Whether the figure may explain the time in which it was slow: for a part of the phase it must
  // be more than in the rest.
  bool IsOfStretch(double Surroundings::*figure) const {
    return slow_share >= kPhaseMajority || own.*figure > kMoreThanRest * (rest.*figure);
  }
  // ", 2.2 ms before" where that is known.
  std::string Before(double Surroundings::*figure) const {
    return before.*figure > 0
               ? absl::StrCat(", ", common::FormatDuration(1e6 * (before.*figure)), " before")
               : "";
  }
};

// Whether the limit was there in these points of time; true where that is not known.
bool HeldIn(const v1::PhaseResult* result, const std::vector<std::pair<double, double>>& points,
            double interval_seconds, const std::string& limit) {
  if (result == nullptr || points.empty()) return true;
  double held = 0;
  for (const auto& [begin, end] : points) {
    held += HeldShare(*result, limit, interval_seconds, begin, end);
  }
  return held >= kThrottleHeld * static_cast<double>(points.size());
}

CauseEvidence EvidenceOf(const PhaseView& view, const v1::PhaseReport& report, int host,
                         const std::vector<int>& peers, const std::vector<size_t>& slow) {
  const v1::HostReport& self = report.hosts(host);
  CauseEvidence e{.report = report, .self = self, .own = SurroundingsOf(view, report, self, slow)};
  for (const v1::Workload& w : view.load().workloads()) e.direct = e.direct && w.direct();
  // Where it is not known for the phase, nothing says that the requests are those of the I/Os.
  if (DirectTimesOf(view, report, self).await_ms > 0) e.times = {e.own.latency_ms, e.own.await_ms};
  e.result = view.ResultOf(self.worker_index());
  const double step = report.interval_seconds() * std::max(1U, view.series().points_step());
  const double first = view.series().Of(self.worker_index()).first_measured_seconds;
  for (const size_t at : slow) {
    const double begin = first + static_cast<double>(at) * step;
    e.slow_points.emplace_back(begin, begin + step);
  }
  const measure::RateSeries& iops = view.series().Of(self.worker_index()).rates.iops;
  const size_t points = iops.Points().size();
  if (slow.size() < points && self.iops() > 0) {
    e.slow_share = static_cast<double>(slow.size()) / static_cast<double>(points);
    // The points in which it became slow have I/Os from before.
    e.slow_rate = MedianOf(ValuesAt(iops, slow)) / self.iops();
  }
  if (!slow.empty() && slow.front() > 0) {
    std::vector<size_t> before(slow.front());
    std::iota(before.begin(), before.end(), 0);
    e.before = SurroundingsOf(view, report, self, before);
    e.has_before = true;
  }
  std::vector<size_t> rest;
  for (size_t i = 0; i < points; ++i) {
    if (!std::binary_search(slow.begin(), slow.end(), i)) rest.push_back(i);
  }
  if (!rest.empty()) e.rest = SurroundingsOf(view, report, self, rest);
  for (const int p : peers) {
    const v1::HostReport& peer = report.hosts(p);
    e.peers.push_back(SurroundingsOf(view, report, peer, slow));
    e.retransmits.push_back(peer.tcp_retransmit_ratio());
    const v1::PhaseResult* const result = view.ResultOf(peer.worker_index());
    for (const std::string& throttle : peer.throttles()) {
      if (HeldIn(result, e.slow_points, report.interval_seconds(), throttle)) {
        e.limits_of_peers.insert(ThrottleOf(throttle));
      }
    }
  }
  return e;
}

// Whether clearly more threads wait for its processors than on the others.
bool HasRunQueue(const CauseEvidence& e) {
  return e.own.run_queue > 2 && e.own.run_queue > 2 * e.OfPeers(&Surroundings::run_queue) &&
         e.IsOfStretch(&Surroundings::run_queue);
}

std::string RunQueueText(const CauseEvidence& e) {
  return absl::StrFormat("%.1f threads were ready to run on it on average%s, on the others %.1f",
                         e.own.run_queue,
                         e.has_before ? absl::StrFormat(", %.1f before", e.before.run_queue) : "",
                         e.OfPeers(&Surroundings::run_queue));
}

// Whether its quota was used up while it was slow, and clearly more than the others' quotas.
std::optional<Cause> HeldByQuota(const CauseEvidence& e) {
  const bool is_part = e.slow_share < kPhaseMajority;
  const bool is_coarse = is_part && !e.own.has_quota_samples;
  const double least = is_coarse ? std::max(kThrottled, kOfStretch * e.slow_share) : kThrottled;
  if (e.own.throttled <= least || e.own.throttled <= 2 * e.OfPeers(&Surroundings::throttled)) {
    return std::nullopt;
  }
  if (is_part && !is_coarse && e.own.throttled <= kMoreThrottled * e.rest.throttled &&
      e.own.throttled_time <= kMoreThrottled * e.rest.throttled_time) {
    return std::nullopt;
  }
  const std::string sentence = absl::StrFormat(
      "its control group had used up its processor quota for %.0f %% of ", 100 * e.own.throttled);
  if (is_coarse) return Cause{"CPU quota", sentence + "the whole phase's time"};
  if (!e.own.has_quota_samples || e.slow_share == 1) {
    return Cause{"CPU quota", sentence + "the phase's time"};
  }
  return Cause{"CPU quota", absl::StrFormat("%sthis time, and for %.0f %% of the rest of the phase",
                                            sentence, 100 * e.rest.throttled)};
}

// " from 6 to 12 s" for a limit that was there for a part of the phase, as far as that is known.
std::string HeldFromTo(const CauseEvidence& e, const std::string& limit) {
  if (e.result == nullptr || e.slow_share == 1) return "";
  int spans = 0;
  double first = 0, last = 0;
  for (const v1::ThrottleSpan& span : e.result->throttle_spans()) {
    const double begin = static_cast<double>(span.begin_ns()) / 1e9;
    const double end = static_cast<double>(span.end_ns()) / 1e9;
    const bool meets =
        std::any_of(e.slow_points.begin(), e.slow_points.end(),
                    [&](const auto& slow) { return end > slow.first && begin < slow.second; });
    if (span.throttle() != limit || !meets) continue;
    if (spans == 0) first = std::max(0.0, begin);
    last = end;
    ++spans;
  }
  if (spans == 0) return "";
  return absl::StrFormat("%s from %.0f to %.0f s", spans > 1 ? " at times" : "", first, last);
}

// Something keeps it from working.
std::optional<Cause> HeldBack(const CauseEvidence& e) {
  if (auto cause = HeldByQuota(e)) return cause;
  if (e.own.steal > kSteal && e.own.steal > 2 * e.OfPeers(&Surroundings::steal) &&
      e.IsOfStretch(&Surroundings::steal)) {
    return Cause{
        "CPU steal",
        absl::StrFormat(
            "the hypervisor took %.0f %% of its processors' time%s, of the others' %.0f %%",
            100 * e.own.steal,
            e.has_before ? absl::StrFormat(", %.0f %% before", 100 * e.before.steal) : "",
            100 * e.OfPeers(&Surroundings::steal))};
  }
  std::vector<std::string> limits;
  std::string from_to;
  for (const std::string& limit : e.self.throttles()) {
    const bool own_one = !e.limits_of_peers.contains(ThrottleOf(limit));
    if (own_one && IsOnTarget(limit, e.report, e.self.worker_index()) &&
        HeldIn(e.result, e.slow_points, e.report.interval_seconds(), limit) &&
        IsReached(limit, e.report, e.self, e.times, e.slow_rate)) {
      // Several limits may have held at different times.
      from_to = limits.empty() ? HeldFromTo(e, limit) : "";
      limits.push_back(limit);
    }
  }
  if (!limits.empty()) {
    return Cause{
        "I/O throttle",
        absl::StrFormat("its control group is limited%s (%s); its I/Os took %s "
                        "on average, the others' %s",
                        from_to, absl::StrJoin(limits, "; "),
                        common::FormatDuration(1e6 * e.own.latency_ms),
                        common::FormatDuration(1e6 * e.OfPeers(&Surroundings::latency_ms)))};
  }
  const double peer_latency = e.OfPeers(&Surroundings::latency_ms);
  // This only holds for direct I/O: behind the page cache a device's requests are not the I/Os that
  // the threads wait for.
  if (e.direct && e.own.await_ms > 0 && e.own.latency_ms > kSlower * peer_latency &&
      e.own.await_ms < kInDevice * e.own.latency_ms) {
    return Cause{
        "above the device",
        absl::StrFormat("its I/Os took %s on average%s (the others' %s), the requests of the "
                        "device under them %s: they waited above the device, %s",
                        common::FormatDuration(1e6 * e.own.latency_ms),
                        e.Before(&Surroundings::latency_ms),
                        common::FormatDuration(1e6 * peer_latency),
                        common::FormatDuration(1e6 * e.own.await_ms),
                        HasRunQueue(e) ? absl::StrCat("probably for a processor: ", RunQueueText(e))
                                       : "as a throttle, another layer or a lack of processor "
                                         "makes them")};
  }
  return std::nullopt;
}

// The host works with slower devices or links than the others.
std::optional<Cause> Slower(const CauseEvidence& e) {
  // Requests of a device behind a full line take longer, too. The line therefore comes first.
  const std::optional<LineUse>& line = e.own.line;
  const std::optional<double> peer_line = LinesOf(e.peers);
  if (line && line->ratio >= kLineRateReached && peer_line && line->ratio > kSlower * *peer_line) {
    const std::string before =
        e.before.line ? absl::StrFormat(", %.0f %% before", 100 * e.before.line->ratio) : "";
    return Cause{"network", absl::StrFormat("its %s%s, the others' lines were at %.0f %%",
                                            line->text, before, 100 * *peer_line)};
  }
  const double peer_await = e.OfPeers(&Surroundings::await_ms);
  if (e.own.await_ms > kSlower * peer_await && peer_await > 0 &&
      e.IsOfStretch(&Surroundings::await_ms)) {
    return Cause{"device",
                 absl::StrFormat("its device's requests took %s on average%s, the others' %s",
                                 common::FormatDuration(1e6 * e.own.await_ms),
                                 e.Before(&Surroundings::await_ms),
                                 common::FormatDuration(1e6 * peer_await))};
  }
  if (e.slow_share >= kPhaseMajority && e.self.tcp_retransmit_ratio() > kRetransmits &&
      e.self.tcp_retransmit_ratio() > 2 * MedianOf(e.retransmits)) {
    return Cause{
        "network",
        absl::StrFormat("%.1f %% of its TCP segments%s were sent again, of the others' %.1f %%",
                        100 * e.self.tcp_retransmit_ratio(),
                        e.slow_share == 1 ? "" : " in the whole phase",
                        100 * MedianOf(e.retransmits))};
  }
  if (HasRunQueue(e)) return Cause{"run queue", RunQueueText(e)};
  return std::nullopt;
}

}  // namespace

Cause CauseOf(const PhaseView& view, const v1::PhaseReport& report, int host,
              const std::vector<int>& peers, const std::vector<size_t>& slow) {
  const CauseEvidence e = EvidenceOf(view, report, host, peers, slow);
  // A host that is held back also shows longer queues and slower requests. Its quotas and throttles
  // therefore come first, or the symptom would be named as the cause.
  if (auto cause = HeldBack(e)) return *std::move(cause);
  if (auto cause = Slower(e)) return *std::move(cause);
  return {"not known", "nothing that was sampled on it differs from the others enough to tell"};
}

}  // namespace lockstep::controller
