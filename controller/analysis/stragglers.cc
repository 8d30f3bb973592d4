// Which hosts did clearly less than the others, when, and why?
//
// Hosts are compared with those that run the same workloads: with the median of the others,
// interval by interval. A straggler did less than kSlowShare of it in all, and less than kSlowPoint
// in most of the intervals; or less than kHalf in kStretch intervals in a row. Starved is who did
// less than kNothing in two intervals or more, a second at least, while the others did enough to
// notice.
//
// A host whose rate is given, by an open loop or a limit, keeps it also when its I/Os take longer.
// It is a straggler by latency: its mean is kSlowLatency times the median of the others, and
// kSlowPointLatency in most intervals, or twice in kStretch intervals in a row.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "controller/analysis/analysis.h"
#include "controller/analysis/straggler_causes.h"

namespace lockstep::controller {
namespace {

constexpr double kSlowShare = 0.85;
constexpr double kSlowPoint = 0.90;
constexpr double kMaxPoints = 0.75;
constexpr size_t kMinPoints = 3;
constexpr double kHalf = 0.5;
// A stall of some seconds hardly changes the share of a long phase. This second rule finds it.
constexpr size_t kStretch = 5;
constexpr double kNothing = 0.05;
constexpr size_t kStarved = 2;
// I/Os of the others in an interval: fewer may be chance.
constexpr double kEnough = 20;

constexpr double kSlowLatency = 1.5;
constexpr double kSlowPointLatency = 1.3;
constexpr double kTwice = 2;

// A figure of a host, point by point, and the median of the others.
struct Beside {
  std::vector<double> own, others;
  // The ratio of the sums; 1 where the others have nothing.
  double Ratio() const {
    const double sum = std::accumulate(others.begin(), others.end(), 0.0);
    return sum > 0 ? std::accumulate(own.begin(), own.end(), 0.0) / sum : 1;
  }
};

// A host, and the others that do the same.
struct Host {
  int index = 0;  // in the report
  Beside iops, latency;
  std::vector<int> peers;
};

std::set<std::string> WorkloadsOf(const v1::HostReport& host) {
  std::set<std::string> names;
  for (const v1::HostWorkloadReport& w : host.workloads()) names.insert(w.name());
  return names;
}

// Hosts whose whole series are there. Points of intervals that a host did not deliver are not
// numbers, and have no place in an order.
bool Comparable(const PhaseView& view, const v1::HostReport& host) {
  // One that stood still all the time is there, unlike one that had nothing to do.
  const bool took_part = host.total().operations() + host.errors() > 0 || host.silent_ratio() > 0;
  return !host.lost() && took_part && view.series().Of(host.worker_index()).gaps.empty() &&
         host.iops_by_interval_size() >= static_cast<int>(kMinPoints) &&
         // One that begins late has no gap, and a first point that is not known.
         !std::isnan(host.iops_by_interval(0));
}

// Mean latency of the I/Os of each point, seconds; 0 where there is none, which is slow for nobody.
std::vector<double> LatenciesOf(const measure::WorkerRates& rates) {
  const std::vector<double> iops = rates.iops.Points();
  std::vector<double> latencies = rates.latency_seconds.Points();
  for (size_t i = 0; i < latencies.size(); ++i) {
    latencies[i] = iops[i] > 0 ? latencies[i] / iops[i] : 0;
  }
  return latencies;
}

// A host is compared with the median of the others. Its own value would hide it: of two hosts, both
// would lie equally far from the common median. One sort for each point serves all members, where a
// sort for each host would cost a thousand times as much with a thousand hosts.
std::vector<Beside> BesideOthers(const std::vector<std::vector<double>>& figures) {
  size_t points = SIZE_MAX;
  for (const std::vector<double>& figure : figures) points = std::min(points, figure.size());
  std::vector<Beside> all(figures.size());
  std::vector<double> sorted;
  for (size_t t = 0; t < points; ++t) {
    sorted.clear();
    for (const std::vector<double>& figure : figures) sorted.push_back(figure[t]);
    std::sort(sorted.begin(), sorted.end());
    for (size_t m = 0; m < figures.size(); ++m) {
      const double value = figures[m][t];
      const auto at = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                          sorted.begin());
      const auto without = [&](size_t k) { return sorted[k < at ? k : k + 1]; };
      const size_t left = sorted.size() - 1;
      all[m].own.push_back(value);
      all[m].others.push_back(left % 2 == 1 ? without(left / 2)
                                            : (without(left / 2 - 1) + without(left / 2)) / 2);
    }
  }
  return all;
}

std::vector<Host> Compare(const PhaseView& view, const v1::PhaseReport& report) {
  std::map<std::set<std::string>, std::vector<int>> groups;
  for (int i = 0; i < report.hosts_size(); ++i) {
    if (Comparable(view, report.hosts(i))) groups[WorkloadsOf(report.hosts(i))].push_back(i);
  }
  std::vector<Host> hosts;
  for (const auto& [names, members] : groups) {
    if (members.size() < 2) continue;
    std::vector<std::vector<double>> iops;
    std::vector<std::vector<double>> latencies;
    for (const int m : members) {
      const auto& points = report.hosts(m).iops_by_interval();
      iops.emplace_back(points.begin(), points.end());
      latencies.push_back(LatenciesOf(view.series().Of(report.hosts(m).worker_index()).rates));
    }
    std::vector<Beside> by_iops = BesideOthers(iops);
    std::vector<Beside> by_latency = BesideOthers(latencies);
    for (size_t i = 0; i < members.size(); ++i) {
      Host host{members[i], std::move(by_iops[i]), std::move(by_latency[i]), members};
      std::erase(host.peers, members[i]);
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

// The points at which the host was slow, ascending.
using Slow = std::vector<size_t>;

// `is_slow` of own and the others' figure; of runs of at least `least` points only.
template <typename IsSlow>
Slow SlowPoints(const Beside& beside, size_t least, IsSlow is_slow) {
  Slow slow;
  for (size_t t = 0; t < beside.own.size();) {
    size_t end = t;
    while (end < beside.own.size() && is_slow(beside.own[end], beside.others[end])) ++end;
    if (end - t >= least) {
      for (size_t i = t; i < end; ++i) slow.push_back(i);
    }
    t = end + 1;
  }
  return slow;
}

bool IsMost(const Slow& slow, const Beside& beside) {
  return static_cast<double>(slow.size()) >= kMaxPoints * static_cast<double>(beside.own.size());
}

// When the host did less than the others; no points where it did not.
Slow SlowByIops(const Host& host) {
  const auto below = [](double share) {
    return [share](double own, double others) { return own < share * others; };
  };
  const Slow slow = SlowPoints(host.iops, 1, below(kSlowPoint));
  // A low share alone could come from one long stall, which the second rule dates more precisely.
  if (host.iops.Ratio() < kSlowShare && IsMost(slow, host.iops)) return slow;
  return SlowPoints(host.iops, kStretch, below(kHalf));
}

// Whether the host did enough I/Os at these points of `step` seconds: the latency of one or two is
// chance.
bool IsEnough(const Host& host, const Slow& slow, double step) {
  double ios = 0;
  for (const size_t t : slow) ios += host.iops.own[t] * step;
  return ios >= kEnough;
}

// When its I/Os took longer than the others'.
Slow SlowByLatency(const Host& host) {
  const auto above = [](double factor) {
    return [factor](double own, double others) { return others > 0 && own > factor * others; };
  };
  const Slow slow = SlowPoints(host.latency, 1, above(kSlowPointLatency));
  if (host.latency.Ratio() > kSlowLatency && IsMost(slow, host.latency)) return slow;
  return SlowPoints(host.latency, kStretch, above(kTwice));
}

// At these points.
double RatioAt(const Beside& beside, const Slow& slow) {
  Beside part;
  for (const size_t t : slow) {
    part.own.push_back(beside.own[t]);
    part.others.push_back(beside.others[t]);
  }
  return part.Ratio();
}

void AddStarvations(const Host& host, double begin, double step, v1::PhaseReport* report) {
  constexpr int kMaxStarvations = 100;
  for (size_t t = 0; t < host.iops.own.size();) {
    size_t end = t;
    double own = 0;
    double others = 0;
    while (end < host.iops.own.size() && host.iops.others[end] * step >= kEnough &&
           host.iops.own[end] < kNothing * host.iops.others[end]) {
      own += host.iops.own[end];
      others += host.iops.others[end];
      ++end;
    }
    const auto points = static_cast<double>(end - t);
    // Intervals may be much shorter than a second, and two of these without an I/O are no
    // starvation.
    if (end - t >= kStarved && points * step >= 1 && report->starvations_size() < kMaxStarvations) {
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
    Slow slow = SlowByIops(host);
    const bool by_latency = slow.empty();
    if (by_latency) slow = SlowByLatency(host);
    if (slow.empty() || (by_latency && !IsEnough(host, slow, step))) continue;
    v1::Straggler* s = report->add_stragglers();
    s->set_host(report->hosts(host.index).host());
    s->set_share(host.iops.Ratio());
    if (by_latency) s->set_latency_ratio(RatioAt(host.latency, slow));
    s->set_begin_seconds(begin + static_cast<double>(slow.front()) * step);
    s->set_end_seconds(begin + static_cast<double>(slow.back() + 1) * step);
    s->set_slow_seconds(static_cast<double>(slow.size()) * step);
    const Cause cause = CauseOf(view, *report, host.index, host.peers, slow);
    s->set_cause(cause.cause);
    s->set_reason(cause.reason);
  }
}

const RegisterAnalysis kStragglersRegistered(order::kStragglers, "stragglers", &AddStragglers);

}  // namespace
}  // namespace lockstep::controller
