// Closed loops with and without stalls, as workers report them, before the rule of
// controller/analysis/omission_rule.h.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/omission_rule.h"
#include "tests/benchmarks/rate.h"

namespace lockstep::controller {
namespace {

// A closed loop on one host, for five seconds of virtual time.
struct ClosedLoop {
  std::function<double(Random*)> latency;  // in units of `unit_ns`
  int threads = 1;
  int depth = 1;
  double unit_ns = 1e6;
  // From one case to the next the unit is up to twice as long: gaps come in classes that double,
  // and how long one must be to count depends on where the median lies among them.
  bool varies = true;
  double stalled = 0;  // the share of the time in which nothing completes
};

// The figures that a worker reports about a loop.
struct LoopFigures {
  common::Histogram latencies;
  std::array<int64_t, 64> gaps_ns{};
};

struct Standstill {
  int64_t begin_ns, length_ns;
};

constexpr int64_t kLoopNs = 5000000000;

// One to five of them, one in each part of the time, at no given moment.
std::vector<Standstill> StandstillsOf(const ClosedLoop& loop, Random* random) {
  std::vector<Standstill> stalls;
  if (!(loop.stalled > 0)) return stalls;
  const auto count = static_cast<int64_t>(1 + (*random)() % 5);
  const int64_t part = kLoopNs / count;
  const auto length = static_cast<int64_t>(loop.stalled * static_cast<double>(part));
  for (int64_t i = 0; i < count; ++i) {
    const auto shift = static_cast<int64_t>((*random)() % static_cast<uint64_t>(part - length));
    stalls.push_back({i * part + shift, length});
  }
  return stalls;
}

// As IoThread does it: an I/O that completes after the end is in no latency, and the gap before it
// ends with the load.
void RunThread(const ClosedLoop& loop, double unit_ns, const std::vector<Standstill>& stalls,
               Random* random, LoopFigures* figures) {
  using Io = std::pair<int64_t, int64_t>;  // when it completes, when it began
  const auto start = [&](int64_t begin) {
    int64_t end = begin + 1 + static_cast<int64_t>(unit_ns * loop.latency(random));
    for (const Standstill& stall : stalls) {
      if (begin <= stall.begin_ns && stall.begin_ns < end) end += stall.length_ns;
    }
    return Io(end, begin);
  };
  std::priority_queue<Io, std::vector<Io>, std::greater<>> in_flight;
  for (int i = 0; i < loop.depth; ++i) in_flight.push(start(0));
  for (int64_t last = 0;;) {
    const auto [end, begin] = in_flight.top();
    if (const int64_t gap = std::min(end, kLoopNs) - last; gap > 0) {
      figures->gaps_ns[63 - __builtin_clzll(static_cast<uint64_t>(gap))] += gap;
    }
    if (end >= kLoopNs) return;
    figures->latencies.Record(static_cast<uint64_t>(end - begin));
    last = end;
    in_flight.pop();
    in_flight.push(start(end));
  }
}

// Whether a report says that the loop's latencies hide stalls.
bool IsOmission(const ClosedLoop& loop, Random* random) {
  const double longer =
      loop.varies ? std::exp2(std::uniform_real_distribution<double>(0, 1)(*random)) : 1;
  const std::vector<Standstill> stalls = StandstillsOf(loop, random);
  LoopFigures figures;
  for (int i = 0; i < loop.threads; ++i) {
    RunThread(loop, longer * loop.unit_ns, stalls, random, &figures);
  }
  const double median = figures.latencies.Percentile(50);
  StallTime time;
  time.Add(figures.gaps_ns, {median});
  return OmittedBeside(figures.latencies, WithMissing(figures.latencies, median), time).has_value();
}

// Latencies, with a median of 1.
std::function<double(Random*)> Lognormal(double sigma) {
  return
      [sigma](Random* r) { return std::exp(sigma * std::normal_distribution<double>(0, 1)(*r)); };
}
std::function<double(Random*)> Pareto(double alpha) {
  return [alpha](Random* r) {
    return std::pow(2 * (1 - std::uniform_real_distribution<double>(0, 1)(*r)), -1 / alpha);
  };
}
double Exponential(Random* random) {
  return std::exponential_distribution<double>(std::log(2))(*random);
}
// Latencies of 100 us: nine hits in ten, and misses of 5 ms.
double HitOrMiss(Random* random) {
  return std::uniform_real_distribution<double>(0, 1)(*random) < 0.9 ? 1 : 50;
}

}  // namespace

std::vector<Rate> OmissionRates() {
  std::vector<Rate> rates;
  const auto add = [&](const std::string& name, double least, double most, const ClosedLoop& loop) {
    rates.push_back(
        {name, least, most, [loop](Random* random) { return IsOmission(loop, random); }});
  };
  struct Bounds {
    double least, most;
  };
  // With 1 thread, with 8 threads, and with 1 thread and 8 I/Os in flight.
  const auto alarms = [&](const std::string& shape, ClosedLoop loop, Bounds one, Bounds eight,
                          Bounds deep) {
    const std::string name = "said: hidden stalls, " + shape;
    add(name + ", 1 thread", one.least, one.most, loop);
    loop.threads = 8;
    add(name + ", 8 threads", eight.least, eight.most, loop);
    loop.threads = 1;
    loop.depth = 8;
    add(name + ", depth 8", deep.least, deep.most, loop);
  };
  alarms("exponential", {&Exponential}, {0, 0.01}, {0, 0.01}, {0, 0.01});
  alarms("lognormal 0.5", {Lognormal(0.5)}, {0, 0.01}, {0, 0.01}, {0, 0.01});
  alarms("lognormal 1", {Lognormal(1)}, {0, 0.01}, {0, 0.01}, {0, 0.01});
  alarms("10 % misses", {&HitOrMiss, 1, 1, 1e5, false}, {0, 0.01}, {0, 0.01}, {0, 0.01});
  alarms("Pareto 2", {Pareto(2)}, {0, 0.05}, {0, 0.02}, {0, 0.01});
  // No goals, but what the rule does: where nothing else is in flight, it takes a tail that is
  // heavy enough for stalls. Such a tail has more than 8 % of the time in I/Os of 20 medians.
  alarms("lognormal 1.5", {Lognormal(1.5)}, {0.75, 0.85}, {0.98, 1}, {0, 0.01});
  alarms("Pareto 1.5", {Pareto(1.5)}, {0.67, 0.77}, {0.9, 0.98}, {0, 0.01});
  for (const int percent : {10, 20}) {
    ClosedLoop loop{&Exponential};
    loop.stalled = percent / 100.0;
    add("power: hidden stalls of " + std::to_string(percent) + " % of the time, 1 thread", 0.95, 1,
        loop);
  }
  return rates;
}

}  // namespace lockstep::controller
