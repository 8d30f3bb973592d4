#pragma once

#include <map>

#include "measure/operation_stats.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// What a worker's result of a phase says, by class of intervals and operation kind. Pure.

inline constexpr v1::IntervalClass kIntervalClasses[] = {
    v1::INTERVAL_CLASS_RAMP, v1::INTERVAL_CLASS_MEASURED, v1::INTERVAL_CLASS_DRAIN};

using CountersList = google::protobuf::RepeatedPtrField<v1::OperationCounters>;

// Of the measured intervals for any class but ramp and drain.
const CountersList& CountersOf(const v1::WorkloadResult& result, v1::IntervalClass interval_class);
CountersList* MutableCountersOf(v1::WorkloadResult* result, v1::IntervalClass interval_class);

// Of a kind over all classes.
OperationCounts CountsOf(const v1::WorkloadResult& result, v1::OperationKind kind);
// Of I/Os of all kinds over all classes.
OperationCounts IosOf(const v1::WorkloadResult& result);

// Adds what was measured, by kind. Counters that cannot be decoded are left out: they were checked
// when they came in.
using StatsOfKinds = std::map<v1::OperationKind, OperationStats>;
void AddMeasured(const v1::WorkloadResult& result, StatsOfKinds* kinds);
// Of the I/Os of all kinds together.
OperationStats Ios(const StatsOfKinds& kinds);

}  // namespace lockstep::measure
