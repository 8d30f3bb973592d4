#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/live_minimum.h"
#include "controller/analysis/live_silence.h"
#include "measure/phase_series.h"
#include "measure/recording.h"
#include "measure/steady_state.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// A phase as its samples arrive: gives the watchers their intervals, and checks the job's abort_if
// and what else ends its load.
// Not thread-safe; pure.
class LivePhase {
 public:
  // `hosts`: names by worker index.
  LivePhase(uint32_t phase, std::map<uint32_t, std::string> hosts, const v1::RunPhase& load,
            int64_t interval_ns);

  // As PhaseSeries::Add(), CheckResult(), Leave() and Lose().
  absl::Status Add(uint32_t worker, const v1::IntervalSample& sample);
  absl::Status CheckResult(uint32_t worker, const v1::PhaseResult& result) const {
    return series_.CheckResult(worker, result);
  }
  void Leave(uint32_t worker) { series_.Leave(worker); }
  void Lose(uint32_t worker) { series_.Lose(worker); }

  // PhaseSeries::TakeComplete() as messages to the watchers; each interval is checked against
  // abort_if.
  std::vector<v1::FleetInterval> TakeComplete();
  // Why the run must end by its abort_if or a min_rate; empty while it need not.
  const std::string& abort_reason() const { return abort_reason_; }
  // Why the load is to end by its until_steady or an ends_phase; empty while it is not.
  const std::string& end_reason() const { return end_reason_; }
  const measure::PhaseSeries& series() const { return series_; }
  // The intervals to keep when nothing more comes. The caller calls nothing after it.
  measure::Recording Close();

  // Names, in the order in which intervals give what all hosts did.
  std::vector<std::string> Hosts() const;
  // The hosts for whose samples the intervals of the others wait.
  std::vector<std::string> Behind() const;
  // TakeComplete() of what another controller has received: kept for those who watch from the
  // begin, of long phases without the hosts of the earliest.
  void CompleteHistory();
  std::deque<v1::FleetInterval> DrainHistory() { return std::move(past_); }

 private:
  std::string NameOf(uint32_t worker) const;
  void DescribeHosts(const measure::MergedInterval& merged, v1::FleetInterval* interval) const;
  v1::FleetInterval Describe(const measure::MergedInterval& merged);
  void CheckAbortConditions(const measure::MergedInterval& merged);

  const uint32_t phase_;
  const std::map<uint32_t, std::string> hosts_;
  const bool has_load_;
  const v1::AbortIf abort_if_;
  measure::PhaseSeries series_;
  LiveSilence silence_;
  LiveMinimum minimum_;
  std::map<uint32_t, std::string> ends_phase_;  // names of the workloads that end it
  std::string abort_reason_;
  std::deque<v1::FleetInterval> past_;
  std::optional<measure::SteadyState> steady_;  // where it ends the load
  std::string end_reason_;
};

}  // namespace lockstep::controller
