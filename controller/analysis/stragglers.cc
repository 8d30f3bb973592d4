// Which hosts did clearly less than the others, when, and why?
//
// Hosts are compared with those that run the same workloads: with the median of the others,
// interval by interval. A straggler did less than kSlowShare of it in all, and less than kSlowPoint
// in most of the intervals; or less than kHalf in kStretch intervals in a row. Starved is who did
// less than kNothing in two intervals or more, a second at least, while the others did enough to
// notice.
//
// The cause is the first of these that holds over the measured time: its processors' quota, steal,
// an I/O throttle of its control group, waiting above a device that is not busy, a slower device,
// the network, a run queue; each clearly more than at the others.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/devices.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

constexpr double kSlowShare = 0.85;
constexpr double kSlowPoint = 0.90;
constexpr double kMostPoints = 0.75;
constexpr size_t kLeastPoints = 3;
constexpr double kHalf = 0.5;
constexpr size_t kStretch = 5;
constexpr double kNothing = 0.05;
constexpr size_t kStarved = 2;
// I/Os of the others in an interval: fewer may be chance.
constexpr double kEnough = 20;
// A median host with fewer I/Os in an interval tells nothing of it.
constexpr double kThrottled = 0.05;
constexpr double kSteal = 0.05;
constexpr double kSlower = 1.5;
constexpr double kRetransmits = 0.01;

// A host, and the others that do the same.
struct Host {
  int index = 0;                    // in the report
  std::vector<double> own, others;  // IOPS by point; the others' median
  double share = 0;
  std::vector<int> peers;
};

// What a limit says, without the group's name, which may be each host's own.
std::string LimitOf(const std::string& throttle) {
  const size_t colon = throttle.find(": ");
  return colon == std::string::npos ? throttle : throttle.substr(colon + 2);
}

// Whether a limit is of a device that the host's engines work on.
bool IsOnTarget(const std::string& throttle, const v1::PhaseReport& report,
                const std::string& host) {
  bool knows = false;
  for (const v1::DeviceReport& d : report.devices()) {
    if (std::find(d.hosts().begin(), d.hosts().end(), host) == d.hosts().end()) continue;
    knows = true;
    if (absl::StrContains(throttle, absl::StrCat(" ", d.name(), " "))) return true;
  }
  return !knows;
}

// What is known of a host's surroundings over the measured time.
struct Surroundings {
  double steal = 0, run_queue = 0;
  double await_ms = 0;    // of its devices' requests
  double latency_ms = 0;  // of its own I/Os
  double device_queue = 0, engine_queue = 0;
  bool direct = true;
};

std::set<std::string> WorkloadsOf(const v1::HostReport& host) {
  std::set<std::string> names;
  for (const v1::HostWorkloadReport& w : host.workloads()) names.insert(w.name());
  return names;
}

// Hosts whose whole series are there.
bool Comparable(const PhaseView& view, const v1::HostReport& host) {
  return !host.lost() && host.total().operations() + host.errors() > 0 &&
         view.series().Of(host.worker_index()).gaps.empty() &&
         host.iops_by_interval_size() >= static_cast<int>(kLeastPoints);
}

std::vector<Host> Compare(const PhaseView& view, const v1::PhaseReport& report) {
  std::map<std::set<std::string>, std::vector<int>> groups;
  for (int i = 0; i < report.hosts_size(); ++i) {
    if (Comparable(view, report.hosts(i))) groups[WorkloadsOf(report.hosts(i))].push_back(i);
  }
  std::vector<Host> hosts;
  for (const auto& [names, members] : groups) {
    if (members.size() < 2) continue;
    size_t points = SIZE_MAX;
    for (const int m : members) {
      points = std::min(points, static_cast<size_t>(report.hosts(m).iops_by_interval_size()));
    }
    // The median without one of n values lies beside the median of all.
    std::vector<std::vector<double>> sorted(points);
    for (size_t t = 0; t < points; ++t) {
      for (const int m : members) {
        sorted[t].push_back(report.hosts(m).iops_by_interval(static_cast<int>(t)));
      }
      std::sort(sorted[t].begin(), sorted[t].end());
    }
    for (const int m : members) {
      Host host;
      host.index = m;
      for (const int other : members) {
        if (other != m) host.peers.push_back(other);
      }
      double own = 0;
      double others = 0;
      for (size_t t = 0; t < points; ++t) {
        const double value = report.hosts(m).iops_by_interval(static_cast<int>(t));
        const std::vector<double>& all = sorted[t];
        const auto at =
            static_cast<size_t>(std::lower_bound(all.begin(), all.end(), value) - all.begin());
        const auto without = [&](size_t k) { return all[k < at ? k : k + 1]; };
        const size_t left = all.size() - 1;
        const double median =
            left % 2 == 1 ? without(left / 2) : (without(left / 2 - 1) + without(left / 2)) / 2;
        host.own.push_back(value);
        host.others.push_back(median);
        own += value;
        others += median;
      }
      host.share = others > 0 ? own / others : 1;
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

Surroundings SurroundingsOf(const PhaseView& view, const v1::PhaseReport& report,
                            const v1::HostReport& host) {
  Surroundings s;
  const auto is_of = [&](const auto& hosts) {
    return std::find(hosts.begin(), hosts.end(), host.host()) != hosts.end();
  };
  for (const v1::KernelReport& kernel : report.kernels()) {
    if (!is_of(kernel.hosts())) continue;
    s.steal = kernel.steal_ratio();
    s.run_queue = kernel.run_queue_avg();
  }
  double requests = 0;
  for (const v1::DeviceReport& d : report.devices()) {
    if (!is_of(d.hosts())) continue;
    s.await_ms +=
        d.reads_per_second() * d.read_await_ms() + d.writes_per_second() * d.write_await_ms();
    requests += d.reads_per_second() + d.writes_per_second();
    s.device_queue += d.queue_size();
    s.engine_queue += d.engine_queue_size();
  }
  if (requests > 0) s.await_ms /= requests;
  s.latency_ms = host.total().latency_avg_ns() / 1e6;
  for (const v1::Workload& w : view.load().workloads()) s.direct = s.direct && w.direct();
  return s;
}

double MedianOfPeers(const std::vector<Surroundings>& peers, double Surroundings::*figure) {
  std::vector<double> values;
  for (const Surroundings& peer : peers) values.push_back(peer.*figure);
  return MedianOf(values);
}

struct Cause {
  std::string cause, reason;
};

// A host and what is known of its peers.
struct Evidence {
  const v1::PhaseReport& report;
  const v1::HostReport& self;
  Surroundings own;
  std::vector<Surroundings> peers;
  std::vector<double> throttled, retransmits;  // of the peers
  std::set<std::string> limits_of_peers;

  double OfPeers(double Surroundings::*figure) const { return MedianOfPeers(peers, figure); }
};

Evidence EvidenceOf(const PhaseView& view, const v1::PhaseReport& report, const Host& host) {
  const v1::HostReport& self = report.hosts(host.index);
  Evidence e{report, self, SurroundingsOf(view, report, self), {}, {}, {}, {}};
  for (const int p : host.peers) {
    const v1::HostReport& peer = report.hosts(p);
    e.peers.push_back(SurroundingsOf(view, report, peer));
    e.throttled.push_back(peer.throttled_ratio());
    e.retransmits.push_back(peer.tcp_retransmit_ratio());
    for (const std::string& throttle : peer.throttles()) {
      e.limits_of_peers.insert(LimitOf(throttle));
    }
  }
  return e;
}

// Something keeps it from working.
std::optional<Cause> HeldBack(const Evidence& e) {
  if (e.self.throttled_ratio() > kThrottled &&
      e.self.throttled_ratio() > 2 * MedianOf(e.throttled)) {
    return Cause{
        "CPU quota",
        absl::StrFormat("its control group had used up its processor quota in %.0f %% of the "
                        "periods",
                        100 * e.self.throttled_ratio())};
  }
  if (e.own.steal > kSteal && e.own.steal > 2 * e.OfPeers(&Surroundings::steal)) {
    return Cause{"CPU steal",
                 absl::StrFormat("the hypervisor took %.0f %% of its processors' time, of "
                                 "the others' %.0f %%",
                                 100 * e.own.steal, 100 * e.OfPeers(&Surroundings::steal))};
  }
  std::vector<std::string> limits;
  for (const std::string& limit : e.self.throttles()) {
    const bool own_one = !e.limits_of_peers.contains(LimitOf(limit));
    if (own_one && IsOnTarget(limit, e.report, e.self.host())) limits.push_back(limit);
  }
  if (!limits.empty()) {
    return Cause{
        "I/O throttle",
        absl::StrFormat("its control group is limited (%s); its I/Os took %s "
                        "on average, the others' %s",
                        absl::StrJoin(limits, "; "), common::FormatDuration(1e6 * e.own.latency_ms),
                        common::FormatDuration(1e6 * e.OfPeers(&Surroundings::latency_ms)))};
  }
  const double peer_latency = e.OfPeers(&Surroundings::latency_ms);
  if (e.own.direct && e.own.await_ms > 0 && e.own.latency_ms > kSlower * peer_latency &&
      e.own.await_ms < 0.5 * e.own.latency_ms) {
    return Cause{
        "I/O throttle",
        absl::StrFormat("its I/Os took %s on average (the others' %s), the requests of the "
                        "device under them %s: they waited above the device, as a throttle or "
                        "another layer makes them",
                        common::FormatDuration(1e6 * e.own.latency_ms),
                        common::FormatDuration(1e6 * peer_latency),
                        common::FormatDuration(1e6 * e.own.await_ms))};
  }
  return std::nullopt;
}

// What it works with is slower than the others'.
std::optional<Cause> Slower(const Evidence& e) {
  const double peer_await = e.OfPeers(&Surroundings::await_ms);
  if (e.own.await_ms > kSlower * peer_await && peer_await > 0) {
    return Cause{"device",
                 absl::StrFormat("its device's requests took %s on average, the others' %s",
                                 common::FormatDuration(1e6 * e.own.await_ms),
                                 common::FormatDuration(1e6 * peer_await))};
  }
  if (e.self.tcp_retransmit_ratio() > kRetransmits &&
      e.self.tcp_retransmit_ratio() > 2 * MedianOf(e.retransmits)) {
    return Cause{"network", absl::StrFormat("%.1f %% of its TCP segments were sent again, of the "
                                            "others' %.1f %%",
                                            100 * e.self.tcp_retransmit_ratio(),
                                            100 * MedianOf(e.retransmits))};
  }
  const double peer_run_queue = e.OfPeers(&Surroundings::run_queue);
  if (e.own.run_queue > 2 && e.own.run_queue > 2 * peer_run_queue) {
    return Cause{"run queue",
                 absl::StrFormat("%.1f threads were ready to run on it on average, on the "
                                 "others %.1f",
                                 e.own.run_queue, peer_run_queue)};
  }
  return std::nullopt;
}

Cause CauseOf(const PhaseView& view, const v1::PhaseReport& report, const Host& host) {
  const Evidence e = EvidenceOf(view, report, host);
  if (auto cause = HeldBack(e)) return *std::move(cause);
  if (auto cause = Slower(e)) return *std::move(cause);
  return {"not known", "nothing that was sampled on it differs from the others enough to tell"};
}

struct Stretch {
  size_t first = 0, last = 0, points = 0;
};

// The points at which the host did less than `share` of the others' median; of runs of at least
// `least` points only.
Stretch SlowPoints(const Host& host, double share, size_t least) {
  Stretch slow;
  for (size_t t = 0; t < host.own.size();) {
    size_t end = t;
    while (end < host.own.size() && host.own[end] < share * host.others[end]) ++end;
    if (end - t >= least) {
      if (slow.points == 0) slow.first = t;
      slow.last = end - 1;
      slow.points += end - t;
    }
    t = end + 1;
  }
  return slow;
}

void AddStarvations(const Host& host, double begin, double step, v1::PhaseReport* report) {
  constexpr int kMost = 100;
  for (size_t t = 0; t < host.own.size();) {
    size_t end = t;
    double own = 0;
    double others = 0;
    while (end < host.own.size() && host.others[end] * step >= kEnough &&
           host.own[end] < kNothing * host.others[end]) {
      own += host.own[end];
      others += host.others[end];
      ++end;
    }
    const auto points = static_cast<double>(end - t);
    if (end - t >= kStarved && points * step >= 1 && report->starvations_size() < kMost) {
      v1::Starvation* s = report->add_starvations();
      s->set_host(report->hosts(host.index).host());
      s->set_begin_seconds(begin + static_cast<double>(t) * step);
      s->set_end_seconds(begin + static_cast<double>(end) * step);
      s->set_iops(own / points);
      s->set_others_iops(others / points);
    }
    t = end + 1;
  }
}

void AddStragglers(const PhaseView& view, v1::PhaseReport* report) {
  const double step = report->interval_seconds() * std::max(1U, view.series().points_step());
  for (const Host& host : Compare(view, *report)) {
    const double begin =
        view.series().Of(report->hosts(host.index).worker_index()).first_measured_seconds;
    AddStarvations(host, begin, step, report);
    Stretch slow = SlowPoints(host, kSlowPoint, 1);
    const bool throughout =
        host.share < kSlowShare &&
        static_cast<double>(slow.points) >= kMostPoints * static_cast<double>(host.own.size());
    if (!throughout) {
      slow = SlowPoints(host, kHalf, kStretch);
      if (slow.points == 0) continue;
    }
    v1::Straggler* s = report->add_stragglers();
    s->set_host(report->hosts(host.index).host());
    s->set_share(host.share);
    s->set_begin_seconds(begin + static_cast<double>(slow.first) * step);
    s->set_end_seconds(begin + static_cast<double>(slow.last + 1) * step);
    s->set_slow_seconds(static_cast<double>(slow.points) * step);
    const Cause cause = CauseOf(view, *report, host);
    s->set_cause(cause.cause);
    s->set_reason(cause.reason);
  }
}

const RegisterAnalysis kRegistered(order::kStragglers, "stragglers", &AddStragglers);

}  // namespace
}  // namespace lockstep::controller
