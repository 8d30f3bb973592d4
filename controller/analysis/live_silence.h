#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/silence_rule.h"
#include "measure/merged_interval.h"
#include "measure/rate_series.h"
#include "measure/silences.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Which hosts complete no I/O now, while a phase runs: those with an outage, by the report's rule
// (silence_rule.h), that reaches to the interval's end. It is of what is known by then, the ramp
// included. A host that has never completed an I/O of its workloads is silent from the time on in
// which the others would have done enough. If no host has ever completed one, all with a workload
// that has begun are silent from the first whole interval on; if the job gives the workload a rate,
// from the time on in which that is enough. Pure; not thread-safe.
class LiveSilence {
 public:
  struct Found {
    uint32_t hosts = 0;   // with a part in the interval
    uint32_t silent = 0;  // of them
    double seconds = 0;   // for which all of the silent ones have completed no I/O
  };

  LiveSilence(const v1::RunPhase& load, int64_t interval_ns);
  // The worker's interval says which workloads it has, and which of them have ended. Before Add()
  // of that interval.
  void Learn(uint32_t worker, const v1::IntervalSample& sample);
  // Takes the interval that follows.
  Found Add(const measure::MergedInterval& merged);

 private:
  // A workload on a host.
  struct Part {
    double ios = 0;
    // Until when it is known to run, seconds from T: the store keeps no ends, so that a sample out
    // of it may not say whether a workload has ended that has an end of its own.
    double runs_until = 0;
  };
  struct Host {
    std::map<uint32_t, Part> parts;  // by workload
    measure::Silences silences = measure::Silences(kMaxSilences);
    double begin_seconds = -1;  // of its first interval
    // From its begin on, with points that are not known for intervals that did not come.
    double ios_begin_seconds = 0;  // of `ios`
    measure::RateSeries ios;
    uint32_t intervals = 0;  // in it
  };
  // A live line need not be as exact as a report.
  static constexpr size_t kMaxSilences = 100;
  static constexpr size_t kMaxPoints = 1000;  // 8 KB of each host
  // Of intervals that did not come.
  static constexpr double kMaxLostIntervals = 100000;

  void AddPart(uint32_t worker, const measure::MergedInterval::Part& part);
  void AddIos(const measure::MergedInterval::Part& part, Host* host) const;
  HostIos HostIosOf(const Host& host) const;
  void AddLatencies(const measure::MergedInterval& merged);
  SilencePart SilencePartOf(uint32_t workload, const Part& part) const;
  MeanRates RatesUntil(double end_seconds) const;
  double ExpectedBeforeAny(uint32_t workload) const;
  double SilentSeconds(const Host& host, double end_seconds, const MeanRates& rates) const;

  const std::vector<v1::Workload> workloads_;
  const double interval_;           // seconds
  bool any_ = false;                // some host has completed an I/O
  std::map<uint32_t, Host> hosts_;  // by worker index
  // Of all hosts, by workload whose threads pause.
  std::map<uint32_t, common::Histogram> latencies_;
};

}  // namespace lockstep::controller
