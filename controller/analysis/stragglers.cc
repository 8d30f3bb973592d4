// Which hosts did clearly less than the others, when, and why?
//
// Hosts are compared with those that run the same workloads: with the median of the others,
// interval by interval. A straggler did less than kSlowShare of it in all, and less than kSlowPoint
// in most of the intervals; or less than kHalf in kStretch intervals in a row. Starved is who did
// less than kNothing in two intervals or more, a second at least, while the others did enough to
// notice.

#include <algorithm>
#include <cmath>
#include <map>
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

// A host, and the others that do the same.
struct Host {
  int index = 0;                    // in the report
  std::vector<double> own, others;  // IOPS by point; the others' median
  double share = 0;
  std::vector<int> peers;
};

std::set<std::string> WorkloadsOf(const v1::HostReport& host) {
  std::set<std::string> names;
  for (const v1::HostWorkloadReport& w : host.workloads()) names.insert(w.name());
  return names;
}

// Hosts whose whole series are there. Points have no times of their own: after a gap they would be
// compared with later points of the others.
bool Comparable(const PhaseView& view, const v1::HostReport& host) {
  return !host.lost() && host.total().operations() + host.errors() > 0 &&
         view.series().Of(host.worker_index()).gaps.empty() &&
         host.iops_by_interval_size() >= static_cast<int>(kMinPoints);
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
    // A host is compared with the median of the others. Its own value would hide it: of two hosts,
    // both would lie equally far from the common median. One sort for each point serves all
    // members, where a sort for each host would cost a thousand times as much with a thousand
    // hosts.
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
  constexpr int kMaxStarvations = 100;
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
    Stretch slow = SlowPoints(host, kSlowPoint, 1);
    // A low share alone could come from one long stall, which the second rule dates more precisely.
    const bool throughout =
        host.share < kSlowShare &&
        static_cast<double>(slow.points) >= kMaxPoints * static_cast<double>(host.own.size());
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
    const Cause cause = CauseOf(view, *report, host.index, host.peers);
    s->set_cause(cause.cause);
    s->set_reason(cause.reason);
  }
}

const RegisterAnalysis kStragglersRegistered(order::kStragglers, "stragglers", &AddStragglers);

}  // namespace
}  // namespace lockstep::controller
