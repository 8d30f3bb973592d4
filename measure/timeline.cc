#include "measure/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::measure {
namespace {

// Intervals that one point or span stands for, at most: twice as many still fit into 32 bits.
constexpr uint32_t kMaxJoined = 1U << 30;
// 0 would be the rate of a host that measured and did nothing.
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Two values of neighbouring spans, weighted by their lengths; one that is not there has no weight.
float Mean(float a, float b, double a_weight, double b_weight) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const double weight = a_weight + b_weight;
  return static_cast<float>(weight > 0 ? (a * a_weight + b * b_weight) / weight : (a + b) / 2);
}

// Two percentiles have no mean: without the histograms only the worse one can stand for both spans.
float Larger(float a, float b) {
  if (std::isnan(a)) return b;
  return std::isnan(b) ? a : std::max(a, b);
}

double Length(const HostTable::Span& span) {
  return static_cast<double>(span.end_ns - span.begin_ns);
}

int64_t Ns(double seconds) { return std::llround(seconds * 1e9); }

// Whether the one ends where the other begins. Half a length allows for clocks that differ, and
// still tells a missing interval, which is a whole length.
bool Adjoin(int64_t end_ns, int64_t begin_ns, int64_t length_ns) {
  return std::abs(begin_ns - end_ns) <= length_ns / 2;
}

// Neighbours made into one until each is `step_ns` long.
std::vector<FleetPoint> Joined(const std::vector<FleetPoint>& points, int64_t step_ns) {
  std::vector<FleetPoint> joined;
  for (const FleetPoint& point : points) {
    FleetPoint* last = joined.empty() ? nullptr : &joined.back();
    const int64_t length = point.end_ns - point.begin_ns;
    // A little less than a step is one: ends of intervals differ by what clocks do.
    const bool joins = last != nullptr && last->interval_class == point.interval_class &&
                       last->end_ns - last->begin_ns + length / 20 < step_ns &&
                       Adjoin(last->end_ns, point.begin_ns, length);
    joins ? last->Append(point) : joined.push_back(point);
  }
  return joined;
}

// Every two neighbours made into one, whatever they are.
std::vector<FleetPoint> Pairs(std::vector<FleetPoint> points) {
  std::vector<FleetPoint> pairs;
  for (size_t i = 0; i < points.size(); ++i) {
    i % 2 == 0 ? pairs.push_back(std::move(points[i])) : pairs.back().Append(points[i]);
  }
  return pairs;
}

}  // namespace

void DeviceLoad::Add(const DeviceLoad& other) {
  requests += other.requests;
  bytes += other.bytes;
  time_ms += other.time_ms;
  queue_time_ms += other.queue_time_ms;
  busy_ms += other.busy_ms;
  seconds += other.seconds;
}

std::array<double, kHostQuantiles> QuantilesOf(std::vector<double> values) {
  std::array<double, kHostQuantiles> quantiles = {};
  if (values.empty()) return quantiles;
  std::sort(values.begin(), values.end());
  constexpr double kAt[kHostQuantiles] = {0, 0.1, 0.5, 0.9, 1};
  for (size_t i = 0; i < kHostQuantiles; ++i) {
    quantiles[i] =
        // The nearest rank: each quantile is the rate of a host, and not one between two hosts that
        // none had.
        values[static_cast<size_t>(std::lround(kAt[i] * static_cast<double>(values.size() - 1)))];
  }
  return quantiles;
}

std::optional<double> JainOf(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  if (values.size() < 2 || !(squares > 0)) return std::nullopt;
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

FleetPoint::Counts FleetPoint::Ios() const {
  Counts ios;
  for (const auto& [kind, counts] : kinds) {
    if (!IsIo(kind)) continue;
    ios.operations += counts.operations;
    ios.bytes += counts.bytes;
    ios.errors += counts.errors;
  }
  return ios;
}

void FleetPoint::Append(const FleetPoint& later) {
  const double before = intervals;
  const double after = later.intervals;
  const auto shared = [](const FleetPoint& point) -> uint32_t {
    if (!point.jain) return 0;
    return point.jain_intervals > 0 ? point.jain_intervals : point.intervals;
  };
  const uint32_t shared_before = shared(*this);
  const uint32_t shared_after = shared(later);
  for (size_t i = 0; i < kHostQuantiles; ++i) {
    // Quantiles over the hosts cannot be added up exactly without the hosts' own rates. The mean
    // keeps their shape, and the latencies below stay exact.
    host_iops[i] = (host_iops[i] * before + later.host_iops[i] * after) / (before + after);
  }
  if (shared_after > 0) {
    jain = (jain.value_or(0) * shared_before + *later.jain * shared_after) /
           (shared_before + shared_after);
  }
  jain_intervals = shared_before + shared_after;
  intervals += later.intervals;
  end_ns = later.end_ns;
  for (const auto& [kind, counts] : later.kinds) {
    Counts& sum = kinds[kind];
    sum.operations += counts.operations;
    sum.bytes += counts.bytes;
    sum.errors += counts.errors;
  }
  latency_sum_ns += later.latency_sum_ns;
  latency_max_ns = std::max(latency_max_ns, later.latency_max_ns);
  latencies = common::SumOf(latencies, later.latencies);
  // The same hosts do both spans, and a sum would count them twice.
  hosts = std::max(hosts, later.hosts);
  devices.Add(later.devices);
}

double FleetPoint::Percentile(double percent) const {
  uint64_t count = 0;
  for (const auto& [bucket, n] : latencies) count += n;
  if (count == 0) return 0;
  const uint64_t rank = common::RankOf(percent, count);
  if (rank >= count) return 0;
  // A bucket's midpoint may be beyond the longest latency in it.
  const double longest = latency_max_ns > 0 ? static_cast<double>(latency_max_ns)
                                            : common::BucketMidpoint(latencies.back().first);
  uint64_t seen = 0;
  for (const auto& [bucket, n] : latencies) {
    seen += n;
    if (seen >= rank) return std::min(common::BucketMidpoint(bucket), longest);
  }
  return longest;
}

std::vector<FleetPoint> Thinned(const std::vector<FleetPoint>& points, int64_t step_ns,
                                size_t max_points) {
  if (points.empty()) return {};
  max_points = std::max<size_t>(1, max_points);
  const int64_t span = points.back().end_ns - points.front().begin_ns;
  if (points.size() > max_points)
    step_ns = std::max(step_ns, span / static_cast<int64_t>(max_points));
  while (true) {
    std::vector<FleetPoint> thin = Joined(points, step_ns);
    // Each class may end with a shorter one.
    // A step beyond the whole span joins nothing more: classes alternate, or gaps lie between, and
    // the list stays longer than `max_points`.
    if (thin.size() <= max_points || step_ns > span) return thin;
    // To double the step could leave half as many points as there may be.
    step_ns += step_ns / 8 + 1;
  }
}

void HostTable::Halve(Neighbours which) {
  std::vector<size_t> firsts;  // of each new span
  for (size_t i = 0; i < spans.size(); ++i) {
    firsts.push_back(i);
    if (i + 1 == spans.size()) break;
    const Span& next = spans[i + 1];
    if (which == Neighbours::kAny ||
        (spans[i].interval_class == next.interval_class &&
         Adjoin(spans[i].end_ns, next.begin_ns, next.end_ns - next.begin_ns))) {
      ++i;
    }
  }
  const auto second = [&](size_t n) {
    return (n + 1 < firsts.size() ? firsts[n + 1] : spans.size()) - 1;
  };
  // This is done in place: a new span never lies behind those that it is made of.
  for (auto& [worker, line] : lines) {
    for (size_t n = 0; n < firsts.size(); ++n) {
      const size_t a = firsts[n];
      const size_t b = second(n);
      line.iops[n] = a == b ? line.iops[a]
                            : Mean(line.iops[a], line.iops[b], Length(spans[a]), Length(spans[b]));
      line.p99_ns[n] = Larger(line.p99_ns[a], line.p99_ns[b]);
    }
    line.iops.resize(firsts.size());
    line.p99_ns.resize(firsts.size());
  }
  for (size_t n = 0; n < firsts.size(); ++n) {
    spans[n] = {spans[firsts[n]].begin_ns, spans[second(n)].end_ns,
                spans[firsts[n]].interval_class};
  }
  spans.resize(firsts.size());
}

void HostTable::Thin(size_t max_spans, int64_t step_ns) {
  const auto is_fine = [&] {
    if (spans.size() > std::max<size_t>(1, max_spans)) return false;
    // The middle one: each class may end with a shorter one.
    const size_t middle = spans.size() / 2;
    // As in Joined(), a span that lacks a twentieth of the step is long enough.
    return spans.empty() || spans[middle].end_ns - spans[middle].begin_ns >= step_ns / 20 * 19;
  };
  while (!is_fine()) {
    const size_t before = spans.size();
    Halve(Neighbours::kOfOneClass);
    // Neighbours of different classes, or with a gap between them, stay apart. Without this the
    // loop would not end.
    if (spans.size() == before) return;
  }
}

void Timeline::Add(const MergedInterval& merged) {
  FleetPoint point;
  point.interval = merged.interval;
  point.interval_class = merged.interval_class;
  double begin_seconds = std::numeric_limits<double>::infinity();
  std::vector<double> rates;
  for (const auto& [worker, part] : merged.workers) {
    if (!(part.seconds > 0)) continue;
    begin_seconds = std::min(begin_seconds, part.begin_seconds);
    rates.push_back(static_cast<double>(part.operations) / part.seconds);
  }
  if (rates.empty()) return;  // it has no time
  point.begin_ns = Ns(begin_seconds);
  point.end_ns = Ns(merged.end_seconds);
  for (const auto& [kind, counts] : merged.kinds) {
    point.kinds[kind] = {counts.operations, counts.bytes, counts.errors};
    if (!IsIo(kind)) continue;
    point.latency_sum_ns += counts.latency_sum_ns;
    point.latency_max_ns = std::max(point.latency_max_ns, counts.latency_max_ns);
  }
  point.latencies = merged.latencies;
  if (merged.interval_class == v1::INTERVAL_CLASS_MEASURED) blocks_.Add(merged.kind_latencies);
  // Intervals out of the store have no longest latency of their own.
  if (point.latency_max_ns == 0 && !point.latencies.empty()) {
    point.latency_max_ns = std::llround(common::BucketMidpoint(point.latencies.back().first));
  }
  point.hosts = static_cast<uint32_t>(merged.workers.size());
  point.jain = JainOf(rates);
  point.host_iops = QuantilesOf(std::move(rates));
  point.devices = merged.devices;
  // Once points stand for several intervals, new intervals join the last point. Otherwise the list
  // would have points of different lengths and soon be full again.
  FleetPoint* last = points_.empty() ? nullptr : &points_.back();
  if (last != nullptr && last->intervals + 1 <= point_intervals_ &&
      last->interval_class == point.interval_class &&
      Adjoin(last->end_ns, point.begin_ns, point.end_ns - point.begin_ns)) {
    last->Append(point);
  } else {
    points_.push_back(std::move(point));
  }
  if (points_.size() > limits_.max_points) {
    point_intervals_ = std::min(2 * point_intervals_, kMaxJoined);
    std::vector<FleetPoint> halved;
    for (const FleetPoint& one : points_) {
      FleetPoint* to = halved.empty() ? nullptr : &halved.back();
      const bool joins = to != nullptr && to->intervals + one.intervals <= point_intervals_ &&
                         to->interval_class == one.interval_class &&
                         Adjoin(to->end_ns, one.begin_ns, one.end_ns - one.begin_ns);
      joins ? to->Append(one) : halved.push_back(one);
    }
    // Little can be joined where classes alternate, or gaps come.
    const bool is_short = halved.size() <= limits_.max_points * 3 / 4;
    points_ = is_short ? std::move(halved) : Pairs(std::move(halved));
  }
  AddHosts(merged, Ns(begin_seconds), Ns(merged.end_seconds));
}

void Timeline::AddHosts(const MergedInterval& merged, int64_t begin_ns, int64_t end_ns) {
  const bool joins = last_span_intervals_ > 0 && last_span_intervals_ < span_intervals_ &&
                     hosts_.spans.back().interval_class == merged.interval_class &&
                     Adjoin(hosts_.spans.back().end_ns, begin_ns, end_ns - begin_ns);
  // This is read before the span grows: it is the weight of the rates that the span has so far.
  const double before = joins ? Length(hosts_.spans.back()) : 0;
  if (joins) {
    hosts_.spans.back().end_ns = end_ns;
    ++last_span_intervals_;
  } else {
    hosts_.spans.push_back({begin_ns, end_ns, merged.interval_class});
    // Every line is as long as the spans, also that of a host which is not in this interval.
    for (auto& [worker, line] : hosts_.lines) {
      line.iops.push_back(kNone);
      line.p99_ns.push_back(kNone);
    }
    last_span_intervals_ = 1;
  }
  for (const auto& [worker, part] : merged.workers) {
    HostTable::Line& line = hosts_.lines[worker];
    // A host that delivers its first interval late gets a place for each earlier span, too.
    line.iops.resize(hosts_.spans.size(), kNone);
    line.p99_ns.resize(hosts_.spans.size(), kNone);
    if (!(part.seconds > 0)) continue;
    const auto rate = static_cast<float>(static_cast<double>(part.operations) / part.seconds);
    line.iops.back() = Mean(line.iops.back(), rate, before, part.seconds * 1e9);
    if (part.p99_ns > 0) {
      line.p99_ns.back() = Larger(line.p99_ns.back(), static_cast<float>(part.p99_ns));
    }
  }
  // The limit is of cells, because the table's memory grows with the spans and the hosts alike.
  if (hosts_.spans.size() * hosts_.lines.size() <= limits_.max_cells) return;
  const size_t spans = hosts_.spans.size();
  hosts_.Halve(HostTable::Neighbours::kOfOneClass);
  // If classes alternate, the first pass joins little, and the table would stay too large.
  if (hosts_.spans.size() > spans * 3 / 4) hosts_.Halve(HostTable::Neighbours::kAny);
  span_intervals_ = std::min(2 * span_intervals_, kMaxJoined);
  last_span_intervals_ = span_intervals_;  // the next interval begins a span
}

}  // namespace lockstep::measure
