#pragma once

#include <map>

#include "measure/operation_stats.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// The figures of a worker's result of a phase, by class of intervals and operation kind. Pure.

inline constexpr v1::IntervalClass kIntervalClasses[] = {
    v1::INTERVAL_CLASS_RAMP, v1::INTERVAL_CLASS_MEASURED, v1::INTERVAL_CLASS_DRAIN};

using CountersList = google::protobuf::RepeatedPtrField<v1::OperationCounters>;

// The counters of a class of intervals. Any class but ramp and drain means the measured intervals.
const CountersList& CountersOf(const v1::WorkloadResult& result, v1::IntervalClass interval_class);
CountersList* MutableCountersOf(v1::WorkloadResult* result, v1::IntervalClass interval_class);

// The sum over all classes: of one kind, and of all kinds that are I/Os.
OperationCounts CountsOf(const v1::WorkloadResult& result, v1::OperationKind kind);
OperationCounts IosOf(const v1::WorkloadResult& result);

// Adds the counters of the measured intervals, by kind. Counters that cannot be decoded are left
// out: they were checked when they arrived.
using StatsOfKinds = std::map<v1::OperationKind, OperationStats>;
void AddMeasured(const v1::WorkloadResult& result, StatsOfKinds* kinds);
// The sum of all kinds that are I/Os.
OperationStats Ios(const StatsOfKinds& kinds);

}  // namespace lockstep::measure
