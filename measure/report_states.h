#pragma once

#include "measure/enum_texts.h"

namespace lockstep::measure {

// The words of a report: text where JSON, SQL and people have it, an enum where a program decides
// by it.

// The outcome of a run.
enum class VerdictWord {
  kQueued,
  kRunning,
  kDone,
  kPassed,  // done, and the job expected something
  kFailed,
  kAborted,
  kCancelled,
  kDataCorrupted,
  kExpectationsFailed,
  kInvalid,
  kDegraded,
  kErrors,
  kBacklog,
  kNothingMeasured,
};
// The kinds of findings about hosts or devices. The first three are about hosts.
enum class FindingKind {
  kStraggler,  // fewer IOPS than the others
  kSlow,       // longer latencies
  kStarvation,
  kCoalesced,
  kAmplified,
  kSplit,
  kQueue,
  kFlushes,
  kInterference,
  kPaths,
};
// The figure that an expectation, a limit or a promise is of.
enum class Figure {
  kIops,
  kBytesPerSecond,
  kP50,
  kP95,
  kP99,
  kP999,
  kErrors,
  kFairness,
  kUncopiedBlocks,
  kDeviceAwait,
};
// The limit of a workload.
enum class Limit {
  kThinkTime,
  kRate,
  kRateInPart,
  kFlow,
  kFsync,
  kNoStorage,
  kNotClear,
  kPageCache,
  kGeneratorCpu,
  kCpuQuota,
  kIoThrottle,
  kAboveDevice,
  kNetwork,
  kServerOrNetwork,
  kDevice,
  kQueueDepth,
};
// Which operations a row of figures is of.
enum class Operations { kTotal, kRead, kWrite, kTrim, kFsync };
// The part of a phase to which an interval belongs.
enum class IntervalClass { kRamp, kMeasured, kDrain };
// Which time a latency is.
enum class LatencyMetric { kServiceTime, kResponseTime, kSubmissionLatency };
// The subject of a run's headline.
enum class HeadlineKind { kLoad, kCurve, kSweep, kVerify, kObserve, kFiles };
// The subject of a sentence of an observe phase: a device, a mount of a server, or programs.
enum class ObservedKind { kDevice, kMount, kPrograms };
// The difference between the sets of a comparison: a label, a field of the job, a fact of a host.
enum class DifferenceKind { kLabel, kJob, kFact };
// The figure by which a sweep compares its points.
enum class SweepFigure { kIops, kThroughput, kP50, kP99, kMean };
// The unit of a figure in a comparison, or of a steady load. A figure without one has no unit.
enum class Unit {
  kPerSecond,
  kPerIo,
  kBytesPerSecond,
  kBytesPerByte,
  kNanoseconds,
  kRatio,
  kBytes,
  kRequests
};

// In the order of the enumerators. Stored reports, JSON and SQL have these words: they never
// change. The fields are those of FindingGroup, Finding; Expectation, FigureLimit, PromiseReport;
// WorkloadReport; OperationReport, KindRate and LatencyHistogram; FleetInterval; Headline;
// ObservedSentence; SetDifference; SweepConclusion and SteadyRoundsReport; SteadyReport.
template <>
inline constexpr auto kTexts<VerdictWord> = EnumTexts(kStateField, "queued", "running", "done",
                                                      "passed", "failed", "aborted", "cancelled",
                                                      "data corrupted", "expectations failed",
                                                      "invalid", "degraded", "errors", "backlog",
                                                      "nothing measured");
template <>
inline constexpr auto kTexts<FindingKind> = EnumTexts(kKindField, "straggler", "slow", "starvation",
                                                      "coalesced", "amplified", "split", "queue",
                                                      "flushes", "interference", "paths");
template <>
inline constexpr auto kTexts<Figure> = EnumTexts(kFigureField, "iops", "bytes_per_second", "p50_ns",
                                                 "p95_ns", "p99_ns", "p999_ns", "errors",
                                                 "fairness", "uncopied_blocks", "await_ns");
template <>
inline constexpr auto kTexts<Limit> = EnumTexts(kLimitedByField, "think time", "rate",
                                                "rate in part", "flow", "fsync", "no storage",
                                                "not clear", "page cache", "generator CPU",
                                                "CPU quota", "I/O throttle", "above the device",
                                                "network", "server or network", "device",
                                                "queue depth");
template <>
inline constexpr auto kTexts<Operations> = EnumTexts(kKindField, "total", "read", "write", "trim",
                                                     "fsync");
template <>
inline constexpr auto kTexts<LatencyMetric> = EnumTexts(kMetricField, "service_time",
                                                        "response_time", "submission_latency");
template <>
inline constexpr auto kTexts<IntervalClass> = EnumTexts(kIntervalClassField, "ramp", "measured",
                                                        "drain");
template <>
inline constexpr auto kTexts<HeadlineKind> = EnumTexts(kKindField, "load", "curve", "sweep",
                                                       "verify", "observe", "files");
template <>
inline constexpr auto kTexts<ObservedKind> = EnumTexts(kKindField, "observed", "mount", "programs");
template <>
inline constexpr auto kTexts<DifferenceKind> = EnumTexts(kKindField, "label", "job", "fact");
template <>
inline constexpr auto kTexts<SweepFigure> = EnumTexts(kFigureField, "IOPS", "throughput", "p50",
                                                      "p99", "mean latency");
template <>
inline constexpr auto kTexts<Unit> = EnumTexts(kUnitField, "1/s", "1/IO", "B/s", "B/B", "ns", "%",
                                               "B", "requests");

// Whether hosts are what the finding is about.
inline bool IsOfHosts(FindingKind kind) { return kind <= FindingKind::kStarvation; }

}  // namespace lockstep::measure
