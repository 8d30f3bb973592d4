#include "controller/analysis/io_sides.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/units.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// A share of the time of reads and writes together.
constexpr double kMajorShare = 2.0 / 3;

void AddKind(const measure::StatsOfKinds& kinds, v1::OperationKind kind, IoSides::Side* side) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) return;
  const measure::OperationCounts counts = found->second.counts();
  side->ios += static_cast<double>(counts.operations);
  side->time_ns += found->second.InFlightNs();
  side->longest_ns = std::max(side->longest_ns, static_cast<double>(counts.latency_max_ns));
}

}  // namespace

double IoSides::ReadShare() const {
  const double all = reads.time_ns + writes.time_ns;
  return all > 0 ? reads.time_ns / all : 0;
}

double IoSides::Explained() const {
  // I/Os in flight at the same time add up to more than the time that their thread waited.
  return waited_ns > 0 ? std::min(1.0, (reads.time_ns + writes.time_ns) / waited_ns) : 1;
}

IoSides IoSidesOf(const PhaseView& view, int workload) {
  IoSides sides;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) != workload) continue;
      measure::StatsOfKinds kinds;
      measure::AddMeasured(result, &kinds);
      AddKind(kinds, v1::OPERATION_KIND_READ, &sides.reads);
      AddKind(kinds, v1::OPERATION_KIND_WRITE, &sides.writes);
    }
    for (const v1::ThreadResult& thread : worker.result.threads()) {
      if (static_cast<int>(thread.workload()) != workload) continue;
      sides.waited_ns += static_cast<double>(thread.wait_time_ns());
    }
  }
  return sides;
}

std::optional<CopySide> CopySideOf(const v1::Workload& copy, const IoSides& sides) {
  const double reads = sides.ReadShare();
  CopySide side;
  side.is_source = reads >= kMajorShare;
  // If neither side took most of the time, neither is the limit.
  if (!(sides.reads.time_ns + sides.writes.time_ns > 0) ||
      (!side.is_source && 1 - reads < kMajorShare)) {
    return std::nullopt;
  }
  const std::string& from = copy.copy().from();
  const std::string& to = copy.copy().to();
  side.ios = side.is_source ? sides.reads : sides.writes;
  side.workload = copy;
  // The rules for limits then see a workload that has this side's target alone.
  side.workload.clear_targets();
  side.workload.add_targets(side.is_source ? from : to);
  const std::string read = common::FormatDuration(sides.reads.mean_ns());
  const std::string written = common::FormatDuration(sides.writes.mean_ns());
  side.because = side.is_source
                     ? absl::StrFormat(
                           "its reads of %s took %.0f %% of its I/Os' time (%s each, its writes "
                           "of %s %s)",
                           from, 100 * reads, read, to, written)
                     : absl::StrFormat(
                           "its writes of %s took %.0f %% of its I/Os' time (%s each, its reads "
                           "of %s %s)",
                           to, 100 * (1 - reads), written, from, read);
  return side;
}

}  // namespace lockstep::controller
