#include "controller/analysis/backlogs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/statistics.h"
#include "measure/latency_blocks.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

constexpr double kKeeps = 0.98;

// When the workload's I/Os are due, seconds from T, and at which rate: it changes evenly from
// `first_rate` by `slope` per second (Schedule::Expected()).
struct DueTime {
  double begin = 0, end = 0;
  double first_rate = 0, slope = 0;

  double Between(double from, double to) const {
    const double middle = (from + to) / 2 - begin;
    return (to - from) * (first_rate + slope * middle);
  }
};

// The end of the workload's schedule: of a load that was cut short, or that ended by itself, its
// own.
double EndOf(const PhaseView& view, int workload) {
  double end = view.LastMeasuredSeconds();
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) != workload || result.ended_ns() <= 0) continue;
      end = std::min(end, static_cast<double>(result.ended_ns()) / 1e9);
    }
  }
  return end;
}

DueTime DueTimeOf(const PhaseView& view, int workload, double mean_rate) {
  const v1::Workload& w = view.load().workloads(workload);
  DueTime due;
  due.begin = static_cast<double>(view.BeginNs(static_cast<uint32_t>(workload))) / 1e9;
  due.end = EndOf(view, workload);
  due.first_rate = mean_rate;
  if (!HasChangingRate(w)) return due;
  // The rate changes over the time that was planned, as workload_setup.cc has it.
  const int64_t planned_ns = w.runtime_ns() > 0
                                 ? v1::OwnEndNs(w, view.phase().phase.ramp_ns)
                                 : view.phase().phase.ramp_ns + view.load().duration_ns();
  const double planned = static_cast<double>(planned_ns) / 1e9 - due.begin;
  if (!(planned > 0)) return due;
  const double change = (w.open_loop().ramp_to_ratio() - 1) / planned;  // of the first rate
  const double at_middle = 1 + change * (due.end - due.begin) / 2;
  due.first_rate = at_middle > 0 ? mean_rate / at_middle : 0;
  due.slope = due.first_rate * change;
  return due;
}

// The I/Os that the workload completed in a block.
double CountIn(const measure::EncodedLatencies& block, int workload) {
  uint64_t count = 0;
  for (const auto& [key, encoded] : block) {
    if (static_cast<int>(key.first) != workload || !measure::IsIo(key.second)) continue;
    // As throughput.cc: an imported archive may hold anything.
    const auto latencies = common::DecodeBuckets(encoded);
    if (!latencies.ok()) continue;
    for (const auto& [bucket, times] : *latencies) count += times;
  }
  return static_cast<double>(count);
}

// The intervals of a block, where so many were measured: LatencyBlocks makes two neighbours one
// until there are few enough.
double BlockIntervals(double measured) {
  double intervals = 1;
  while (std::ceil(measured / intervals) > measure::LatencyBlocks::kMaxBlocks) intervals *= 2;
  return intervals;
}

// The share of the I/Os that were due in each whole block of the workload's time which it completed
// there. Empty if there are no blocks.
std::vector<double> KeptByBlock(const PhaseView& view, int workload, double mean_rate,
                                double begin) {
  const std::vector<measure::EncodedLatencies>& blocks = view.phase().blocks;
  const double interval = static_cast<double>(view.phase().phase.interval_ns) / 1e9;
  const double measured = view.LastMeasuredSeconds() - begin;
  if (blocks.empty() || !(interval > 0) || !(measured > 0)) return {};
  constexpr double kRounding = 1e-6;  // times are of nanoseconds
  const double length = interval * BlockIntervals(std::ceil(measured / interval - kRounding));
  const DueTime due = DueTimeOf(view, workload, mean_rate);
  std::vector<double> kept;
  for (size_t i = 0; begin + static_cast<double>(i + 1) * length <= due.end + kRounding; ++i) {
    const double from = begin + static_cast<double>(i) * length;
    const double expected = due.Between(from, from + length);
    // Before the workload's begin nothing is due, and a rate may begin with nothing.
    if (from < due.begin - kRounding || expected < 1) continue;
    // In blocks behind the last of the list nothing was completed.
    kept.push_back((i < blocks.size() ? CountIn(blocks[i], workload) : 0) / expected);
  }
  return kept;
}

// The middle of some shares. If there are few, the one that has the stall in it can be the middle.
double UsualOf(const std::vector<double>& kept) {
  constexpr size_t kFew = 8;
  return kept.size() < kFew ? *std::max_element(kept.begin(), kept.end()) : MedianOf(kept);
}

}  // namespace

bool StaysBehind(const PhaseView& view, int workload, const v1::PhaseReport& report) {
  // Blocks and series have the I/Os of lost hosts, and what was due leaves these hosts out.
  const std::vector<measure::WorkerPhaseData>& workers = view.phase().workers;
  if (std::any_of(workers.begin(), workers.end(),
                  [](const measure::WorkerPhaseData& worker) { return !worker.has_result; })) {
    return true;
  }
  const double due = report.workloads(workload).due_per_second();
  const bool changes = HasChangingRate(view.load().workloads(workload));
  std::vector<double> kept = KeptByBlock(view, workload, due, report.points_begin_seconds());
  if (kept.empty() && view.load().workloads_size() == 1 && !changes && due > 0) {
    for (const double iops : report.iops_by_interval()) {
      // Of an interval that a host did not deliver nothing is known.
      if (!std::isnan(iops)) kept.push_back(iops / due);
    }
  }
  if (kept.empty()) return true;
  if (UsualOf(kept) < kKeeps) return true;
  if (!changes) return false;
  // A rate that grows beyond what is served does so in the end.
  constexpr size_t kLastPart = 4;
  const size_t last = std::max<size_t>(1, kept.size() / kLastPart);
  return UsualOf(std::vector<double>(kept.end() - static_cast<std::ptrdiff_t>(last), kept.end())) <
         kKeeps;
}

}  // namespace lockstep::controller
