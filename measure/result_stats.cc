#include "measure/result_stats.h"

namespace lockstep::measure {
namespace {

template <typename Matches>
OperationCounts Sum(const v1::WorkloadResult& result, Matches matches) {
  OperationCounts sum;
  for (const v1::IntervalClass interval_class : kIntervalClasses) {
    for (const v1::OperationCounters& counters : CountersOf(result, interval_class)) {
      if (!matches(counters.kind())) continue;
      sum.operations += counters.operations();
      sum.bytes += counters.bytes();
      sum.errors += counters.errors();
    }
  }
  return sum;
}

}  // namespace

const CountersList& CountersOf(const v1::WorkloadResult& result, v1::IntervalClass interval_class) {
  return interval_class == v1::INTERVAL_CLASS_RAMP    ? result.ramp()
         : interval_class == v1::INTERVAL_CLASS_DRAIN ? result.drain()
                                                      : result.measured();
}

CountersList* MutableCountersOf(v1::WorkloadResult* result, v1::IntervalClass interval_class) {
  return interval_class == v1::INTERVAL_CLASS_RAMP    ? result->mutable_ramp()
         : interval_class == v1::INTERVAL_CLASS_DRAIN ? result->mutable_drain()
                                                      : result->mutable_measured();
}

OperationCounts CountsOf(const v1::WorkloadResult& result, v1::OperationKind kind) {
  return Sum(result, [kind](v1::OperationKind other) { return other == kind; });
}

// All classes count, ramp and drain too: the sum divides CPU times of the whole phase
// (controller/analysis/threads.cc).
OperationCounts IosOf(const v1::WorkloadResult& result) { return Sum(result, &IsIo); }

void AddMeasured(const v1::WorkloadResult& result, StatsOfKinds* kinds) {
  for (const v1::OperationCounters& counters : result.measured()) {
    const auto delta = OperationDelta::Decode(counters);
    if (delta.ok()) (*kinds)[counters.kind()].Add(*delta);
  }
}

// A sync moves no bytes and can take as long as all the writes before it. Among the I/Os it would
// change rates and percentiles without any data moved.
OperationStats Ios(const StatsOfKinds& kinds) {
  OperationStats ios;
  for (const auto& [kind, stats] : kinds) {
    if (IsIo(kind)) ios.Add(stats);
  }
  return ios;
}

}  // namespace lockstep::measure
