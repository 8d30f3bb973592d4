// When did hosts that had done I/O complete none, how long, and how soon was the rate back?
//
// An outage is one or more whole intervals without a completion on a host that otherwise completes
// at least kEnoughPerInterval I/Os in each interval: with fewer, an empty interval can be chance. A
// host whose threads pause as the job says, and what comes before a workload's begin or after its
// own end, is not judged.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

// An interval of a Poisson process with this mean is empty once in 20,000.
constexpr double kEnoughPerInterval = 10;
constexpr size_t kMaxOutages = 100;
// The rate before an outage is the mean of so many points.
constexpr size_t kPointsBefore = 5;
constexpr double kBack = 0.95;
// A share of an interval: a shorter one is a part of one.
constexpr double kWhole = 0.99;

struct Silence {
  double begin_seconds, end_seconds;
  uint32_t worker;
};

bool Pauses(const measure::WorkerPhaseData& worker) {
  // Threads that think complete nothing for a while, without any outage.
  return std::any_of(worker.result.threads().begin(), worker.result.threads().end(),
                     [](const v1::ThreadResult& thread) { return thread.think_time_ns() > 0; });
}

// When the first of the worker's workloads ended by itself, from T; infinite where none did.
double FirstEnd(const measure::WorkerPhaseData& worker) {
  double first = std::numeric_limits<double>::infinity();
  for (const v1::WorkloadResult& workload : worker.result.workloads()) {
    if (workload.ended_ns() > 0) {
      first = std::min(first, static_cast<double>(workload.ended_ns()) / 1e9);
    }
  }
  return first;
}

// When the last of the worker's workloads began, from T.
double LastBegin(const PhaseView& view, const measure::WorkerPhaseData& worker) {
  int64_t last = 0;
  for (const v1::WorkloadResult& workload : worker.result.workloads()) {
    last = std::max(last, view.BeginNs(workload.workload()));
  }
  return static_cast<double>(last) / 1e9;
}

std::vector<Silence> SilencesOf(const PhaseView& view, const measure::WorkerPhaseData& worker) {
  std::vector<Silence> silences;
  const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
  if (series.silences.empty()) return silences;
  const double end = FirstEnd(worker);
  const double interval = static_cast<double>(view.phase().phase.interval_ns) / 1e9;
  // A part of the interval in which the last workload begins is silent because the job says so.
  const double begin = std::ceil(LastBegin(view, worker) / interval) * interval;
  double silent = 0;
  for (const auto& [begin_ns, end_ns] : series.silences) {
    const Silence silence{std::max(begin, static_cast<double>(begin_ns) / 1e9),
                          static_cast<double>(end_ns) / 1e9, worker.worker_index};
    // The rest of an interval at a load's end is too short to say anything.
    if (silence.end_seconds - silence.begin_seconds < kWhole * interval) continue;
    // After a workload has ended by itself the load is another one, and may be too small to tell.
    if (silence.end_seconds > end) continue;
    silent += silence.end_seconds - silence.begin_seconds;
    silences.push_back(silence);
  }
  // Over the time that MeasuredIos() is of.
  const double busy = series.measured_seconds - silent;
  const bool enough =
      busy > 0 && static_cast<double>(series.MeasuredIos()) / busy * interval >= kEnoughPerInterval;
  return enough ? silences : std::vector<Silence>();
}

// For how long all judged workers were silent at once. A worker's own silences do not overlap.
double AllSilentSeconds(const std::vector<Silence>& silences, size_t judged) {
  std::vector<std::pair<double, int>> changes;
  for (const Silence& silence : silences) {
    changes.emplace_back(silence.begin_seconds, 1);
    changes.emplace_back(silence.end_seconds, -1);
  }
  std::sort(changes.begin(), changes.end());
  double seconds = 0;
  double since = 0;
  int silent = 0;
  for (const auto& [at, change] : changes) {
    if (silent == static_cast<int>(judged)) seconds += at - since;
    silent += change;
    since = at;
  }
  return seconds;
}

// The silences of all hosts, those that overlap as one.
std::vector<v1::Outage> Join(const PhaseView& view, std::vector<Silence> silences,
                             const std::set<uint32_t>& judged, uint32_t* complete) {
  std::sort(silences.begin(), silences.end(),
            [](const Silence& a, const Silence& b) { return a.begin_seconds < b.begin_seconds; });
  std::vector<v1::Outage> outages;
  std::vector<Silence> joined;  // of the last outage
  const auto close = [&] {
    if (outages.empty()) return;
    std::set<uint32_t> workers;
    for (const Silence& silence : joined) workers.insert(silence.worker);
    v1::Outage& outage = outages.back();
    for (const uint32_t worker : workers) outage.add_hosts(view.HostOf(worker));
    outage.set_hosts_count(static_cast<uint32_t>(workers.size()));
    outage.set_all_hosts_seconds(AllSilentSeconds(joined, judged.size()));
    if (outage.all_hosts_seconds() > 0) ++*complete;
    joined.clear();
  };
  for (const Silence& silence : silences) {
    if (outages.empty() || silence.begin_seconds >= outages.back().end_seconds()) {
      close();
      outages.emplace_back().set_begin_seconds(silence.begin_seconds);
    }
    joined.push_back(silence);
    outages.back().set_end_seconds(std::max(outages.back().end_seconds(), silence.end_seconds));
  }
  close();
  return outages;
}

bool IsWithinOutage(const v1::PhaseReport& report, double seconds) {
  return std::any_of(report.outages().begin(), report.outages().end(), [&](const auto& outage) {
    return seconds > outage.begin_seconds() && seconds < outage.end_seconds();
  });
}

// From the outage's end until the first point of the fleet's series that is back.
std::optional<double> RecoveryOf(const v1::PhaseReport& report, const v1::Outage& outage) {
  const double step = report.interval_seconds() * std::max(1U, report.intervals_per_point());
  const auto& points = report.iops_by_interval();
  if (!(step > 0)) return std::nullopt;
  const auto index = [&](double seconds) {
    return static_cast<int>(std::llround((seconds - report.points_begin_seconds()) / step));
  };
  const int before = index(outage.begin_seconds());
  double sum = 0;
  int counted = 0;
  for (int i = std::min(before, points.size()) - 1; i >= 0; --i) {
    if (counted == static_cast<int>(kPointsBefore)) break;
    const double at = report.points_begin_seconds() + (i + 0.5) * step;
    // An earlier outage is no rate from before.
    if (IsWithinOutage(report, at)) continue;
    sum += points[i];
    ++counted;
  }
  if (counted == 0) return std::nullopt;
  for (int i = std::max(0, index(outage.end_seconds())); i < points.size(); ++i) {
    if (points[i] < kBack * sum / counted) continue;
    return std::max(0.0, report.points_begin_seconds() + i * step - outage.end_seconds());
  }
  return std::nullopt;
}

std::string Times(uint32_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : absl::StrCat(count, " times");
}

std::string Span(double seconds) { return common::FormatDuration(seconds * 1e9); }

// `end_seconds`: of the measured time.
std::string SentenceOf(const v1::PhaseReport& report, const v1::OutageSummary& s,
                       double end_seconds) {
  std::string lengths =
      s.shortest_seconds() == s.longest_seconds()
          ? Span(s.longest_seconds())
          : absl::StrCat(Span(s.shortest_seconds()), " to ", Span(s.longest_seconds()));
  const v1::Outage& first = report.outages(0);
  std::string out = absl::StrCat(
      "NO I/O COMPLETED on ", common::FormatCount(s.hosts()), " of ",
      common::FormatCount(s.of_hosts()), s.of_hosts() == 1 ? " host" : " hosts", " for ", lengths,
      s.count() > 1 ? absl::StrCat(" each, ", Times(s.count())) : "", ", ",
      s.count() > 1 ? "first " : "", "from ", common::FormatDigits(first.begin_seconds(), 4), " s");
  if (s.count() > 1) absl::StrAppend(&out, "; ", Span(s.total_seconds()), " in all");
  if (s.hosts() > 1 && s.total_count() < s.count()) {
    absl::StrAppend(&out, "; ", s.total_count() == 0 ? "never" : Times(s.total_count()),
                    " on all hosts at once");
  }
  // I/Os that completed after the measured time are in no figure of it.
  const bool is_among_them = s.longest_io_ns() >= 1e9 * s.longest_seconds();
  absl::StrAppend(&out, "; the longest I/O ", is_among_them ? "" : "that completed in this time ",
                  "took ", common::FormatDuration(s.longest_io_ns()));
  double slowest = -1;
  int never = 0;
  bool until_the_end = false;
  for (const v1::Outage& outage : report.outages()) {
    if (outage.has_recovery_seconds()) {
      slowest = std::max(slowest, outage.recovery_seconds());
    } else if (outage.end_seconds() >= end_seconds - report.interval_seconds() / 2) {
      until_the_end = true;
    } else if (outage.begin_seconds() > report.points_begin_seconds()) {
      ++never;
    }
  }
  if (until_the_end) {
    absl::StrAppend(
        &out, s.count() > 1 ? "; the last one lasted until the end" : "; it lasted until the end");
  }
  if (never > 0) {
    absl::StrAppend(&out, "; the rate was not back at 95 % of before after ",
                    never == 1 ? "one of them" : absl::StrCat(never, " of them"));
  } else if (slowest >= 0) {
    absl::StrAppend(&out, "; the rate was back at 95 % of before within ",
                    Span(slowest + report.interval_seconds()));
  }
  return out;
}

// `judged`: the hosts whose silences are known.
void AddRatios(const PhaseView& view, const std::vector<Silence>& silences,
               const std::set<uint32_t>& judged, v1::PhaseReport* report) {
  for (v1::HostReport& host : *report->mutable_hosts()) {
    const double measured = view.series().Of(host.worker_index()).measured_seconds;
    if (!judged.contains(host.worker_index()) || !(measured > 0)) continue;
    double silent = 0;
    for (const Silence& silence : silences) {
      if (silence.worker == host.worker_index()) {
        silent += silence.end_seconds - silence.begin_seconds;
      }
    }
    host.set_silent_ratio(silent / measured);
  }
}

void AddOutages(const PhaseView& view, v1::PhaseReport* report) {
  std::vector<Silence> silences;
  std::set<uint32_t> judged;
  std::set<uint32_t> hit;
  double end = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    if (!PhaseView::Worked(worker) || Pauses(worker)) continue;
    judged.insert(worker.worker_index);
    end = std::max(end, view.series().Of(worker.worker_index).last_measured_seconds);
    for (const Silence& silence : SilencesOf(view, worker)) {
      silences.push_back(silence);
      hit.insert(silence.worker);
    }
  }
  AddRatios(view, silences, judged, report);
  if (silences.empty()) return;
  uint32_t complete = 0;
  const std::vector<v1::Outage> outages = Join(view, silences, judged, &complete);
  v1::OutageSummary* summary = report->mutable_outage_summary();
  summary->set_count(static_cast<uint32_t>(outages.size()));
  summary->set_hosts(static_cast<uint32_t>(hit.size()));
  summary->set_of_hosts(static_cast<uint32_t>(judged.size()));
  summary->set_total_count(complete);
  summary->set_longest_io_ns(report->total().latency_max_ns());
  for (const v1::Outage& outage : outages) {
    const double seconds = outage.end_seconds() - outage.begin_seconds();
    summary->set_shortest_seconds(
        summary->total_seconds() == 0 ? seconds : std::min(summary->shortest_seconds(), seconds));
    summary->set_longest_seconds(std::max(summary->longest_seconds(), seconds));
    summary->set_total_seconds(summary->total_seconds() + seconds);
    summary->set_all_hosts_seconds(summary->all_hosts_seconds() + outage.all_hosts_seconds());
    if (static_cast<size_t>(report->outages_size()) == kMaxOutages) continue;
    v1::Outage* out = report->add_outages();
    *out = outage;
    if (const auto recovery = RecoveryOf(*report, outage)) out->set_recovery_seconds(*recovery);
  }
  summary->set_sentence(SentenceOf(*report, *summary, end));
}

const RegisterAnalysis kOutagesRegistered(order::kOutages, "outages", &AddOutages);

}  // namespace
}  // namespace lockstep::controller
