#pragma once

#include <optional>
#include <string>
#include <string_view>

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
enum class SweepFigure { kIops, kThroughput, kP50, kP99 };
// The unit of a figure in a comparison, or of a steady load. A figure without one has no unit.
enum class Unit { kPerSecond, kPerIo, kBytesPerSecond, kBytesPerByte, kNanoseconds, kRatio };

// "data corrupted", "straggler", "p999_ns", "generator CPU", "total", "response_time", "verify",
// "programs", "label", "throughput", "B/s".
std::string Text(VerdictWord word);
std::string Text(FindingKind kind);
std::string Text(Figure figure);
std::string Text(Limit limit);
std::string Text(Operations operations);
std::string Text(LatencyMetric metric);
std::string Text(IntervalClass interval_class);
std::string Text(HeadlineKind kind);
std::string Text(ObservedKind kind);
std::string Text(DifferenceKind kind);
std::string Text(SweepFigure figure);
std::string Text(Unit unit);
// Nothing where the text is none of these, as of a newer controller.
std::optional<VerdictWord> ParseVerdictWord(std::string_view text);
std::optional<FindingKind> ParseFindingKind(std::string_view text);
std::optional<Figure> ParseFigure(std::string_view text);
std::optional<Limit> ParseLimit(std::string_view text);
std::optional<Operations> ParseOperations(std::string_view text);
std::optional<LatencyMetric> ParseLatencyMetric(std::string_view text);
std::optional<IntervalClass> ParseIntervalClass(std::string_view text);
std::optional<HeadlineKind> ParseHeadlineKind(std::string_view text);
std::optional<ObservedKind> ParseObservedKind(std::string_view text);
std::optional<DifferenceKind> ParseDifferenceKind(std::string_view text);
std::optional<SweepFigure> ParseSweepFigure(std::string_view text);
std::optional<Unit> ParseUnit(std::string_view text);

// Whether hosts are what the finding is about.
inline bool IsOfHosts(FindingKind kind) { return kind <= FindingKind::kStarvation; }

// A message's field with such a word: FindingGroup, Finding; Expectation, FigureLimit,
// PromiseReport; WorkloadReport; OperationReport, KindRate and LatencyHistogram; FleetInterval;
// Headline; ObservedSentence; SetDifference; SweepConclusion; SteadyReport.
template <typename Message>
bool Is(const Message& message, FindingKind kind) {
  return ParseFindingKind(message.kind()) == kind;
}
template <typename Message>
bool Is(const Message& message, Figure figure) {
  return ParseFigure(message.figure()) == figure;
}
template <typename Message>
bool Is(const Message& message, Limit limit) {
  return ParseLimit(message.limited_by()) == limit;
}
template <typename Message>
bool Is(const Message& message, Operations operations) {
  return ParseOperations(message.kind()) == operations;
}
template <typename Message>
bool Is(const Message& message, LatencyMetric metric) {
  return ParseLatencyMetric(message.metric()) == metric;
}
template <typename Message>
bool Is(const Message& message, IntervalClass interval_class) {
  return ParseIntervalClass(message.interval_class()) == interval_class;
}
template <typename Message>
bool Is(const Message& message, HeadlineKind kind) {
  return ParseHeadlineKind(message.kind()) == kind;
}
template <typename Message>
bool Is(const Message& message, ObservedKind kind) {
  return ParseObservedKind(message.kind()) == kind;
}
template <typename Message>
bool Is(const Message& message, DifferenceKind kind) {
  return ParseDifferenceKind(message.kind()) == kind;
}
template <typename Message>
bool Is(const Message& message, SweepFigure figure) {
  return ParseSweepFigure(message.figure()) == figure;
}
template <typename Message>
bool Is(const Message& message, Unit unit) {
  return ParseUnit(message.unit()) == unit;
}

}  // namespace lockstep::measure
