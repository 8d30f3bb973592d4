#include "controller/analysis/series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace lockstep::controller {
namespace {

using Column = google::protobuf::RepeatedField<double>;

// Each row spans a factor of 2^(1/4), about 19 %.
constexpr int kRowsOfAnOctave = 4;
constexpr v1::OperationKind kKinds[] = {v1::OPERATION_KIND_READ, v1::OPERATION_KIND_WRITE,
                                        v1::OPERATION_KIND_TRIM, v1::OPERATION_KIND_FSYNC};
constexpr const char* kKindNames[] = {"read", "write", "trim", "fsync"};

// Five significant digits are more than a chart can show. JSON would write up to 17, and a reply
// may have 100,000 points.
double Rounded(double value) {
  if (!std::isfinite(value) || value == 0) return 0;
  const double scale = std::pow(10, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

void Put(double value, Column* column) { column->Add(Rounded(value)); }

// The upper half of a float (bfloat16): the range of a float with two to three digits, in half the
// bytes. Ties go to even. NaN is not rounded, since a carry could turn it into another number.
void PutHalf(float value, std::string* bytes) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (!std::isnan(value)) bits += 0x7fff + ((bits >> 16) & 1);
  bytes->push_back(static_cast<char>(bits >> 16 & 0xff));
  bytes->push_back(static_cast<char>(bits >> 24));
}

// FleetPoint or HostTable::Span.
template <typename Span>
void AddSpans(const std::vector<Span>& all, v1::Spans* spans) {
  bool any = false;
  for (const Span& span : all) {
    const double begin = static_cast<double>(span.begin_ns) / 1e9;
    const double end = static_cast<double>(span.end_ns) / 1e9;
    // Milliseconds are enough for an axis, and keep the JSON short.
    spans->add_begin_seconds(std::round(begin * 1e3) / 1e3);
    spans->add_end_seconds(std::round(end * 1e3) / 1e3);
    if (span.interval_class != v1::INTERVAL_CLASS_MEASURED) continue;
    if (!any)
      spans->set_measured_from_seconds(spans->begin_seconds().at(spans->begin_seconds_size() - 1));
    spans->set_measured_to_seconds(spans->end_seconds().at(spans->end_seconds_size() - 1));
    any = true;
  }
}

void AddKinds(const std::vector<measure::FleetPoint>& points, v1::FleetSeries* fleet) {
  for (size_t k = 0; k < std::size(kKinds); ++k) {
    const bool any = std::any_of(points.begin(), points.end(), [&](const auto& point) {
      const auto found = point.kinds.find(kKinds[k]);
      return found != point.kinds.end() && found->second.operations > 0;
    });
    if (!any) continue;
    v1::KindSeries* kind = fleet->add_kinds();
    kind->set_kind(kKindNames[k]);
    for (const measure::FleetPoint& point : points) {
      const auto found = point.kinds.find(kKinds[k]);
      const auto counts =
          found == point.kinds.end() ? measure::FleetPoint::Counts() : found->second;
      const double seconds = std::max(point.seconds(), 1e-9);
      Put(static_cast<double>(counts.operations) / seconds, kind->mutable_iops());
      Put(static_cast<double>(counts.bytes) / seconds, kind->mutable_bytes_per_second());
    }
  }
}

void AddPoint(const measure::FleetPoint& point, bool devices, v1::FleetSeries* fleet) {
  const measure::FleetPoint::Counts ios = point.Ios();
  const double seconds = std::max(point.seconds(), 1e-9);
  const auto operations = static_cast<double>(ios.operations);
  Put(operations / seconds, fleet->mutable_iops());
  Put(static_cast<double>(ios.bytes) / seconds, fleet->mutable_bytes_per_second());
  fleet->add_errors(static_cast<double>(ios.errors));
  Put(operations > 0 ? static_cast<double>(point.latency_sum_ns) / operations : 0,
      fleet->mutable_mean_ns());
  Put(point.Percentile(50), fleet->mutable_p50_ns());
  Put(point.Percentile(90), fleet->mutable_p90_ns());
  Put(point.Percentile(99), fleet->mutable_p99_ns());
  Put(point.Percentile(99.9), fleet->mutable_p999_ns());
  Put(static_cast<double>(point.latency_max_ns), fleet->mutable_max_ns());
  Column* const quantiles[] = {fleet->mutable_host_min(), fleet->mutable_host_p10(),
                               fleet->mutable_host_median(), fleet->mutable_host_p90(),
                               fleet->mutable_host_max()};
  for (size_t i = 0; i < measure::kHostQuantiles; ++i) Put(point.host_iops[i], quantiles[i]);
  // Rounded() makes 0 of what is not a number, and 0 would be an index.
  fleet->add_jain(point.jain ? Rounded(*point.jain) : std::numeric_limits<double>::quiet_NaN());
  fleet->add_hosts(point.hosts);
  // Without any device in the phase these columns stay empty, because zeros would look measured.
  if (!devices) return;
  Put(point.devices.await_ns(), fleet->mutable_await_ns());
  Put(point.devices.queue_size(), fleet->mutable_queue_size());
  Put(point.devices.request_bytes(), fleet->mutable_request_bytes());
  Put(point.devices.busy_ratio(), fleet->mutable_busy_ratio());
}

int RowOf(uint32_t bucket) {
  // The logarithm of 0 is −∞, so values below 1 ns share the lowest row.
  return static_cast<int>(
      std::floor(std::log2(std::max(common::BucketMidpoint(bucket), 1.0)) * kRowsOfAnOctave));
}

}  // namespace

void AddFleetSeries(const std::vector<measure::FleetPoint>& points, v1::SeriesReply* reply) {
  AddSpans(points, reply->mutable_spans());
  v1::FleetSeries* fleet = reply->mutable_fleet();
  AddKinds(points, fleet);
  const bool devices = std::any_of(points.begin(), points.end(),
                                   [](const auto& point) { return !point.devices.empty(); });
  for (const measure::FleetPoint& point : points) AddPoint(point, devices, fleet);
}

void DropLoad(v1::FleetSeries* fleet) {
  v1::FleetSeries devices;
  devices.mutable_await_ns()->Swap(fleet->mutable_await_ns());
  devices.mutable_queue_size()->Swap(fleet->mutable_queue_size());
  devices.mutable_request_bytes()->Swap(fleet->mutable_request_bytes());
  devices.mutable_busy_ratio()->Swap(fleet->mutable_busy_ratio());
  *fleet = std::move(devices);
}

void AddHostSeries(const measure::HostTable& table, const std::map<uint32_t, std::string>& hosts,
                   v1::SeriesReply* reply) {
  AddSpans(table.spans, reply->mutable_spans());
  v1::HostSeries* series = reply->mutable_hosts();
  for (const auto& [worker, line] : table.lines) {
    v1::HostLine* out = series->add_hosts();
    const auto host = hosts.find(worker);
    out->set_host(host == hosts.end() ? absl::StrCat("worker ", worker) : host->second);
    out->set_worker_index(worker);
    for (const float value : line.iops) PutHalf(value, out->mutable_iops());
    for (const float value : line.p99_ns) PutHalf(value, out->mutable_p99_ns());
  }
}

void AddLatencySeries(const std::vector<measure::FleetPoint>& points, v1::SeriesReply* reply) {
  AddSpans(points, reply->mutable_spans());
  v1::LatencySeries* series = reply->mutable_latencies();
  // Rows reach from the shortest to the longest latency of the phase, not over the whole range of
  // the histogram.
  int first = 0;
  int last = -1;
  for (const measure::FleetPoint& point : points) {
    if (point.latencies.empty()) continue;
    const int low = RowOf(point.latencies.front().first);
    const int high = RowOf(point.latencies.back().first);
    first = last < first ? low : std::min(first, low);
    last = std::max(last, high);
  }
  if (last < first) return;
  const size_t rows = static_cast<size_t>(last - first) + 1;
  for (size_t row = 0; row <= rows; ++row) {
    series->add_edges_ns(
        Rounded(std::exp2(static_cast<double>(first + static_cast<int>(row)) / kRowsOfAnOctave)));
  }
  std::vector<double> shares(rows * points.size(), 0);
  for (size_t at = 0; at < points.size(); ++at) {
    double count = 0;
    for (const auto& [bucket, n] : points[at].latencies) count += static_cast<double>(n);
    for (const auto& [bucket, n] : points[at].latencies) {
      const auto row = static_cast<size_t>(RowOf(bucket) - first);
      // These are shares, not counts: slow intervals have few I/Os, and would hardly be seen.
      shares[row * points.size() + at] += static_cast<double>(n) / count;
    }
  }
  for (const double share : shares) PutHalf(static_cast<float>(share), series->mutable_shares());
}

}  // namespace lockstep::controller
