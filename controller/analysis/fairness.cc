#include "controller/analysis/fairness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "controller/analysis/analysis.h"
#include "measure/timeline.h"

namespace lockstep::controller {

v1::Fairness FairnessOf(const std::string& of, const std::vector<double>& values) {
  v1::Fairness fairness;
  fairness.set_of(of);
  fairness.set_count(static_cast<uint32_t>(values.size()));
  // R. Jain, D.-M. Chiu, W. Hawe, 1984.
  if (const auto jain = measure::JainOf(values)) fairness.set_jain(*jain);
  const bool is_shared = values.size() > 1;
  const MeanDeviation spread = MeanDeviationOf(values);
  if (!values.empty()) fairness.set_mean(spread.mean);
  if (is_shared) {
    fairness.set_stddev(spread.deviation);
    if (spread.mean > 0) fairness.set_variation(spread.deviation / spread.mean);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    // JSON has no infinity.
    if (*least > 0) fairness.set_max_over_min(*most / *least);
  }
  return fairness;
}

std::vector<double> ThreadRatesOf(const v1::PhaseReport& phase) {
  std::vector<double> rates;
  for (const v1::ThreadReport& thread : phase.threads()) {
    if (thread.has_iops()) rates.push_back(thread.iops());
  }
  return rates;
}

MeanDeviation MeanDeviationOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  // The divisor is n, not n - 1, as in sysbench, whose thread fairness these figures continue: the
  // threads are all that there are, not a sample of them.
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

namespace {

// Over the devices that the engines work on, each once, whatever kernels see it: what they moved.
void AddDevices(v1::PhaseReport* report) {
  std::map<std::string, double> moved;
  for (const v1::DeviceReport& d : report->devices()) {
    if (d.engine_read_bytes() + d.engine_write_bytes() <= 0) continue;
    // Without an identity, the same name on another host is another device.
    const std::string key = d.identity().empty() && d.workers_size() > 0
                                ? absl::StrCat(d.workers(0), " ", d.name())
                                : d.identity();
    moved[key] += d.reads_per_second() + d.writes_per_second();
  }
  std::vector<double> rates;
  for (const auto& [key, rate] : moved) rates.push_back(rate);
  if (rates.size() > 1) *report->add_fairness() = FairnessOf("IOPS over devices", rates);
}

// Each interval by itself, over the hosts that worked in it. One that stood still had its share,
// too: none.
void AddIntervals(v1::PhaseReport* report) {
  for (int i = 0; i < report->iops_by_interval_size(); ++i) {
    std::vector<double> rates;
    for (const v1::HostReport& host : report->hosts()) {
      const bool worked =
          !host.lost() && (host.total().operations() > 0 || host.silent_ratio() > 0);
      if (worked && i < host.iops_by_interval_size()) {
        rates.push_back(host.iops_by_interval(i));
      }
    }
    // Each host's series begins with the first interval, so that no later one has two hosts either.
    if (rates.size() < 2) break;
    // What a host did in an interval that did not arrive is not known.
    const bool is_known = std::none_of(rates.begin(), rates.end(),
                                       [](const double rate) { return std::isnan(rate); });
    report->add_jain_by_interval(
        is_known ? measure::JainOf(rates).value_or(std::numeric_limits<double>::quiet_NaN())
                 : std::numeric_limits<double>::quiet_NaN());
  }
  AddJainRange(report);
}

// Over the hosts that worked, or stood still although I/Os were due (outages.cc); over all threads,
// workloads and devices.
void AddFairness(const PhaseView& view, v1::PhaseReport* report) {
  std::vector<double> hosts;
  // hosts.cc adds a row for each worker of the phase, in this order, before the rows of absent
  // ones.
  for (int i = 0; i < static_cast<int>(view.phase().workers.size()); ++i) {
    const v1::HostReport& host = report->hosts(i);
    const bool took_part = PhaseView::Worked(view.phase().workers[i]) || host.silent_ratio() > 0;
    if (took_part && host.has_iops()) hosts.push_back(host.iops());
  }
  *report->add_fairness() = FairnessOf("IOPS over hosts", hosts);
  std::vector<double> events;
  std::vector<double> times;
  for (const v1::ThreadReport& thread : report->threads()) {
    events.push_back(thread.operations());
    times.push_back(thread.execution_time_seconds());
  }
  *report->add_fairness() = FairnessOf("IOPS over threads", ThreadRatesOf(*report));
  std::vector<double> workloads;
  for (const v1::WorkloadReport& w : report->workloads()) {
    if (w.total().has_iops()) workloads.push_back(w.total().iops());
  }
  if (workloads.size() > 1) {
    *report->add_fairness() = FairnessOf("IOPS over workloads", workloads);
  }
  AddDevices(report);
  std::vector<double> tails;
  for (const v1::HostReport& host : report->hosts()) {
    if (!host.lost() && host.p99_ns() > 0) tails.push_back(host.p99_ns());
  }
  if (tails.size() > 1) *report->add_fairness() = FairnessOf("p99 over hosts", tails);
  AddIntervals(report);
  if (report->threads().empty()) return;
  const MeanDeviation e = MeanDeviationOf(events);
  const MeanDeviation t = MeanDeviationOf(times);
  v1::ThreadFairness* fairness = report->mutable_thread_fairness();
  fairness->set_events_avg(e.mean);
  fairness->set_events_stddev(e.deviation);
  fairness->set_execution_time_avg_seconds(t.mean);
  fairness->set_execution_time_stddev_seconds(t.deviation);
}

const RegisterAnalysis kFairnessRegistered(order::kFairness, "fairness", &AddFairness);

}  // namespace

void AddJainRange(v1::PhaseReport* phase) {
  // Reports that an older version stored have the range of another time.
  phase->clear_jain_min();
  phase->clear_jain_max();
  if (phase->jain_by_interval_size() < 2 || phase->hosts_size() < 2) return;
  const double step = phase->interval_seconds() * std::max(1U, phase->intervals_per_point());
  const bool has_window = phase->window_end_seconds() > phase->window_begin_seconds();
  std::vector<double> jain;
  for (int i = 0; i < phase->jain_by_interval_size() && i < phase->iops_by_interval_size(); ++i) {
    // A host that begins later, or has ended, shared nothing with the others. A point belongs to
    // the window with its middle, since loads seldom end on the grid.
    const double middle = phase->points_begin_seconds() + (i + 0.5) * step;
    if (has_window &&
        (middle < phase->window_begin_seconds() || middle > phase->window_end_seconds())) {
      continue;
    }
    // Nor did the hosts in an interval without any I/O, for which reports that an older version
    // stored have 1.
    const bool is_known = !std::isnan(phase->jain_by_interval(i));
    if (is_known && phase->iops_by_interval(i) > 0) jain.push_back(phase->jain_by_interval(i));
  }
  if (jain.size() < 2) return;
  const auto [least, most] = std::minmax_element(jain.begin(), jain.end());
  phase->set_jain_min(*least);
  phase->set_jain_max(*most);
}

}  // namespace lockstep::controller
