#include "controller/analysis/io_throttles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/analysis/devices.h"
#include "controller/analysis/underneath.h"
#include "controller/plan/loads.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// A throttle lets bursts through and counts in windows of its own, so that what it holds is a bit
// less than the limit over any other time. The limit does not hold I/O far beyond it: version 1
// limits a group's own processes only, and not those of the groups beneath.
constexpr double kNear = 0.8;
constexpr double kBeyond = 1.25;
// Requests per second that a limit of requests may be off by: block/blk-throttle.c lets whole
// requests through in each slice of a tenth of a second. Seen on Linux 6.18: 30 with a limit of 35,
// 10 with 19, 15 with 9.
constexpr double kGrain = 10;
// A share of the I/Os' time that a limit adds to them, above the device: the way through the kernel
// and the waits for a processor are less.
constexpr double kHeldAbove = 0.25;
// A load that gets so much of a limit is held by it, however short the waits for it are.
constexpr double kAtLimit = 0.97;

// The lowest rate that the kernel's slices leave of the limit.
double LeastOf(double limit, bool is_of_requests) {
  if (!is_of_requests) return limit;
  return limit >= kGrain ? limit - std::fmod(limit, kGrain) : limit / 2;
}

bool IsNear(double rate, double limit, bool is_of_requests) {
  double most = kBeyond * limit;
  if (is_of_requests) most = std::max(most, limit + kGrain);
  return rate >= kNear * LeastOf(limit, is_of_requests) && rate <= most;
}

struct Rates {
  double reads = 0, writes = 0;            // requests per second
  double read_bytes = 0, write_bytes = 0;  // per second
};

template <typename List, typename Value>
bool IsIn(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

const v1::KernelReport* KernelOf(const v1::PhaseReport& report, uint32_t worker) {
  for (const v1::KernelReport& kernel : report.kernels()) {
    if (IsIn(kernel.workers(), worker)) return &kernel;
  }
  return nullptr;
}

// The rates of the workers under the limit. They share it if one kernel has them in one group.
Rates EnginesUnder(const std::string& throttle, const v1::PhaseReport& report,
                   const v1::HostReport& self) {
  Rates rates;
  const v1::KernelReport* kernel = KernelOf(report, self.worker_index());
  for (const v1::HostReport& host : report.hosts()) {
    const bool shares = kernel != nullptr && IsIn(kernel->workers(), host.worker_index()) &&
                        IsIn(host.throttles(), throttle);
    if (&host != &self && !shares) continue;
    for (const v1::HostWorkloadReport& workload : host.workloads()) {
      for (const v1::OperationReport& o : workload.operations()) {
        const auto kind = measure::Parse<measure::Operations>(o.kind());
        const bool reads = kind == measure::Operations::kRead;
        if (!reads && kind != measure::Operations::kWrite) continue;
        (reads ? rates.reads : rates.writes) += o.iops();
        (reads ? rates.read_bytes : rates.write_bytes) += o.bytes_per_second();
      }
    }
  }
  return rates;
}

// The kernel counts requests, and of buffered I/O only what reaches the device: an I/O can be
// several, or none.
Rates RequestsUnder(const std::string& throttle, const v1::PhaseReport& report,
                    const v1::HostReport& self) {
  Rates rates = EnginesUnder(throttle, report, self);
  for (const v1::DeviceReport& d : report.devices()) {
    if (!IsIn(d.workers(), self.worker_index()) ||
        !absl::StrContains(throttle, absl::StrCat(" ", d.name(), " "))) {
      continue;
    }
    const auto bound = [](double engine_bytes, double requests, double device_bytes, double* count,
                          double* bytes) {
      if (requests > 0 && device_bytes > 0) {
        *count = std::max(*count, engine_bytes * requests / device_bytes);
      }
      *count = std::min(*count, requests);
      *bytes = std::min(*bytes, device_bytes);
    };
    bound(rates.read_bytes, d.reads_per_second(), d.read_bytes_per_second(), &rates.reads,
          &rates.read_bytes);
    bound(rates.write_bytes, d.writes_per_second(), d.write_bytes_per_second(), &rates.writes,
          &rates.write_bytes);
    break;
  }
  return rates;
}

// The rate that a limit of this name is of; negative where there is no such name.
double RateOf(const Rates& rates, const std::string& name) {
  if (name == "riops" || absl::StrContains(name, "read_iops")) return rates.reads;
  if (name == "wiops" || absl::StrContains(name, "write_iops")) return rates.writes;
  if (name == "rbps" || absl::StrContains(name, "read_bps")) return rates.read_bytes;
  if (name == "wbps" || absl::StrContains(name, "write_bps")) return rates.write_bytes;
  return -1;
}

// The group, the file and the device of a limit: "/slow: io.max vda".
std::string WithoutValue(const std::string& throttle) {
  const size_t colon = throttle.find(": ");
  const size_t file_end = throttle.find(' ', colon == std::string::npos ? 0 : colon + 2);
  return throttle.substr(
      0, file_end == std::string::npos ? file_end : throttle.find(' ', file_end + 1));
}

// Whether the workload runs on the host.
bool HasPartOf(const v1::HostReport& host, const v1::Workload& workload) {
  return std::any_of(host.workloads().begin(), host.workloads().end(),
                     [&](const auto& part) { return part.name() == workload.name(); });
}

// Of the points that are known.
double MeanOfPoints(const measure::RateSeries& series) {
  std::vector<double> points = series.Points();
  std::erase_if(points, [](double point) { return std::isnan(point); });
  return points.empty() ? 0
                        : std::accumulate(points.begin(), points.end(), 0.0) /
                              static_cast<double>(points.size());
}

// Whether most of the device's requests can be those of the engines, so that its mean is theirs.
bool HasMostlyOwnRequests(const PhaseView& view, const v1::DeviceReport& device) {
  double block = 0;
  for (const v1::Workload& w : view.load().workloads()) {
    block = std::max(block, static_cast<double>(LargestBlock(w)));
  }
  return CanBeMostRequests(device.engine_iops(), block,
                           device.reads_per_second() + device.writes_per_second());
}

// Whether the I/Os can have waited for this limit, of a load that is somewhat below it: a device
// may be as fast by chance. The kernel holds them before it makes requests of them
// (blk_throtl_bio() in submit_bio_noacct()), so that the time for which it holds them is in their
// latency, and not in that of the device's requests.
bool CanBeHeldBy(const std::string& throttle, const v1::PhaseReport& report,
                 const v1::HostReport& host, const DirectTimes& times) {
  if (!(times.service_ms > 0) || !(times.await_ms > 0)) return true;
  int devices = 0;
  bool is_named = false;
  for (const v1::DeviceReport& d : report.devices()) {
    if (d.nested() || !IsIn(d.workers(), host.worker_index())) continue;
    ++devices;
    is_named = is_named || absl::StrContains(throttle, absl::StrCat(" ", d.name(), " "));
  }
  // A limit of a device beneath makes the requests of the one above it take longer. Times of
  // several devices are not those of the one that is limited.
  if (devices != 1 || !is_named) return true;
  return times.await_ms <= (1 - kHeldAbove) * times.service_ms;
}

// Whether the device passes its I/O on to others, on which a limit can lie.
bool IsStacked(const std::string& device) {
  return device.starts_with("loop") || device.starts_with("dm-") || device.starts_with("md");
}

}  // namespace

std::string ThrottleOf(const std::string& text) {
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

bool IsOnTarget(const std::string& throttle, const v1::PhaseReport& report, uint32_t worker) {
  bool knows = false;
  for (const v1::DeviceReport& d : report.devices()) {
    if (!IsIn(d.workers(), worker)) continue;
    knows = true;
    const bool named = absl::StrContains(throttle, absl::StrCat(" ", d.name(), " "));
    if (named || IsStacked(d.name())) return true;
  }
  // If no device is known below the targets, such as on a network file system, no limit can be
  // ruled out.
  return !knows;
}

double HeldShare(const v1::PhaseResult& result, const std::string& throttle,
                 double interval_seconds, double begin, double end) {
  if (result.throttle_spans().empty()) return 1;
  if (!(end > begin)) return 0;
  double held = 0;
  double counted_to = begin;  // spans of one file and device follow each other
  for (const v1::ThrottleSpan& span : result.throttle_spans()) {
    if (WithoutValue(span.throttle()) != WithoutValue(throttle)) continue;
    const double from = static_cast<double>(span.begin_ns()) / 1e9 - interval_seconds;
    const double to = std::min(end, static_cast<double>(span.end_ns()) / 1e9);
    held += std::max(0.0, to - std::max(counted_to, from));
    counted_to = std::max(counted_to, to);
  }
  return held / (end - begin);
}

bool HeldMostly(const PhaseView& view, const v1::HostReport& host, const std::string& throttle) {
  const v1::PhaseResult* const result = view.ResultOf(host.worker_index());
  if (result == nullptr) return true;
  const double ramp = static_cast<double>(view.phase().phase.ramp_ns) / 1e9;
  const double interval = static_cast<double>(view.phase().phase.interval_ns) / 1e9;
  return HeldShare(*result, throttle, interval, ramp, host.last_done_seconds()) > 0.5;
}

double ServiceMs(const PhaseView& view, const v1::HostReport& host, double iops,
                 double latency_seconds) {
  if (!(iops > 0)) return 0;
  bool waits_for_slots = false;
  double in_flight = 0;
  for (const v1::Workload& w : view.load().workloads()) {
    if (!HasPartOf(host, w)) continue;
    waits_for_slots = waits_for_slots || w.has_open_loop();
    in_flight += static_cast<double>(w.threads()) * w.queue_depth();
  }
  const double seconds = latency_seconds / iops;
  return 1e3 * (waits_for_slots && in_flight > 0 ? std::min(seconds, in_flight / iops) : seconds);
}

DirectTimes DirectTimesOf(const PhaseView& view, const v1::PhaseReport& report,
                          const v1::HostReport& host) {
  for (const v1::Workload& w : view.load().workloads()) {
    if (HasPartOf(host, w) && !w.direct()) return {};
  }
  RequestTimes requests;
  for (const v1::DeviceReport& d : report.devices()) {
    if (d.nested() || !IsIn(d.workers(), host.worker_index())) continue;
    if (!HasMostlyOwnRequests(view, d)) return {};
    requests.Add(d);
  }
  const measure::WorkerRates& rates = view.series().Of(host.worker_index()).rates;
  return {ServiceMs(view, host, MeanOfPoints(rates.iops), MeanOfPoints(rates.latency_seconds)),
          requests.mean_ms()};
}

bool IsReached(const std::string& throttle, const v1::PhaseReport& report,
               const v1::HostReport& host, const DirectTimes& times,
               std::optional<double> slow_rate) {
  const bool can_be_held = CanBeHeldBy(throttle, report, host, times);
  const Rates rates = RequestsUnder(throttle, report, host);
  // "io.max vda riops=200 wbps=max" or "blkio.throttle.read_iops_device vda 200".
  const std::vector<std::string> words =
      absl::StrSplit(ThrottleOf(throttle), ' ', absl::SkipEmpty());
  if (words.size() < 3) return can_be_held;
  bool understood = false;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::vector<std::string> pair = absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    double limit = 0;
    if (pair.back() == "max" || !absl::SimpleAtod(pair.back(), &limit) || limit <= 0) {
      understood = understood || pair.back() == "max";
      continue;
    }
    const std::string& name = pair.size() == 2 ? pair[0] : words[0];
    const double of_phase = RateOf(rates, name);
    if (of_phase < 0) continue;
    understood = true;
    const double rate = slow_rate.value_or(1) * of_phase;
    const bool is_of_requests = absl::StrContains(name, "iops");
    if (!IsNear(rate, limit, is_of_requests)) continue;
    if (can_be_held || rate >= kAtLimit * LeastOf(limit, is_of_requests)) return true;
  }
  return !understood && can_be_held;
}

}  // namespace lockstep::controller
