// Did the level of the load change while it was measured?
//
// A mean over two levels describes neither. IOPS are judged first, then the mean latency, which
// alone changes where the rate is given. Outages are findings of their own: their intervals are
// left out, and other intervals without an I/O are a part of the level, unless threads pause: a
// mean without them is too high where I/Os are rare. A load whose rate rises or falls as the job
// says is not judged. Where a workload begins or ends the load becomes another one as the job says:
// each part between such instants is searched by itself, up to the end of the measured time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/level_changes.h"
#include "controller/plan/loads.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// Smaller ones are the noise of a shared machine.
constexpr double kMinChange = 0.2;
constexpr int kMaxInSentence = 3;

bool IsConstant(const PhaseView& view) {
  return std::none_of(view.load().workloads().begin(), view.load().workloads().end(),
                      &HasChangingRate);
}

double StepOf(const v1::PhaseReport& report) {
  return report.interval_seconds() * std::max(1U, report.intervals_per_point());
}

// The instants at which the load became another one, seconds from T, ascending: a workload began or
// ended on a host, or the load of a host ended.
std::vector<double> TurnsOf(const PhaseView& view, const v1::PhaseReport& report) {
  std::vector<double> turns;
  const double step = StepOf(report);
  if (!(step > 0)) return turns;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    // A lost host is in no point.
    if (!worker.has_result || series.MeasuredIos() == 0) continue;
    const double last = series.last_measured_seconds;
    // The last point of a load is shorter, but its rate is over its own time: from half a step on
    // it counts as a whole one.
    const double points = std::floor((last - report.points_begin_seconds()) / step + 0.5);
    turns.push_back(report.points_begin_seconds() + points * step);
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      turns.push_back(static_cast<double>(view.BeginNs(result.workload())) / 1e9);
      const double ended = static_cast<double>(result.ended_ns()) / 1e9;
      // An end in the host's last point is the end of its load.
      if (ended > 0 && ended < last - step) turns.push_back(ended);
    }
  }
  std::sort(turns.begin(), turns.end());
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  return turns;
}

// Points without those of an outage, and where they begin.
struct PhasePoints {
  struct Figure {
    std::vector<double> seconds, values;

    void Add(double at, double value) {
      seconds.push_back(at);
      values.push_back(value);
    }
  };
  Figure iops, latency_ns;  // a point without an I/O has no latency
};

// IOPS and seconds of latency per second, of the hosts that are in the phase's figures. Not a
// number where one of them did not deliver an interval.
struct FleetRates {
  std::vector<double> iops, latency_seconds;
};

FleetRates FleetRatesOf(const PhaseView& view, const v1::PhaseReport& report) {
  FleetRates rates;
  rates.iops.resize(static_cast<size_t>(report.iops_by_interval_size()));
  rates.latency_seconds.resize(rates.iops.size());
  for (const v1::HostReport& host : report.hosts()) {
    if (host.lost()) continue;
    const measure::WorkerSeries& series = view.series().Of(host.worker_index());
    if (series.MeasuredIos() == 0) continue;
    const double begin = report.points_begin_seconds();
    const std::vector<double> iops = view.PointsOf(series, series.rates.iops, begin);
    const std::vector<double> latencies =
        view.PointsOf(series, series.rates.latency_seconds, begin);
    for (size_t i = 0; i < std::min(iops.size(), rates.iops.size()); ++i) {
      rates.iops[i] += iops[i];
      rates.latency_seconds[i] += i < latencies.size() ? latencies[i] : 0;
    }
  }
  return rates;
}

// The points of each part of the measured time in which the load was the same.
std::vector<PhasePoints> PartsOfPhase(const PhaseView& view, const v1::PhaseReport& report,
                                      const std::vector<double>& turns) {
  std::vector<PhasePoints> parts;
  const double step = StepOf(report);
  const FleetRates rates = FleetRatesOf(view, report);
  const bool pauses =
      std::any_of(view.load().workloads().begin(), view.load().workloads().end(),
                  [](const v1::Workload& workload) { return LongestThinkNs(workload) > 0; });
  std::ptrdiff_t current = -1;
  for (size_t i = 0; i < rates.iops.size(); ++i) {
    const double begin = report.points_begin_seconds() + static_cast<double>(i) * step;
    // A hundredth of a point is rounding, or as good as nothing of it.
    const auto next = std::upper_bound(turns.begin(), turns.end(), begin + step / 100);
    // A part of this point is another load's.
    if (next != turns.end() && *next < begin + step - step / 100) continue;
    const bool out = std::any_of(report.outages().begin(), report.outages().end(),
                                 [&](const v1::Outage& outage) {
                                   return begin + step > outage.begin_seconds() &&
                                          begin < outage.end_seconds() && !outage.completed_none();
                                 });
    // This also leaves out points that are not known.
    if (out || !(pauses ? rates.iops[i] > 0 : rates.iops[i] >= 0)) continue;
    if (next - turns.begin() != current) parts.emplace_back();
    current = next - turns.begin();
    parts.back().iops.Add(begin, rates.iops[i]);
    if (!(rates.iops[i] > 0)) continue;
    parts.back().latency_ns.Add(begin, 1e9 * rates.latency_seconds[i] / rates.iops[i]);
  }
  return parts;
}

enum class Level { kIops, kMeanLatency };

std::string FigureText(Level level, double value) {
  return level == Level::kIops ? common::FormatCount(value) : common::FormatDuration(value);
}

// "fell from 742 to 246 at 9 s"
std::string FellText(Level level, const v1::LevelChange& change) {
  return absl::StrFormat("%s from %s to %s at %s s",
                         change.after() < change.before() ? "fell" : "rose",
                         FigureText(level, change.before()), FigureText(level, change.after()),
                         common::FormatDigits(change.at_seconds(), 4));
}

std::string TextOf(Level level, const v1::LevelChange& change) {
  return absl::StrCat(change.figure(), " ", FellText(level, change));
}

// The changes of one figure: the first one that has any.
struct Changes {
  Level level = Level::kIops;
  std::vector<v1::LevelChange> list;
  std::vector<size_t> parts;  // of the phase, in which they are
};

Changes ChangesOf(const std::vector<PhasePoints>& parts, double step_seconds, double least) {
  const auto of = [&](Level level) {
    Changes changes{level, {}, {}};
    for (size_t part = 0; part < parts.size(); ++part) {
      const bool is_iops = level == Level::kIops;
      const PhasePoints::Figure& points = is_iops ? parts[part].iops : parts[part].latency_ns;
      for (const ChangeAt& found : LevelChangesIn(
               points.values, least, is_iops ? std::optional(step_seconds) : std::nullopt)) {
        v1::LevelChange& change = changes.list.emplace_back();
        change.set_figure(is_iops ? "IOPS" : "mean latency");
        change.set_at_seconds(points.seconds[found.index]);
        change.set_before(found.mean_before);
        change.set_after(found.mean_after);
        change.set_sentence(TextOf(level, change));
        changes.parts.push_back(part);
      }
    }
    return changes;
  };
  Changes changes = of(Level::kIops);
  return changes.list.empty() ? of(Level::kMeanLatency) : changes;
}

void SetSteadyUntil(double at_seconds, const std::string& then, v1::PhaseReport* report) {
  v1::SteadyReport* steady = report->mutable_steady();
  steady->set_steady(false);
  steady->set_changed_at_seconds(at_seconds);
  report->add_remarks(absl::StrFormat(
      "STEADY ONLY UNTIL %s s: the load was steady from %s s on, then %s",
      common::FormatDigits(at_seconds, 4), common::FormatDigits(steady->begin_seconds(), 4), then));
}

// The first turn between the steady window and the end of the rounds that differ from it.
std::optional<double> TurnBefore(const std::vector<double>& turns, const v1::PhaseReport& report,
                                 double end_seconds) {
  // Half an interval: rounds end with intervals, and loads seldom do.
  const double slack = report.interval_seconds() / 2;
  const auto next =
      std::lower_bound(turns.begin(), turns.end(), report.steady().end_seconds() - slack);
  if (next == turns.end() || *next >= end_seconds - slack) return std::nullopt;
  return *next;
}

// The rounds that differ from the steady ones: how many, and their mean.
struct DifferingRounds {
  size_t count = 0;
  double mean = 0;
};

// Those of the window before the turn; nothing if these alone do not differ.
std::optional<DifferingRounds> DifferBefore(double turn, const v1::PhaseReport& report,
                                            const measure::SteadyState::Verdict::Departure& found) {
  const double slack = report.interval_seconds() / 2;
  // What differs first is of another load.
  if (turn <= found.at_seconds + slack) return std::nullopt;
  DifferingRounds before;
  for (const auto& [end_seconds, value] : found.rounds) {
    if (end_seconds > turn + slack) break;
    before.mean += value;
    ++before.count;
  }
  if (before.count == 0) return std::nullopt;
  before.mean /= static_cast<double>(before.count);
  const double least = report.steady().range_limit() * found.steady_mean;
  if (!(std::abs(before.mean - found.steady_mean) > least)) return std::nullopt;
  return before;
}

// A window that was steady says nothing of what came later.
void HoldSteadyAgainst(const PhaseView& view, const std::vector<PhasePoints>& parts,
                       const std::vector<double>& turns, v1::PhaseReport* report) {
  const v1::SteadyReport* steady = &report->steady();
  // A change that the rule allows within its window is allowed later, too.
  for (const v1::LevelChange& change :
       ChangesOf(parts, StepOf(*report), steady->range_limit()).list) {
    if (change.at_seconds() <= steady->begin_seconds()) continue;
    return SetSteadyUntil(change.at_seconds(), change.sentence(), report);
  }
  // Percentiles, drifts, hosts of their own, the last rounds, and a load that does nothing any more
  // are no changes of the fleet's level, or too short for its test.
  if (view.steady() == nullptr || !view.steady()->departure) return;
  const measure::SteadyState::Verdict::Departure& found = *view.steady()->departure;
  // Rounds of another load are no measure of the one that was steady.
  DifferingRounds differing{steady->window(), found.mean};
  const std::optional<double> turn = TurnBefore(turns, *report, found.end_seconds);
  const auto before = turn ? DifferBefore(*turn, *report, found) : std::nullopt;
  if (before) differing = *before;
  if (turn && !before) {
    report->add_remarks(absl::StrFormat(
        "the load was steady until %s s, when a workload began or ended on a host; of what came "
        "later only the level was searched for changes",
        common::FormatDigits(*turn, 4)));
    return;
  }
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
  SetSteadyUntil(found.at_seconds,
                 absl::StrCat(differing.count, differing.count == 1 ? " round" : " rounds in a row",
                              host, " had ", steady->figure(), " of ", text(differing.mean),
                              " in place of ", text(found.steady_mean), " on average"),
                 report);
}

void AddChanges(const PhaseView& view, v1::PhaseReport* report) {
  if (!IsConstant(view)) return;
  const std::vector<double> turns = TurnsOf(view, *report);
  const std::vector<PhasePoints> parts = PartsOfPhase(view, *report, turns);
  if (report->steady().steady()) HoldSteadyAgainst(view, parts, turns, report);
  const Changes changes = ChangesOf(parts, StepOf(*report), kMinChange);
  const std::vector<v1::LevelChange>& list = changes.list;
  report->mutable_level_changes()->Add(list.begin(), list.end());
  // A load that is not steady yet changes, which is why the job waits for it.
  if (list.empty() || report->has_steady()) return;
  std::string sentence = TextOf(changes.level, list.front());
  for (size_t i = 1; i < list.size(); ++i) {
    if (i == kMaxInSentence) {
      absl::StrAppend(&sentence, ", and ", list.size() - i, " more times");
      break;
    }
    // In another part of the phase it does not begin at the level that was there before.
    absl::StrAppend(
        &sentence, ", ",
        changes.parts[i] != changes.parts[i - 1]
            ? FellText(changes.level, list[i])
            : absl::StrFormat("to %s at %s s", FigureText(changes.level, list[i].after()),
                              common::FormatDigits(list[i].at_seconds(), 4)));
  }
  report->add_remarks(sentence + ": figures of the whole phase are means of different states");
}

const RegisterAnalysis kChangesRegistered(order::kChanges, "changes", &AddChanges);

}  // namespace
}  // namespace lockstep::controller
