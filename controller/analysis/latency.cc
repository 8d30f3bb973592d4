#include "controller/analysis/latency.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "common/units.h"
#include "measure/report_states.h"

namespace lockstep::controller {

using measure::LatencyMetric;
namespace {

// fio's default percentile_list, so that both reports can be compared line by line.
constexpr double kPercents[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

// "99.9", "99.999999".
std::string PercentileText(double percent) {
  return absl::StrCat(absl::StrFormat("%.12g", percent));
}

// The percentile of `count` latencies, which `latency_ns` would be if there are latencies above it.
void AddPercentile(double percent, uint64_t count, double latency_ns,
                   google::protobuf::RepeatedPtrField<v1::Percentile>* list) {
  v1::Percentile* p = list->Add();
  p->set_percent(percent);
  const uint64_t above = count - common::RankOf(percent, count);
  p->set_above(static_cast<double>(above));
  if (above == 0) {
    // Binary fractions may put the quotient slightly below a whole number, hence the 1e-6.
    const double needed = std::ceil(100 / (100 - percent) - 1e-6);
    p->set_missing(absl::StrCat("no I/O took longer: p", PercentileText(percent),
                                " needs at least ", common::FormatCount(needed), ", here ",
                                count == 1 ? "is 1" : absl::StrCat("are ", count)));
    return;
  }
  if (above < kFewAbove) p->set_is_uncertain(true);
  p->set_latency_ns(latency_ns);
}

// One nine more each time.
void AddTail(const measure::OperationStats& stats, v1::OperationReport* report) {
  constexpr int kMaxNines = 12;
  // The list above ends at 99.99. Each further nine is reported only while an I/O lies beyond it:
  // otherwise it would repeat the maximum under a finer name.
  double beyond = 1e-5;
  for (int nines = 5; nines <= kMaxNines && report->operations() * beyond >= 1; ++nines) {
    const double percent = 100 - 100 * beyond;
    AddPercentile(
        percent, stats.counts().operations,
        std::clamp(stats.Percentile(percent), report->latency_min_ns(), report->latency_max_ns()),
        report->mutable_tail());
    // With as many I/Os as the percentile just needs, none is above it.
    if (!report->tail().rbegin()->has_latency_ns()) report->mutable_tail()->RemoveLast();
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
  report.set_metric(Text(stats.has(v1::METRIC_RESPONSE_TIME) ? LatencyMetric::kResponseTime
                                                             : LatencyMetric::kServiceTime));
  if (counts.operations == 0) return report;
  report.set_latency_min_ns(static_cast<double>(counts.latency_min_ns));
  report.set_latency_max_ns(static_cast<double>(counts.latency_max_ns));
  report.set_latency_avg_ns(static_cast<double>(counts.latency_sum_ns) /
                            static_cast<double>(counts.operations));
  for (double percent : kPercents) {
    // A bucket's midpoint may lie beyond the largest value seen.
    AddPercentile(
        percent, counts.operations,
        std::clamp(stats.Percentile(percent), report.latency_min_ns(), report.latency_max_ns()),
        report.mutable_percentiles());
  }
  AddTail(stats, &report);
  return report;
}

v1::OperationReport ReportOfMetric(const measure::OperationStats& stats, v1::Metric metric,
                                   const std::string& kind) {
  const common::Histogram& histogram = stats.histogram(metric);
  v1::OperationReport report;
  report.set_kind(kind);
  report.set_metric(Text(metric == v1::METRIC_SUBMISSION_LATENCY ? LatencyMetric::kSubmissionLatency
                                                                 : LatencyMetric::kServiceTime));
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
    AddPercentile(percent, count, histogram.Percentile(percent), report.mutable_percentiles());
  }
  return report;
}

const v1::Percentile* FindPercentile(const v1::OperationReport& report, double percent) {
  for (const v1::Percentile& p : report.percentiles()) {
    if (p.percent() == percent) return &p;
  }
  return nullptr;
}

double PercentileOf(const v1::OperationReport& report, double percent) {
  const v1::Percentile* found = FindPercentile(report, percent);
  return found == nullptr ? 0 : found->latency_ns();
}

bool IsUncertain(const v1::OperationReport& report, double percent) {
  const v1::Percentile* found = FindPercentile(report, percent);
  return found != nullptr && found->has_latency_ns() && found->is_uncertain();
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
