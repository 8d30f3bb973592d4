#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "controller/analysis/tail_counts.h"
#include "measure/run_data.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Confidence intervals of the percentiles of which the store keeps no blocks: those of single
// hosts, and of service times and submission latencies beside what is reported. They are made of
// the histograms of the stored intervals, of which only counts stay in memory: at most kMaxNumbers.
// With more hosts, workloads and kinds there are fewer and longer blocks, and no interval where
// fewer than kMinSeriesBlocks would be left. Pure; not thread-safe.
class StoredConfidence {
 public:
  static constexpr size_t kMaxNumbers = 1 << 21;  // 16 MiB
  static constexpr size_t kMaxSeriesBlocks = 128;
  static constexpr size_t kMinSeriesBlocks = 16;

  // `report` is what analyses have made of `phase`; both outlive this.
  StoredConfidence(const measure::PhaseData& phase, v1::PhaseReport* report,
                   size_t max_numbers = kMaxNumbers);

  // Whether nothing in the report needs it.
  bool empty() const { return series_.empty(); }
  // Adds a measured interval with its histograms; others are ignored. The intervals of each worker
  // come in ascending order.
  void Add(uint32_t worker, const v1::IntervalSample& sample);
  // Gives the report's percentiles their intervals. No interval comes after it.
  void Finish();

 private:
  // The worker, workload and kind of operation of latencies, and their metric.
  struct Key {
    uint32_t worker = 0;
    uint32_t workload = 0;
    v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
    v1::Metric metric = v1::METRIC_UNSPECIFIED;  // unspecified: the reported one
    auto operator<=>(const Key&) const = default;
  };
  struct Series {
    v1::OperationReport* report;
    TailCounts counts;
  };
  using Reports = std::map<Key, v1::OperationReport*>;

  static Reports ReportsIn(v1::PhaseReport* report);
  void Add(const Key& key, uint32_t interval, const common::Buckets* latencies);
  void FinishHost(const measure::WorkerPhaseData& worker);
  void FinishWorkloads();

  const measure::PhaseData& phase_;
  v1::PhaseReport* report_;
  std::set<uint32_t> workers_;  // with a result
  std::map<Key, Series> series_;
};

}  // namespace lockstep::controller
