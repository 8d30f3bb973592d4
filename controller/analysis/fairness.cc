#include "controller/analysis/fairness.h"

#include <algorithm>
#include <cmath>

#include "controller/analysis/analysis.h"

namespace lockstep::controller {

v1::Fairness FairnessOf(const std::string& of, const std::vector<double>& values) {
  v1::Fairness fairness;
  fairness.set_of(of);
  fairness.set_count(static_cast<uint32_t>(values.size()));
  double sum = 0;
  double squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  fairness.set_jain(squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1);
  fairness.set_max_over_min(1);
  if (values.size() > 1 && sum > 0) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    fairness.set_max_over_min(*least > 0 ? *most / *least : 0);
  }
  return fairness;
}

MeanDeviation MeanDeviationOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

namespace {

// Over the hosts that worked; over all threads.
void AddFairness(const PhaseView& view, v1::PhaseReport* report) {
  std::vector<double> hosts;
  for (int i = 0; i < static_cast<int>(view.phase().workers.size()); ++i) {
    if (PhaseView::Worked(view.phase().workers[i])) hosts.push_back(report->hosts(i).iops());
  }
  *report->add_fairness() = FairnessOf("IOPS over hosts", hosts);
  std::vector<double> events;
  std::vector<double> times;
  std::vector<double> rates;
  for (const v1::ThreadReport& thread : report->threads()) {
    events.push_back(thread.operations());
    times.push_back(thread.execution_time_seconds());
    rates.push_back(thread.iops());
  }
  *report->add_fairness() = FairnessOf("IOPS over threads", rates);
  const MeanDeviation e = MeanDeviationOf(events);
  const MeanDeviation t = MeanDeviationOf(times);
  v1::ThreadFairness* fairness = report->mutable_thread_fairness();
  fairness->set_events_avg(e.mean);
  fairness->set_events_stddev(e.deviation);
  fairness->set_execution_time_avg_seconds(t.mean);
  fairness->set_execution_time_stddev_seconds(t.deviation);
}

const RegisterAnalysis kRegistered(order::kFairness, "fairness", &AddFairness);

}  // namespace

}  // namespace lockstep::controller
