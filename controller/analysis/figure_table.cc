#include "controller/analysis/figure_table.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// A percentile with at least ten I/Os beyond it. With fewer, single I/Os decide it, and two runs
// differ by chance.
std::optional<double> Percentile(const v1::FigureRow& row, double percent) {
  if (row.operation().operations() * (100 - percent) / 100 < 10) return std::nullopt;
  for (const v1::Percentile& p : row.operation().percentiles()) {
    if (p.percent() == percent) return p.latency_ns();
  }
  return std::nullopt;
}

bool IsWhole(const v1::FigureRow& row) {
  return row.workload().empty() && row.operation().kind() == "total";
}

}  // namespace

const FigureKind kFigures[] = {
    {"iops", "1/s", true,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return std::optional(row.operation().iops());
     }},
    {"throughput", "B/s", true,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return std::optional(row.operation().bytes_per_second());
     }},
    // The share of operations that failed. A count would differ between runs of different speed.
    {"errors", "%", false,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       const double all = row.operation().operations() + row.operation().errors();
       return all > 0 ? std::optional(row.operation().errors() / all) : std::nullopt;
     }},
    {"mean", "ns", false,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) {
       return row.operation().latency_avg_ns() > 0 ? std::optional(row.operation().latency_avg_ns())
                                                   : std::nullopt;
     }},
    {"p50", "ns", false,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 50); }},
    {"p99", "ns", false,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 99); }},
    {"p99.9", "ns", false,
     [](const v1::PhaseOfRun&, const v1::FigureRow& row) { return Percentile(row, 99.9); }},
    {"jain", "", true,
     [](const v1::PhaseOfRun& phase, const v1::FigureRow& row) {
       return IsWhole(row) && phase.jain() > 0 ? std::optional(phase.jain()) : std::nullopt;
     }},
};
const int kFigureCount = static_cast<int>(std::size(kFigures));

std::map<FigureKey, double> FiguresOf(const v1::RunFigures& run) {
  std::map<FigureKey, double> figures;
  for (const v1::PhaseOfRun& phase : run.phases()) {
    std::set<std::string> parts;  // what the total is made of
    for (const v1::FigureRow& row : phase.rows()) {
      if (!row.workload().empty() && row.operation().kind() != "total") {
        parts.insert(absl::StrCat(row.workload(), "/", row.operation().kind()));
      }
    }
    for (const v1::FigureRow& row : phase.rows()) {
      // Where a phase has one part, its row repeats the total, and a reader would see one change
      // twice.
      if (!IsWhole(row) && (row.operation().kind() == "total" || parts.size() < 2)) continue;
      for (int f = 0; f < kFigureCount; ++f) {
        const std::optional<double> value = kFigures[f].of(phase, row);
        if (!value) continue;
        figures[{phase.index(), phase.name(), row.workload(), row.operation().kind(), f}] = *value;
      }
    }
  }
  return figures;
}

std::string WhyLeftOut(const v1::RunFigures& run) {
  if (!measure::Is(run.run(), measure::RunState::kDone))
    return absl::StrCat("it is ", run.run().state());
  if (run.run().degraded()) return "it lost hosts";
  for (const v1::PhaseOfRun& phase : run.phases()) {
    if (phase.invalid()) return absl::StrCat("its phase ", phase.name(), " is invalid");
  }
  if (run.phases().empty()) return "it has no phase with load, or its figures are not made yet";
  return "";
}

}  // namespace lockstep::controller
