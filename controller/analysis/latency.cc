#include "controller/analysis/latency.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::controller {
namespace {

// fio's list.
constexpr double kPercents[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

// One nine more each time.
void AddTail(const measure::OperationStats& stats, v1::OperationReport* report) {
  constexpr int kMaxNines = 12;
  // The list above ends at 99.99. Each further nine is reported only while an I/O lies beyond it:
  // otherwise it would repeat the maximum under a finer name.
  double beyond = 1e-5;
  for (int nines = 5; nines <= kMaxNines && report->operations() * beyond >= 1; ++nines) {
    v1::Percentile* p = report->add_tail();
    p->set_percent(100 - 100 * beyond);
    p->set_latency_ns(std::clamp(stats.Percentile(p->percent()), report->latency_min_ns(),
                                 report->latency_max_ns()));
    beyond /= 10;
  }
}

}  // namespace

v1::OperationReport ReportOf(const measure::OperationStats& stats, const std::string& kind) {
  const measure::OperationCounts& counts = stats.counts();
  v1::OperationReport report;
  report.set_kind(kind);
  report.set_operations(static_cast<double>(counts.operations));
  report.set_bytes(static_cast<double>(counts.bytes));
  report.set_errors(static_cast<double>(counts.errors));
  report.set_short_transfers(static_cast<double>(counts.short_transfers));
  report.set_metric(stats.has(v1::METRIC_RESPONSE_TIME) ? "response_time" : "service_time");
  if (counts.operations == 0) return report;
  report.set_latency_min_ns(static_cast<double>(counts.latency_min_ns));
  report.set_latency_max_ns(static_cast<double>(counts.latency_max_ns));
  report.set_latency_avg_ns(static_cast<double>(counts.latency_sum_ns) /
                            static_cast<double>(counts.operations));
  for (double percent : kPercents) {
    v1::Percentile* p = report.add_percentiles();
    p->set_percent(percent);
    // A bucket's midpoint may lie beyond the largest value seen.
    p->set_latency_ns(
        std::clamp(stats.Percentile(percent), report.latency_min_ns(), report.latency_max_ns()));
  }
  AddTail(stats, &report);
  return report;
}

v1::OperationReport ReportOfMetric(const measure::OperationStats& stats, v1::Metric metric,
                                   const std::string& kind) {
  const common::Histogram& histogram = stats.histogram(metric);
  v1::OperationReport report;
  report.set_kind(kind);
  report.set_metric(metric == v1::METRIC_SUBMISSION_LATENCY ? "submission_latency"
                                                            : "service_time");
  report.set_operations(static_cast<double>(stats.counts().operations));
  double sum = 0;
  uint64_t count = 0;
  for (const auto& [bucket, n] : histogram.Occupied()) {
    // There is an exact sum of the main metric alone. The midpoints are as exact as the buckets.
    sum += common::BucketMidpoint(bucket) * static_cast<double>(n);
    count += n;
  }
  if (count == 0) return report;
  report.set_latency_avg_ns(sum / static_cast<double>(count));
  report.set_latency_min_ns(histogram.Percentile(0));
  report.set_latency_max_ns(histogram.Percentile(100));
  for (double percent : kPercents) {
    v1::Percentile* p = report.add_percentiles();
    p->set_percent(percent);
    p->set_latency_ns(histogram.Percentile(percent));
  }
  return report;
}

double PercentileOf(const v1::OperationReport& report, double percent) {
  for (const v1::Percentile& p : report.percentiles()) {
    if (p.percent() == percent) return p.latency_ns();
  }
  return 0;
}

std::string KindText(v1::OperationKind kind) {
  switch (kind) {
    case v1::OPERATION_KIND_READ:
      return "read";
    case v1::OPERATION_KIND_WRITE:
      return "write";
    case v1::OPERATION_KIND_TRIM:
      return "trim";
    case v1::OPERATION_KIND_FSYNC:
      return "fsync";
    default:
      return absl::StrCat("kind ", static_cast<int>(kind));
  }
}

}  // namespace lockstep::controller
