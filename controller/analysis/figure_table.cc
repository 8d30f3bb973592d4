#include "controller/analysis/figure_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::Unit;

// A percentile with at least ten I/Os beyond it. With fewer, single I/Os decide it, and two runs
// differ by chance.
std::optional<double> Percentile(const v1::FigureRow& row, double percent) {
  if (row.operation().operations() * (100 - percent) / 100 < 10) return std::nullopt;
  for (const v1::Percentile& p : row.operation().percentiles()) {
    if (p.percent() == percent) return p.latency_ns();
  }
  return std::nullopt;
}

bool IsTotal(const v1::FigureRow& row) {
  return measure::Is(row.operation(), measure::Operations::kTotal);
}

bool IsWhole(const v1::FigureRow& row) { return row.workload().empty() && IsTotal(row); }

// The shares of the whole phase's time, which are known of no part of it.
template <auto kHas, auto kGet>
std::optional<double> Spent(const v1::PhaseOfRun& phase, const v1::FigureRow& row) {
  if (!IsWhole(row) || !(phase.time_spent().*kHas)()) return std::nullopt;
  return (phase.time_spent().*kGet)();
}

using v1::TimeSpent;
constexpr v1::Direction kHigher = v1::DIRECTION_HIGHER_IS_BETTER;
constexpr v1::Direction kLower = v1::DIRECTION_LOWER_IS_BETTER;
constexpr v1::Direction kNeither = v1::DIRECTION_NEITHER;
constexpr FigureRole kResult = FigureRole::kResult;
constexpr FigureRole kExplains = FigureRole::kExplains;

}  // namespace

const FigureKind kFigures[] = {
    {FigureId::kIops, "iops", Unit::kPerSecond, kHigher, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return row.operation().has_iops() ? std::optional(row.operation().iops()) : std::nullopt;
     }},
    {FigureId::kThroughput, "throughput", Unit::kBytesPerSecond, kHigher, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return row.operation().has_bytes_per_second()
                  ? std::optional(row.operation().bytes_per_second())
                  : std::nullopt;
     }},
    // The share of operations that failed. A count would differ between runs of different speed.
    {FigureId::kErrors, "errors", Unit::kRatio, kLower, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       const double all = row.operation().operations() + row.operation().errors();
       return all > 0 ? std::optional(row.operation().errors() / all) : std::nullopt;
     }},
    {FigureId::kMean, "mean", Unit::kNanoseconds, kLower, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return row.operation().latency_avg_ns() > 0 ? std::optional(row.operation().latency_avg_ns())
                                                   : std::nullopt;
     }},
    {FigureId::kPercentile, "p50", Unit::kNanoseconds, kLower, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 50); }},
    {FigureId::kPercentile, "p99", Unit::kNanoseconds, kLower, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 99); }},
    {FigureId::kPercentile, "p99.9", Unit::kNanoseconds, kLower, kResult,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 99.9); }},
    {FigureId::kFairness, "jain", std::nullopt, kHigher, kResult,
     [](const v1::PhaseOfRun& phase, const v1::FigureRow& row) {
       return IsWhole(row) && phase.jain() > 0 ? std::optional(phase.jain()) : std::nullopt;
     }},
    // More throughput brings more of these by itself, so that neither direction is better.
    {FigureId::kTimeSpent, "context_switches_per_second", Unit::kPerSecond, kNeither, kExplains,
     &Spent<&TimeSpent::has_context_switches_per_second, &TimeSpent::context_switches_per_second>},
    {FigureId::kTimeSpent, "context_switches_per_io", Unit::kPerIo, kLower, kExplains,
     &Spent<&TimeSpent::has_context_switches_per_io, &TimeSpent::context_switches_per_io>},
    {FigureId::kTimeSpent, "interrupts_per_second", Unit::kPerSecond, kNeither, kExplains,
     &Spent<&TimeSpent::has_interrupts_per_second, &TimeSpent::interrupts_per_second>},
    // Coalesced interrupts are fewer and later: that may be better or worse.
    {FigureId::kTimeSpent, "interrupts_per_io", Unit::kPerIo, kNeither, kExplains,
     &Spent<&TimeSpent::has_interrupts_per_io, &TimeSpent::interrupts_per_io>},
    {FigureId::kTimeSpent, "cpu_per_io", Unit::kNanoseconds, kLower, kExplains,
     &Spent<&TimeSpent::has_cpu_ns_per_io, &TimeSpent::cpu_ns_per_io>},
    {FigureId::kTimeSpent, "wait_ratio", Unit::kRatio, kNeither, kExplains,
     &Spent<&TimeSpent::has_wait_ratio, &TimeSpent::wait_ratio>},
    {FigureId::kTimeSpent, "fsync_ratio", Unit::kRatio, kNeither, kExplains,
     &Spent<&TimeSpent::has_fsync_ratio, &TimeSpent::fsync_ratio>},
    {FigureId::kTimeSpent, "rate_ratio", Unit::kRatio, kNeither, kExplains,
     &Spent<&TimeSpent::has_rate_ratio, &TimeSpent::rate_ratio>},
    {FigureId::kTimeSpent, "think_ratio", Unit::kRatio, kNeither, kExplains,
     &Spent<&TimeSpent::has_think_ratio, &TimeSpent::think_ratio>},
    {FigureId::kTimeSpent, "amplification", Unit::kBytesPerByte, kLower, kExplains,
     &Spent<&TimeSpent::has_amplification, &TimeSpent::amplification>},
};
const int kFigureCount = static_cast<int>(std::size(kFigures));

FigureKey MeanBeside(FigureKey key) {
  key.figure = 0;
  while (kFigures[key.figure].id != FigureId::kMean) ++key.figure;
  return key;
}

std::vector<std::string> JudgedOnRequest() {
  std::vector<std::string> names;
  for (const FigureKind& kind : kFigures) {
    const bool explains = kind.role == kExplains && kind.direction != kNeither;
    if (explains || kind.id == FigureId::kPercentile) names.emplace_back(kind.name);
  }
  return names;
}

std::vector<const v1::FigureRow*> ComparedRowsOf(const v1::PhaseOfRun& phase) {
  std::set<std::string> parts;  // what the total is made of
  for (const v1::FigureRow& row : phase.rows()) {
    if (!row.workload().empty() && !IsTotal(row)) {
      parts.insert(absl::StrCat(row.workload(), "/", row.operation().kind()));
    }
  }
  std::vector<const v1::FigureRow*> rows;
  for (const v1::FigureRow& row : phase.rows()) {
    // If a phase has one part, its row repeats the total, and a reader would see one change twice.
    if (IsWhole(row) || (!IsTotal(row) && parts.size() >= 2)) rows.push_back(&row);
  }
  return rows;
}

std::map<FigureKey, double> FiguresOf(const v1::RunFigures& run) {
  std::map<FigureKey, double> figures;
  for (const v1::PhaseOfRun& phase : run.phases()) {
    for (const v1::FigureRow* row : ComparedRowsOf(phase)) {
      for (int f = 0; f < kFigureCount; ++f) {
        const std::optional<double> value = kFigures[f].of(phase, *row);
        if (!value) continue;
        figures[{phase.index(), phase.name(), row->workload(), row->operation().kind(), f}] =
            *value;
      }
    }
  }
  return figures;
}

bool IsNothing(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

std::string WhyUnfit(const v1::RunFigures& run) {
  if (!measure::Is(run.run(), measure::RunState::kDone))
    return absl::StrCat("it is ", run.run().state());
  if (run.run().degraded()) return "it lost hosts";
  for (const v1::PhaseOfRun& phase : run.phases()) {
    if (phase.invalid()) return absl::StrCat("its phase ", phase.name(), " is invalid");
  }
  return "";
}

std::string WhyLeftOut(const v1::RunFigures& run) {
  if (const std::string why = WhyUnfit(run); !why.empty()) return why;
  if (!run.phases().empty()) return "";
  if (run.has_load()) return "the figures of its load are not made yet";
  return run.observed().empty() ? "it has no phase with load, or its figures are not made yet"
                                : "it has no phase with load";
}

}  // namespace lockstep::controller
