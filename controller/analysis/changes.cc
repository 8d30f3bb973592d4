// Did the level of the load change while it was measured?
//
// A mean over two levels describes neither. IOPS are judged first, then the mean latency, which
// alone changes where the rate is given. Outages are findings of their own: their intervals are
// left out. A load whose rate rises or falls as the job says is not judged.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/level_changes.h"
#include "controller/analysis/outages.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// Smaller ones are the noise of a shared machine.
constexpr double kLeast = 0.2;
constexpr int kMaxInSentence = 3;

bool IsConstant(const PhaseView& view) {
  return std::none_of(view.load().workloads().begin(), view.load().workloads().end(),
                      &HasChangingRate);
}

// The points of the window without those of an outage that some hosts had for a part of the time,
// and where they begin.
struct PhasePoints {
  std::vector<double> seconds, iops, latency_ns;
};

// The points of the hosts that are in the phase's figures. None where their points do not stand
// side by side: a host with a gap has fewer of them.
PhasePoints PhasePointsOf(const PhaseView& view, const v1::PhaseReport& report) {
  PhasePoints points;
  const double step = report.interval_seconds() * std::max(1U, report.intervals_per_point());
  std::vector<double> iops_of_all(static_cast<size_t>(report.iops_by_interval_size()));
  std::vector<double> latency_seconds(iops_of_all.size());
  for (const v1::HostReport& host : report.hosts()) {
    if (host.lost()) continue;
    const measure::WorkerSeries& series = view.series().Of(host.worker_index());
    if (series.MeasuredIos() == 0) continue;
    if (!series.gaps.empty() ||
        series.first_measured_seconds > report.points_begin_seconds() + step / 2) {
      return {};
    }
    const std::vector<double> iops = series.rates.iops.Points();
    const std::vector<double> latencies = series.rates.latency_seconds.Points();
    for (size_t i = 0; i < std::min(iops.size(), iops_of_all.size()); ++i) {
      iops_of_all[i] += iops[i];
      latency_seconds[i] += i < latencies.size() ? latencies[i] : 0;
    }
  }
  std::vector<v1::Outage> outages;
  for (const v1::Outage& outage : report.outages()) {
    if (!CompletedNone(report, outage)) outages.push_back(outage);
  }
  for (int i = 0; i < report.iops_by_interval_size(); ++i) {
    const double begin = report.points_begin_seconds() + i * step;
    // Half an interval: an end within the point still counts, rounding does not.
    if (begin < report.window_begin_seconds() - step / 2 ||
        begin + step > report.window_end_seconds() + step / 2) {
      continue;
    }
    const bool out = std::any_of(outages.begin(), outages.end(), [&](const v1::Outage& outage) {
      return begin + step > outage.begin_seconds() && begin < outage.end_seconds();
    });
    const double iops = iops_of_all[static_cast<size_t>(i)];
    if (out || !(iops > 0)) continue;
    points.seconds.push_back(begin);
    points.iops.push_back(iops);
    points.latency_ns.push_back(1e9 * latency_seconds[static_cast<size_t>(i)] / iops);
  }
  return points;
}

enum class Level { kIops, kMeanLatency };

std::string FigureText(Level level, double value) {
  return level == Level::kIops ? common::FormatCount(value) : common::FormatDuration(value);
}

// "IOPS fell from 742 to 246 at 9 s"
std::string TextOf(Level level, const v1::LevelChange& change) {
  return absl::StrFormat("%s %s from %s to %s at %s s", change.figure(),
                         change.after() < change.before() ? "fell" : "rose",
                         FigureText(level, change.before()), FigureText(level, change.after()),
                         common::FormatDigits(change.at_seconds(), 4));
}

// The changes of one figure: the first one that has any.
struct Changes {
  Level level = Level::kIops;
  std::vector<v1::LevelChange> list;
};

Changes ChangesOf(const PhasePoints& points, double least) {
  const auto of = [&](Level level, const std::vector<double>& series) {
    Changes changes{level, {}};
    for (const ChangeAt& found : LevelChangesIn(series, least)) {
      v1::LevelChange& change = changes.list.emplace_back();
      change.set_figure(level == Level::kIops ? "IOPS" : "mean latency");
      change.set_at_seconds(points.seconds[found.index]);
      change.set_before(found.mean_before);
      change.set_after(found.mean_after);
      change.set_sentence(TextOf(level, change));
    }
    return changes;
  };
  const Changes changes = of(Level::kIops, points.iops);
  return changes.list.empty() ? of(Level::kMeanLatency, points.latency_ns) : changes;
}

void SetSteadyUntil(double at_seconds, const std::string& then, v1::PhaseReport* report) {
  v1::SteadyReport* steady = report->mutable_steady();
  steady->set_steady(false);
  steady->set_changed_at_seconds(at_seconds);
  report->add_remarks(absl::StrFormat(
      "STEADY ONLY UNTIL %s s: the load was steady from %s s on, then %s",
      common::FormatDigits(at_seconds, 4), common::FormatDigits(steady->begin_seconds(), 4), then));
}

// A window that was steady says nothing of what came later.
void HoldSteadyAgainst(const PhaseView& view, const PhasePoints& points, v1::PhaseReport* report) {
  const v1::SteadyReport* steady = &report->steady();
  // A change that the rule allows within its window is allowed later, too.
  for (const v1::LevelChange& change : ChangesOf(points, steady->range_limit()).list) {
    if (change.at_seconds() <= steady->begin_seconds()) continue;
    return SetSteadyUntil(change.at_seconds(), change.sentence(), report);
  }
  // Percentiles, drifts, hosts of their own, the last rounds, and a load that does nothing any more
  // are no changes of the fleet's level, or too short for its test.
  if (view.steady() == nullptr || !view.steady()->departure) return;
  const measure::SteadyState::Verdict::Departure& found = *view.steady()->departure;
  // After the end of a workload of its own the load is another one.
  if (found.end_seconds > report->window_end_seconds() + report->interval_seconds() / 2) return;
  const auto text = [&](double value) {
    return measure::Is(*steady, measure::Unit::kNanoseconds)      ? common::FormatDuration(value)
           : measure::Is(*steady, measure::Unit::kBytesPerSecond) ? common::FormatRate(value)
                                                                  : common::FormatCount(value);
  };
  const std::string host = found.worker ? absl::StrCat(" on ", view.HostOf(*found.worker)) : "";
  if (!(found.mean > 0)) {
    return SetSteadyUntil(found.at_seconds, absl::StrCat("a round", host, " completed no I/O"),
                          report);
  }
  SetSteadyUntil(
      found.at_seconds,
      absl::StrCat(steady->window(), " rounds in a row", host, " had ", steady->figure(), " of ",
                   text(found.mean), " in place of ", text(found.steady_mean), " on average"),
      report);
}

void AddChanges(const PhaseView& view, v1::PhaseReport* report) {
  if (!IsConstant(view)) return;
  const PhasePoints points = PhasePointsOf(view, *report);
  if (report->steady().steady()) HoldSteadyAgainst(view, points, report);
  const auto [level, changes] = ChangesOf(points, kLeast);
  report->mutable_level_changes()->Add(changes.begin(), changes.end());
  // A load that is not steady yet changes, which is why the job waits for it.
  if (changes.empty() || report->has_steady()) return;
  std::string sentence = TextOf(level, changes.front());
  for (size_t i = 1; i < changes.size(); ++i) {
    if (i == kMaxInSentence) {
      absl::StrAppend(&sentence, ", and ", changes.size() - i, " more times");
      break;
    }
    absl::StrAppend(&sentence,
                    absl::StrFormat(", to %s at %s s", FigureText(level, changes[i].after()),
                                    common::FormatDigits(changes[i].at_seconds(), 4)));
  }
  report->add_remarks(sentence + ": figures of the whole phase are means of different states");
}

const RegisterAnalysis kChangesRegistered(order::kChanges, "changes", &AddChanges);

}  // namespace
}  // namespace lockstep::controller
