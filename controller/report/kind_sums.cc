#include "controller/report/kind_sums.h"

namespace lockstep::controller {

KindSum SumOfKind(const v1::PhaseReport& phase, measure::Operations kind) {
  KindSum sum;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    for (const v1::OperationReport& o : w.operations()) {
      if (!measure::Is(o, kind)) continue;
      sum.iops += o.iops();
      sum.bytes_per_second += o.bytes_per_second();
      sum.operations += o.operations();
      sum.latency_ns += o.latency_avg_ns() * o.operations();
    }
  }
  // Rates over different times have no sum: then the report has those over the phase's window.
  if (phase.kind_rates_size() > 0) sum.iops = sum.bytes_per_second = 0;
  for (const v1::KindRate& rate : phase.kind_rates()) {
    if (!measure::Is(rate, kind)) continue;
    sum.iops = rate.iops();
    sum.bytes_per_second = rate.bytes_per_second();
  }
  return sum;
}

}  // namespace lockstep::controller
