#include "controller/report/kind_sums.h"

namespace lockstep::controller {

KindSum SumOfKind(const v1::PhaseReport& phase, const std::string& kind) {
  KindSum sum;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    for (const v1::OperationReport& o : w.operations()) {
      if (o.kind() != kind) continue;
      sum.iops += o.iops();
      sum.bytes_per_second += o.bytes_per_second();
      sum.operations += o.operations();
      sum.latency_ns += o.latency_avg_ns() * o.operations();
    }
  }
  // Each workload has its own window. A sum is over the window in which all of them ran, of which
  // only the totals are known: each kind gets its share of these.
  if (kind != "fsync") {
    double iops = 0;
    double bytes_per_second = 0;
    for (const v1::WorkloadReport& w : phase.workloads()) {
      iops += w.total().iops();
      bytes_per_second += w.total().bytes_per_second();
    }
    if (iops > 0) sum.iops *= phase.total().iops() / iops;
    if (bytes_per_second > 0) {
      sum.bytes_per_second *= phase.total().bytes_per_second() / bytes_per_second;
    }
  }
  return sum;
}

}  // namespace lockstep::controller
