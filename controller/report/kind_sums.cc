#include "controller/report/kind_sums.h"

namespace lockstep::controller {
namespace {

// `of`: the phase, or one of its hosts. `is_one_window`: rates of the workloads may be added up.
template <typename T>
KindSum SumIn(const T& of, measure::Operations kind, bool is_one_window) {
  KindSum sum;
  for (const auto& workload : of.workloads()) {
    for (const v1::OperationReport& o : workload.operations()) {
      if (!measure::Is(o, kind)) continue;
      sum.iops += o.iops();
      sum.bytes_per_second += o.bytes_per_second();
      sum.operations += o.operations();
      sum.latency_ns += o.latency_avg_ns() * o.operations();
    }
  }
  if (is_one_window) return sum;
  // Rates over different times have no sum: then the report has those over the phase's window.
  sum.iops = sum.bytes_per_second = 0;
  for (const v1::KindRate& rate : of.kind_rates()) {
    if (!measure::Is(rate, kind)) continue;
    sum.iops = rate.iops();
    sum.bytes_per_second = rate.bytes_per_second();
  }
  return sum;
}

}  // namespace

KindSum SumOfKind(const v1::PhaseReport& phase, measure::Operations kind) {
  return SumIn(phase, kind, phase.kind_rates().empty());
}

KindSum SumOfKind(const v1::PhaseReport& phase, const v1::HostReport& host,
                  measure::Operations kind) {
  return SumIn(host, kind, phase.kind_rates().empty());
}

}  // namespace lockstep::controller
