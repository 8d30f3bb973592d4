// When did hosts with a workload complete no I/O, how long, and how soon was the rate back?
//
// silence_rule.h says which silences are outages. A host that completed nothing of a workload in
// the measured time is judged by its own ramp, and where it did nothing then, either, by what the
// others did.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/silence_rule.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

constexpr size_t kMaxOutages = 100;
// The rate before an outage is the mean of so many points.
constexpr size_t kPointsBefore = 5;
constexpr double kBack = 0.95;

struct Silence {
  double begin_seconds, end_seconds;
  uint32_t worker;
};

// I/Os of a class of the worker's intervals, by workload.
std::map<uint32_t, double> IosByWorkload(const measure::WorkerSeries& series,
                                         v1::IntervalClass interval_class) {
  std::map<uint32_t, double> ios;
  for (const auto& [key, stats] : series.sums) {
    if (key.interval_class != interval_class || !measure::IsIo(key.kind)) continue;
    ios[key.workload] += static_cast<double>(stats.counts().operations);
  }
  return ios;
}

SilentSpan MeasuredSpanOf(const measure::WorkerSeries& series) {
  if (!(series.measured_seconds > 0)) return {};
  return {series.first_measured_seconds, series.last_measured_seconds};
}

// How long the workload's threads may pause, by the median over all hosts.
double PauseOf(const PhaseView& view, uint32_t workload) {
  const v1::Workload& w = view.load().workloads(static_cast<int>(workload));
  if (LongestThinkNs(w) <= 0) return 0;
  measure::StatsOfKinds kinds;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() == workload) measure::AddMeasured(result, &kinds);
    }
  }
  return PauseSeconds(w, measure::Ios(kinds).Percentile(50));
}

// What silences are judged by: the workloads of each host that has some, by worker.
class PartsOfHosts {
 public:
  explicit PartsOfHosts(const PhaseView& view) : view_(view) {
    for (int w = 0; w < view.load().workloads_size(); ++w) {
      pauses_.push_back(PauseOf(view, static_cast<uint32_t>(w)));
    }
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      if (worker.has_result) AddHost(worker);
    }
    for (auto& [worker, parts] : parts_) AddExpected(worker, &parts);
  }

  std::vector<SilencePart> Of(uint32_t worker) const {
    std::vector<SilencePart> parts;
    const auto found = parts_.find(worker);
    if (found == parts_.end()) return parts;
    for (const auto& [workload, part] : found->second) parts.push_back(part);
    return parts;
  }

 private:
  using Parts = std::map<uint32_t, SilencePart>;  // by workload

  void AddHost(const measure::WorkerPhaseData& worker) {
    const measure::WorkerSeries& series = view_.series().Of(worker.worker_index);
    const std::map<uint32_t, double> ios = IosByWorkload(series, v1::INTERVAL_CLASS_MEASURED);
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() >= pauses_.size()) continue;
      SilencePart& part = parts_[worker.worker_index][result.workload()];
      part.begin_seconds = static_cast<double>(view_.BeginNs(result.workload())) / 1e9;
      if (result.ended_ns() > 0) part.end_seconds = static_cast<double>(result.ended_ns()) / 1e9;
      const auto done = ios.find(result.workload());
      if (done != ios.end()) part.ios = done->second;
      part.pause_seconds = pauses_[result.workload()];
      part.min_share = LeastShare(view_.load().workloads(static_cast<int>(result.workload())));
      rates_.Add(result.workload(), part.ios, ObservedSeconds(part, MeasuredSpanOf(series)));
    }
  }

  // Where the host completed nothing of a workload. Its own ramp says more than what the
  // others did, unless it completed nothing in it, either: failed I/Os have an entry there.
  void AddExpected(uint32_t worker, Parts* parts) const {
    const measure::WorkerSeries& series = view_.series().Of(worker);
    const std::map<uint32_t, double> ramp = IosByWorkload(series, v1::INTERVAL_CLASS_RAMP);
    const double ramp_seconds = static_cast<double>(view_.phase().phase.ramp_ns) / 1e9;
    for (auto& [workload, part] : *parts) {
      const auto before = ramp.find(workload);
      const double seconds = ObservedSeconds(part, {0, ramp_seconds});
      if (before != ramp.end() && before->second > 0 && seconds > 0) {
        part.expected_rate = before->second / seconds;
      } else {
        part.expected_rate =
            rates_.Expected(workload, view_.load().workloads(static_cast<int>(workload)));
      }
    }
  }

  const PhaseView& view_;
  std::vector<double> pauses_;  // by workload
  std::map<uint32_t, Parts> parts_;
  MeanRates rates_;
};

HostIos HostIosOf(const PhaseView& view, const measure::WorkerSeries& series) {
  HostIos ios;
  if (!(series.measured_seconds > 0)) return ios;
  ios.begin_seconds = series.first_measured_seconds;
  ios.step_seconds = static_cast<double>(view.phase().phase.interval_ns) / 1e9 *
                     std::max(1U, view.series().points_step());
  ios.ios = series.rates.iops.Points();
  for (double& point : ios.ios) point *= ios.step_seconds;
  return ios;
}

// The measured silences of a worker that are outages.
std::vector<Silence> SilencesOf(const PhaseView& view, const PartsOfHosts& parts, uint32_t worker) {
  const measure::WorkerSeries& series = view.series().Of(worker);
  std::vector<SilentSpan> all;
  for (const auto& [begin_ns, end_ns] : series.silences.spans()) {
    all.push_back({static_cast<double>(begin_ns) / 1e9, static_cast<double>(end_ns) / 1e9});
  }
  std::vector<Silence> outages;
  const double interval = static_cast<double>(view.phase().phase.interval_ns) / 1e9;
  for (const SilentSpan& outage : OutagesAmong(all, parts.Of(worker), MeasuredSpanOf(series),
                                               interval, HostIosOf(view, series))) {
    outages.push_back({outage.begin_seconds, outage.end_seconds, worker});
  }
  return outages;
}

// For how long so many workers were silent at once. A worker's own silences do not overlap.
double AllSilentSeconds(const std::vector<Silence>& silences, size_t hosts) {
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
    if (silent == static_cast<int>(hosts)) seconds += at - since;
    silent += change;
    since = at;
  }
  return seconds;
}

// The silences of hosts, those that overlap as one. With `hosts` of them silent at once, all are.
std::vector<v1::Outage> Join(const PhaseView& view, std::vector<Silence> silences, size_t hosts,
                             uint32_t* complete) {
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
    outage.set_all_hosts_seconds(AllSilentSeconds(joined, hosts));
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

// The times of outages, without those of hosts that completed no I/O at all: the rate before an
// outage is without these hosts as well.
std::vector<SilentSpan> OutageSpansOf(const v1::PhaseReport& report) {
  std::vector<SilentSpan> spans;
  for (const v1::Outage& outage : report.outages()) {
    if (outage.completed_none()) continue;
    spans.push_back({outage.begin_seconds(), outage.end_seconds()});
  }
  return spans;
}

// From the outage's end until the first point of the fleet's series that is back.
std::optional<double> RecoveryOf(const v1::PhaseReport& report, const v1::Outage& outage,
                                 const std::vector<SilentSpan>& spans) {
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
    // An earlier outage is no rate from before, and a point that a host lacks has none.
    if (std::isnan(points[i]) ||
        std::any_of(spans.begin(), spans.end(), [&](const SilentSpan& span) {
          return at > span.begin_seconds && at < span.end_seconds;
        })) {
      continue;
    }
    sum += points[i];
    ++counted;
  }
  if (counted == 0) return std::nullopt;
  for (int i = std::max(0, index(outage.end_seconds())); i < points.size(); ++i) {
    if (std::isnan(points[i]) || points[i] < kBack * sum / counted) continue;
    return std::max(0.0, report.points_begin_seconds() + i * step - outage.end_seconds());
  }
  return std::nullopt;
}

std::string Times(uint32_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : absl::StrCat(count, " times");
}

std::string Span(double seconds) { return common::FormatDuration(seconds * 1e9); }

// "; node4 completed none at all"
std::string NoneAtAll(const v1::PhaseReport& report) {
  constexpr int kNamed = 3;
  std::vector<std::string> hosts;
  for (const v1::Outage& outage : report.outages()) {
    if (!outage.completed_none()) continue;
    hosts.insert(hosts.end(), outage.hosts().begin(), outage.hosts().end());
  }
  if (hosts.empty()) return "";
  const size_t more = hosts.size() > kNamed ? hosts.size() - kNamed : 0;
  hosts.resize(hosts.size() - more);
  return absl::StrCat("; ", absl::StrJoin(hosts, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "",
                      " completed none at all");
}

// Of the phase, how much lies in outages. They ascend by their begin, and those of hosts that
// completed none at all are beside the others.
double SecondsInOutages(const std::vector<v1::Outage>& outages) {
  double seconds = 0;
  double until = 0;
  for (const v1::Outage& outage : outages) {
    seconds += std::max(0.0, outage.end_seconds() - std::max(until, outage.begin_seconds()));
    until = std::max(until, outage.end_seconds());
  }
  return seconds;
}

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
  if (s.longest_io_ns() > 0) {
    absl::StrAppend(&out, "; the longest I/O ", is_among_them ? "" : "that completed in this time ",
                    "took ", common::FormatDuration(s.longest_io_ns()));
  }
  absl::StrAppend(&out, NoneAtAll(report));
  double slowest = -1;
  int never = 0;
  bool until_the_end = false;
  for (const v1::Outage& outage : report.outages()) {
    if (outage.completed_none()) continue;
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

// What is known of the hosts' silences.
struct FoundOutages {
  std::vector<Silence> silences;
  std::set<uint32_t> judged;    // the hosts
  std::set<uint32_t> silent;    // those with an outage
  std::set<uint32_t> inactive;  // those that completed no I/O at all
  double end_seconds = 0;       // of the measured time
};

FoundOutages FindOutages(const PhaseView& view) {
  FoundOutages found;
  const PartsOfHosts parts(view);
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const std::vector<Silence> own = SilencesOf(view, parts, worker.worker_index);
    // Of a host that did no I/O, and of which none was due, nothing is known.
    if (!PhaseView::Worked(worker) && own.empty()) continue;
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    found.judged.insert(worker.worker_index);
    found.end_seconds = std::max(found.end_seconds, series.last_measured_seconds);
    if (own.empty()) continue;
    found.silent.insert(worker.worker_index);
    if (series.MeasuredIos() == 0) found.inactive.insert(worker.worker_index);
    found.silences.insert(found.silences.end(), own.begin(), own.end());
  }
  return found;
}

// By their begin. Those of hosts that completed no I/O at all stand beside the others: they would
// make one of all.
std::vector<v1::Outage> OutagesOf(const PhaseView& view, const FoundOutages& found,
                                  uint32_t* complete) {
  std::vector<Silence> inactive;
  std::vector<Silence> others;
  for (const Silence& silence : found.silences) {
    (found.inactive.contains(silence.worker) ? inactive : others).push_back(silence);
  }
  std::vector<v1::Outage> outages = Join(view, inactive, found.judged.size(), complete);
  for (v1::Outage& outage : outages) outage.set_completed_none(true);
  for (v1::Outage& outage :
       Join(view, others, found.judged.size() - found.inactive.size(), complete)) {
    outages.push_back(std::move(outage));
  }
  std::stable_sort(outages.begin(), outages.end(), [](const v1::Outage& a, const v1::Outage& b) {
    return a.begin_seconds() < b.begin_seconds();
  });
  return outages;
}

void AddOutages(const PhaseView& view, v1::PhaseReport* report) {
  const FoundOutages found = FindOutages(view);
  AddRatios(view, found.silences, found.judged, report);
  if (found.silences.empty()) return;
  uint32_t complete = 0;
  const std::vector<v1::Outage> outages = OutagesOf(view, found, &complete);
  v1::OutageSummary* summary = report->mutable_outage_summary();
  summary->set_count(static_cast<uint32_t>(outages.size()));
  summary->set_hosts(static_cast<uint32_t>(found.silent.size()));
  summary->set_of_hosts(static_cast<uint32_t>(found.judged.size()));
  summary->set_total_count(complete);
  summary->set_longest_io_ns(report->total().latency_max_ns());
  summary->set_total_seconds(SecondsInOutages(outages));
  for (const v1::Outage& outage : outages) {
    const double seconds = outage.end_seconds() - outage.begin_seconds();
    summary->set_shortest_seconds(
        summary->longest_seconds() == 0 ? seconds : std::min(summary->shortest_seconds(), seconds));
    summary->set_longest_seconds(std::max(summary->longest_seconds(), seconds));
    summary->set_all_hosts_seconds(summary->all_hosts_seconds() + outage.all_hosts_seconds());
    if (static_cast<size_t>(report->outages_size()) == kMaxOutages) continue;
    *report->add_outages() = outage;
  }
  const std::vector<SilentSpan> spans = OutageSpansOf(*report);
  for (v1::Outage& outage : *report->mutable_outages()) {
    if (outage.completed_none()) continue;
    if (const auto recovery = RecoveryOf(*report, outage, spans)) {
      outage.set_recovery_seconds(*recovery);
    }
  }
  summary->set_sentence(SentenceOf(*report, *summary, found.end_seconds));
}

const RegisterAnalysis kOutagesRegistered(order::kOutages, "outages", &AddOutages);

}  // namespace
}  // namespace lockstep::controller
