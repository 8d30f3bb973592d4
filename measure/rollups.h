#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/timing.h"
#include "measure/operation_stats.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

inline constexpr int64_t kRollupNs = 10 * timing::kSecond;

// Ten seconds of one workload, operation kind and metric, over all workers.
struct Rollup {
  uint32_t workload = 0;
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  v1::Metric metric = v1::METRIC_UNSPECIFIED;
  int64_t begin_ns = 0;  // from T; a multiple of kRollupNs
  uint64_t operations = 0;
  uint64_t bytes = 0;
  std::string buckets;  // encoded
};

// Rolls what was measured up to ten seconds. Seconds that are past are held encoded, some hundred
// bytes each; beyond limits::kRollupsOfAPhase later ones are left out. Not thread-safe.
class RollupTable {
 public:
  void Add(uint32_t workload, int64_t begin_ns, const OperationDelta& delta);
  // By workload, kind, metric and time.
  std::vector<Rollup> Take() const;
  size_t size() const { return open_.size() + closed_.size(); }

 private:
  using Key = std::tuple<uint32_t, v1::OperationKind, int64_t>;  // workload, kind, begin
  void CloseBefore(int64_t begin_ns);
  static OperationStats Open(const v1::OperationCounters& encoded);

  int64_t newest_ns_ = 0;
  std::map<Key, OperationStats> open_;
  std::map<Key, v1::OperationCounters> closed_;
};

}  // namespace lockstep::measure
