#include "measure/operation_stats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::measure {
namespace {

constexpr int kService = IndexOf(v1::METRIC_SERVICE_TIME);
constexpr int kResponse = IndexOf(v1::METRIC_RESPONSE_TIME);

// The arrays are indexed by enumerator - 1. A metric that is added behind the last one would lie
// outside of them.
static_assert(v1::METRIC_SUBMISSION_LATENCY == kMetrics);

}  // namespace

void OperationCounts::Add(const OperationCounts& other) {
  operations += other.operations;
  bytes += other.bytes;
  errors += other.errors;
  short_transfers += other.short_transfers;
  latency_sum_ns += other.latency_sum_ns;
  if (other.operations == 0) return;
  latency_min_ns = std::min(latency_min_ns, other.latency_min_ns);
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
}

absl::StatusOr<OperationDelta> OperationDelta::Decode(const v1::OperationCounters& encoded) {
  if (!v1::OperationKind_IsValid(encoded.kind())) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation kind ", encoded.kind(), " is not known"));
  }
  OperationDelta delta;
  delta.kind = encoded.kind();
  delta.counts = {encoded.operations(),      encoded.bytes(),          encoded.errors(),
                  encoded.short_transfers(), encoded.latency_sum_ns(), encoded.latency_max_ns()};
  // On the wire 0 stands for the least latency of no operation.
  if (encoded.operations() != 0) delta.counts.latency_min_ns = encoded.latency_min_ns();
  for (const v1::Histogram& histogram : encoded.histograms()) {
    const int metric = IndexOf(histogram.metric());
    if (metric < 0 || metric >= kMetrics || delta.histograms[metric].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric ", histogram.metric(), " is not known, or comes twice"));
    }
    // Another scheme has other bounds of buckets. Counts of the same bucket number would be added
    // although they are of different latencies.
    if (histogram.scheme() != common::kHistogramScheme) {
      return absl::InvalidArgumentError(absl::StrCat("a histogram has scheme ", histogram.scheme(),
                                                     "; the one known here is ",
                                                     common::kHistogramScheme));
    }
    auto buckets = common::DecodeBuckets(histogram.buckets());
    if (!buckets.ok()) return buckets.status();
    delta.histograms[metric] = *std::move(buckets);
  }
  return delta;
}

v1::Metric OperationDelta::main_metric() const {
  // A response time begins when the I/O was due. Storage that stalls cannot hide behind I/Os that
  // were submitted late because of the stall (coordinated omission).
  return histograms[kResponse].has_value() ? v1::METRIC_RESPONSE_TIME : v1::METRIC_SERVICE_TIME;
}

double OperationStats::InFlightNs() const {
  if (!has(v1::METRIC_RESPONSE_TIME)) return static_cast<double>(counts_.latency_sum_ns);
  double sum = 0;
  for (const auto& [bucket, count] : histogram(v1::METRIC_SERVICE_TIME).Occupied()) {
    sum += common::BucketMidpoint(bucket) * static_cast<double>(count);
  }
  return sum;
}

common::Histogram* OperationStats::Recorded(int metric) {
  if (!histograms_[metric].has_value()) histograms_[metric].emplace();
  return &*histograms_[metric];
}

void OperationStats::BeginResponse() {
  if (!histograms_[kResponse].has_value() && histograms_[kService].has_value()) {
    histograms_[kResponse] = histograms_[kService];
  }
}

void OperationStats::Add(const OperationDelta& delta) {
  counts_.Add(delta.counts);
  const bool responds = delta.histograms[kResponse].has_value();
  // The copy comes before the service times of this delta are added, which would count twice
  // otherwise.
  if (responds) BeginResponse();
  for (int metric = 0; metric < kMetrics; ++metric) {
    if (delta.histograms[metric].has_value()) Recorded(metric)->Add(*delta.histograms[metric]);
  }
  if (!responds && has(v1::METRIC_RESPONSE_TIME) && delta.histograms[kService].has_value()) {
    Recorded(kResponse)->Add(*delta.histograms[kService]);
  }
}

void OperationStats::Add(const OperationStats& other) {
  counts_.Add(other.counts_);
  const bool responds = other.has(v1::METRIC_RESPONSE_TIME);
  if (responds) BeginResponse();
  if (!responds && has(v1::METRIC_RESPONSE_TIME) && other.has(v1::METRIC_SERVICE_TIME)) {
    Recorded(kResponse)->Merge(*other.histograms_[kService]);
  }
  for (int metric = 0; metric < kMetrics; ++metric) {
    if (other.histograms_[metric].has_value()) Recorded(metric)->Merge(*other.histograms_[metric]);
  }
}

void OperationStats::Add(const OperationCounts& counts,
                         const std::array<const uint32_t*, kMetrics>& dense) {
  counts_.Add(counts);
  // Most kinds do nothing in most intervals, and this saves a pass over 2,497 empty buckets for
  // each metric.
  if (counts.operations == 0) return;
  for (int metric = 0; metric < kMetrics; ++metric) {
    if (dense[metric] == nullptr) continue;
    common::Histogram* histogram = Recorded(metric);
    for (uint32_t bucket = 0; bucket < common::kBucketCount; ++bucket) {
      if (dense[metric][bucket] != 0) histogram->AddBucket(bucket, dense[metric][bucket]);
    }
  }
}

const common::Histogram& OperationStats::histogram(v1::Metric metric) const {
  static const auto* const kEmpty = new common::Histogram();
  const auto& found = histograms_[IndexOf(metric)];
  return found.has_value() ? *found : *kEmpty;
}

v1::OperationCounters OperationStats::Encode(v1::OperationKind kind) const {
  v1::OperationCounters encoded;
  encoded.set_kind(kind);
  encoded.set_operations(counts_.operations);
  encoded.set_bytes(counts_.bytes);
  encoded.set_errors(counts_.errors);
  encoded.set_short_transfers(counts_.short_transfers);
  encoded.set_latency_sum_ns(counts_.latency_sum_ns);
  // The largest uint64_t, which stands for no latency here, would not fit a bigint of the store.
  encoded.set_latency_min_ns(counts_.operations == 0 ? 0 : counts_.latency_min_ns);
  encoded.set_latency_max_ns(counts_.latency_max_ns);
  for (int metric = 0; metric < kMetrics; ++metric) {
    // If everything failed, an empty histogram of service times carries the errors.
    if (!histograms_[metric].has_value() && !(metric == kService && counts_.operations == 0)) {
      continue;
    }
    v1::Histogram* histogram = encoded.add_histograms();
    histogram->set_metric(static_cast<v1::Metric>(metric + 1));
    histogram->set_scheme(common::kHistogramScheme);
    if (histograms_[metric].has_value()) histogram->set_buckets(histograms_[metric]->Encode());
  }
  return encoded;
}

bool OperationStats::Equals(const OperationDelta& delta) const {
  if (counts_.operations != delta.counts.operations || counts_.bytes != delta.counts.bytes ||
      counts_.errors != delta.counts.errors) {
    return false;
  }
  for (int metric = 0; metric < kMetrics; ++metric) {
    const common::Buckets ours =
        histograms_[metric].has_value() ? histograms_[metric]->Occupied() : common::Buckets();
    // A metric that is absent and one without a value are the same: a worker may send either.
    if (ours != delta.histograms[metric].value_or(common::Buckets())) return false;
  }
  return true;
}

}  // namespace lockstep::measure
