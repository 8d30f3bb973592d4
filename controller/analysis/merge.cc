#include "controller/analysis/merge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::controller {
namespace {

// fio's list.
constexpr double kPercents[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

}  // namespace

void MergedCounters::Add(const v1::OperationCounters& c) {
  if (c.operations() != 0) {
    latency_min_ns_ =
        operations_ == 0 ? c.latency_min_ns() : std::min(latency_min_ns_, c.latency_min_ns());
    latency_max_ns_ = std::max(latency_max_ns_, c.latency_max_ns());
  }
  operations_ += c.operations();
  bytes_ += c.bytes();
  errors_ += c.errors();
  short_transfers_ += c.short_transfers();
  latency_sum_ns_ += static_cast<double>(c.latency_sum_ns());
  // In an open loop the latency that counts is the response time.
  const bool open_loop =
      std::any_of(c.histograms().begin(), c.histograms().end(),
                  [](const v1::Histogram& h) { return h.metric() == v1::METRIC_RESPONSE_TIME; });
  response_ = response_ || open_loop;
  for (const v1::Histogram& h : c.histograms()) {  // each was checked when it came in
    if (h.metric() == v1::METRIC_RESPONSE_TIME ||
        (h.metric() == v1::METRIC_SERVICE_TIME && !open_loop)) {
      (void)latencies_.AddEncoded(h.buckets());
    }
    if (h.metric() == v1::METRIC_SERVICE_TIME && open_loop) (void)services_.AddEncoded(h.buckets());
    if (h.metric() == v1::METRIC_SUBMISSION_LATENCY) (void)submissions_.AddEncoded(h.buckets());
    submission_ = submission_ || h.metric() == v1::METRIC_SUBMISSION_LATENCY;
  }
}

void MergedCounters::Add(const MergedCounters& other) {
  if (other.operations_ != 0) {
    latency_min_ns_ =
        operations_ == 0 ? other.latency_min_ns_ : std::min(latency_min_ns_, other.latency_min_ns_);
    latency_max_ns_ = std::max(latency_max_ns_, other.latency_max_ns_);
  }
  operations_ += other.operations_;
  bytes_ += other.bytes_;
  errors_ += other.errors_;
  short_transfers_ += other.short_transfers_;
  latency_sum_ns_ += other.latency_sum_ns_;
  response_ = response_ || other.response_;
  submission_ = submission_ || other.submission_;
  latencies_.Merge(other.latencies_);
  services_.Merge(other.services_);
  submissions_.Merge(other.submissions_);
}

v1::OperationReport MergedCounters::Report(const std::string& kind, double seconds) const {
  v1::OperationReport report;
  report.set_kind(kind);
  report.set_operations(static_cast<double>(operations_));
  report.set_bytes(static_cast<double>(bytes_));
  report.set_errors(static_cast<double>(errors_));
  report.set_short_transfers(static_cast<double>(short_transfers_));
  report.set_metric(response_ ? "response_time" : "service_time");
  if (seconds > 0) {
    report.set_iops(static_cast<double>(operations_) / seconds);
    report.set_bytes_per_second(static_cast<double>(bytes_) / seconds);
  }
  if (operations_ == 0) return report;
  report.set_latency_min_ns(static_cast<double>(latency_min_ns_));
  report.set_latency_max_ns(static_cast<double>(latency_max_ns_));
  report.set_latency_avg_ns(latency_sum_ns_ / static_cast<double>(operations_));
  for (double percent : kPercents) {
    v1::Percentile* p = report.add_percentiles();
    p->set_percent(percent);
    // A bucket's midpoint may lie beyond the largest value seen.
    p->set_latency_ns(std::clamp(latencies_.Percentile(percent), report.latency_min_ns(),
                                 report.latency_max_ns()));
  }
  return report;
}

v1::OperationReport MergedCounters::ReportOf(v1::Metric metric, const std::string& kind) const {
  const common::Histogram& histogram =
      metric == v1::METRIC_SUBMISSION_LATENCY ? submissions_ : services_;
  v1::OperationReport report;
  report.set_kind(kind);
  report.set_metric(metric == v1::METRIC_SUBMISSION_LATENCY ? "submission_latency"
                                                            : "service_time");
  report.set_operations(static_cast<double>(operations_));
  double sum = 0;
  uint64_t count = 0;
  for (const auto& [bucket, n] : histogram.Occupied()) {
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
