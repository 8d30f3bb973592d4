#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "measure/phase_series.h"
#include "proto/load.pb.h"

namespace lockstep::measure {

// How much a series varies over a window of rounds (SNIA, "Solid State Storage Performance Test
// Specification" 2.0.2, steady state): shares of the mean.
struct Variation {
  double mean = 0;
  double range = 0;  // largest minus smallest
  double slope = 0;  // of the line fitted by least squares, from its first to its last round
};
// Needs two values or more. If the mean is 0, everything is 0.
Variation VariationOf(const std::vector<double>& values);

// Rounds of one series: so many intervals each, one after the other. Not thread-safe.
class Rounds {
 public:
  Rounds(v1::SteadyFigure figure, double percent, uint32_t intervals)
      : figure_(figure), percent_(percent), intervals_(intervals) {}

  // Intervals come in ascending order. One that is missing ends the round that it is in: the next
  // round begins after it.
  void Add(uint32_t interval, const MergedInterval::Part& part);
  // A complete round.
  struct Round {
    uint32_t first = 0, last = 0;  // intervals
    double begin_seconds = 0, end_seconds = 0;
    double value = 0;
    bool has_io = false;
  };
  const std::deque<Round>& complete() const { return complete_; }
  // The newest `window` of them, if there are so many and none is missing between.
  std::optional<Variation> Last(uint32_t window) const;
  // Whether one of the newest `window` completed no I/O.
  bool StoodStill(uint32_t window) const;
  // The newest `window` of them. None if there are not so many, one is missing between, or one has
  // no value: a rate has one also where nothing was done, a latency has not.
  std::vector<Round> LastRounds(uint32_t window) const;

 private:
  double Value() const;

  const v1::SteadyFigure figure_;
  const double percent_;
  const uint32_t intervals_;
  std::deque<Round> complete_;  // the newest few
  // The round that is being filled.
  std::optional<Round> open_;
  uint32_t next_ = 0;
  uint32_t filled_ = 0;
  double seconds_ = 0, operations_ = 0, bytes_ = 0, latency_sum_ns_ = 0;
  common::Histogram latencies_;
};

// Is a load steady? The fleet's figure, and every host's where the rule says so. Fed with the
// intervals of a phase as PhaseSeries merges them. Not thread-safe.
class SteadyState {
 public:
  SteadyState(const v1::SteadyState& rule, int64_t interval_ns);

  // Those that are measured and whole count; others are gaps.
  void Add(const MergedInterval& merged);

  struct Verdict {
    bool steady = false;
    uint32_t rounds = 0;  // complete ones, until it was steady or in all
    // The times of the window that was steady, or else of the last one.
    double begin_seconds = 0, end_seconds = 0;
    Variation fleet;
    std::vector<double> values;  // the fleet's, round by round
    // The worker that varied most, where every host must be steady.
    std::optional<uint32_t> worst_worker;
    Variation worst;
    // The first later window whose mean differs from the steady one's by more than the rule's
    // range. No window may be compared: a load that ends once it is steady has none.
    struct Departure {
      double at_seconds = 0;  // of its first round that differs by as much
      double end_seconds = 0;
      double mean = 0;  // of the window's rounds; 0 when one round completed nothing
      double steady_mean = 0;
      std::optional<uint32_t> worker;  // where every host must be steady; the fleet's otherwise
      // The rounds of the window: their ends, and their values. None when one completed nothing.
      std::vector<std::pair<double, double>> rounds = {};
    };
    std::optional<Departure> departure;
  };
  // The first window that was steady stands.
  const Verdict& verdict() const { return verdict_; }

 private:
  void Judge();
  // Holds the newest rounds against the window that was steady.
  void FindDeparture();
  void FindDeparture(const Rounds& rounds, double steady_mean, std::optional<uint32_t> worker);
  bool Holds(const Rounds& rounds, const Variation& variation) const;

  const v1::SteadyState rule_;
  const uint32_t intervals_;  // of a round
  Rounds fleet_;
  std::map<uint32_t, Rounds> workers_;
  std::map<uint32_t, double> steady_means_;  // of the workers, where every host must be steady
  size_t steady_workers_ = 0;                // how many the steady figure is of
  Verdict verdict_;
};

}  // namespace lockstep::measure
