#include "measure/report_states.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lockstep::measure {
namespace {

// In the order of the enumerators. Stored reports, JSON and SQL have these words: they never
// change.
constexpr std::array<std::string_view, 14> kVerdictWords = {
    "queued",    "running",         "done",
    "passed",    "failed",          "aborted",
    "cancelled", "data corrupted",  "expectations failed",
    "invalid",   "degraded",        "errors",
    "backlog",   "nothing measured"};
constexpr std::array<std::string_view, 10> kFindingKinds = {
    "straggler", "slow",  "starvation", "coalesced",    "amplified",
    "split",     "queue", "flushes",    "interference", "paths"};
constexpr std::array<std::string_view, 10> kFigureNames = {
    "iops",    "bytes_per_second", "p50_ns",   "p95_ns",          "p99_ns",
    "p999_ns", "errors",           "fairness", "uncopied_blocks", "await_ns"};
constexpr std::array<std::string_view, 16> kLimits = {"think time",    "rate",
                                                      "rate in part",  "flow",
                                                      "fsync",         "no storage",
                                                      "not clear",     "page cache",
                                                      "generator CPU", "CPU quota",
                                                      "I/O throttle",  "above the device",
                                                      "network",       "server or network",
                                                      "device",        "queue depth"};
constexpr std::array<std::string_view, 5> kOperations = {"total", "read", "write", "trim", "fsync"};
constexpr std::array<std::string_view, 3> kLatencyMetrics = {"service_time", "response_time",
                                                             "submission_latency"};

constexpr std::array<std::string_view, 3> kIntervalClasses = {"ramp", "measured", "drain"};
constexpr std::array<std::string_view, 6> kHeadlineKinds = {"load",   "curve",   "sweep",
                                                            "verify", "observe", "files"};
constexpr std::array<std::string_view, 3> kObservedKinds = {"observed", "mount", "programs"};
constexpr std::array<std::string_view, 3> kDifferenceKinds = {"label", "job", "fact"};
constexpr std::array<std::string_view, 4> kSweepFigures = {"IOPS", "throughput", "p50", "p99"};
constexpr std::array<std::string_view, 6> kUnits = {"1/s", "1/IO", "B/s", "B/B", "ns", "%"};

template <typename Enum, size_t count>
std::optional<Enum> EnumOf(const std::array<std::string_view, count>& names,
                           std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}
template <typename Enum, size_t count>
std::string NameOf(const std::array<std::string_view, count>& names, Enum value) {
  return std::string(names.at(static_cast<size_t>(value)));
}

}  // namespace

std::string Text(VerdictWord word) { return NameOf(kVerdictWords, word); }
std::string Text(FindingKind kind) { return NameOf(kFindingKinds, kind); }
std::string Text(Figure figure) { return NameOf(kFigureNames, figure); }
std::string Text(Limit limit) { return NameOf(kLimits, limit); }
std::string Text(Operations operations) { return NameOf(kOperations, operations); }
std::string Text(LatencyMetric metric) { return NameOf(kLatencyMetrics, metric); }
std::string Text(IntervalClass interval_class) { return NameOf(kIntervalClasses, interval_class); }
std::string Text(HeadlineKind kind) { return NameOf(kHeadlineKinds, kind); }
std::string Text(ObservedKind kind) { return NameOf(kObservedKinds, kind); }
std::string Text(DifferenceKind kind) { return NameOf(kDifferenceKinds, kind); }
std::string Text(SweepFigure figure) { return NameOf(kSweepFigures, figure); }
std::string Text(Unit unit) { return NameOf(kUnits, unit); }

std::optional<VerdictWord> ParseVerdictWord(std::string_view text) {
  return EnumOf<VerdictWord>(kVerdictWords, text);
}
std::optional<FindingKind> ParseFindingKind(std::string_view text) {
  return EnumOf<FindingKind>(kFindingKinds, text);
}
std::optional<Figure> ParseFigure(std::string_view text) {
  return EnumOf<Figure>(kFigureNames, text);
}
std::optional<Limit> ParseLimit(std::string_view text) { return EnumOf<Limit>(kLimits, text); }
std::optional<Operations> ParseOperations(std::string_view text) {
  return EnumOf<Operations>(kOperations, text);
}
std::optional<LatencyMetric> ParseLatencyMetric(std::string_view text) {
  return EnumOf<LatencyMetric>(kLatencyMetrics, text);
}
std::optional<IntervalClass> ParseIntervalClass(std::string_view text) {
  return EnumOf<IntervalClass>(kIntervalClasses, text);
}
std::optional<HeadlineKind> ParseHeadlineKind(std::string_view text) {
  return EnumOf<HeadlineKind>(kHeadlineKinds, text);
}
std::optional<ObservedKind> ParseObservedKind(std::string_view text) {
  return EnumOf<ObservedKind>(kObservedKinds, text);
}
std::optional<DifferenceKind> ParseDifferenceKind(std::string_view text) {
  return EnumOf<DifferenceKind>(kDifferenceKinds, text);
}
std::optional<SweepFigure> ParseSweepFigure(std::string_view text) {
  return EnumOf<SweepFigure>(kSweepFigures, text);
}
std::optional<Unit> ParseUnit(std::string_view text) { return EnumOf<Unit>(kUnits, text); }

}  // namespace lockstep::measure
