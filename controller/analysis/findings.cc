// What follows from comparing a device with the engines that work on it, beside their bytes?
//
// split: direct I/Os reach the device in at least kSplit times as many requests, each clearly
// smaller than a block. queue: most of what the engines have in flight waits above the device, for
// a place in its queue if that is full, or write-back fills the device's queue far beyond what they
// have in flight. flushes: at least kFlushes of the device's writes. interference: of direct I/O
// without syncs, intervals in which the device moved clearly more than the engines. paths: a
// multipath device had fewer than it has.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/busy_processors.h"
#include "controller/analysis/devices.h"
#include "controller/analysis/underneath.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

using measure::FindingKind;

constexpr double kSplit = 1.5;
// More requests alone could be another program's. Only together with smaller ones do they show
// splitting.
constexpr double kSmaller = 0.75;
constexpr double kMinIops = 10;
constexpr double kDeep = 4;
constexpr double kAbove = 0.5;
// A share of nr_requests. A queue with fewer had places left, also where only a part of a device's
// hardware queues are used.
constexpr double kFullQueue = 0.5;
constexpr double kFlushes = 0.02;
// A share of the engines' bytes in an interval, and bytes per second: less is metadata.
constexpr double kOthersShare = 0.10;
constexpr double kOthersBytes = 1 << 20;
// A program that moved less than this share of the others' bytes is not named.
constexpr double kNamedShare = 0.05;
constexpr double kKnownWriters = 0.5;
// The counters of a program and of a device are not read at the same instant.
constexpr double kBound = 1.05;
// A factor of the engines' bytes: if a device moved more, requests of others are among its own.
constexpr double kAlone = 1.01;
// A factor of the requests that a limit of the queue explains: a journal's are among them.
constexpr double kExplained = 1.25;
// Of workers that do not say how large a page is.
constexpr double kPageBytes = 4096;
// Bytes. Smaller requests are rare.
constexpr double kSmallRequest = 4096;
// Between the end of a worker's interval and the reading of the device's counters, at most, also
// on busy processors.
constexpr double kSamplesApartSeconds = 0.05;

struct Device {
  const PhaseView& view;
  const measure::WorkerPhaseData& sampler;  // whose samples the device's are
  const EnginesOn& engines;
  std::string busy_processors;  // as BusyProcessorsOf() has it
  v1::DeviceReport* out;
};

void Add(FindingKind kind, std::string sentence, v1::DeviceReport* out) {
  v1::Finding* finding = out->add_findings();
  finding->set_kind(Text(kind));
  finding->set_sentence(std::move(sentence));
}

std::string Size(double bytes) { return common::FormatSize(std::round(bytes)); }

// A number of the device's queue in sysfs, as the worker found it; 0 where it is not known.
double QueueFactOf(const Device& d, const std::string& file) {
  return d.view.FactOf(d.sampler.worker_index, absl::StrCat("device.", d.out->name(), ".", file))
      .value_or(0);
}

// How far so many requests for each I/O of a block are from those that a queue makes which takes
// `bound` bytes at a time; infinite where the bound does not explain them. The kernel hands a
// direct I/O over in pieces of 256 pages (BIO_MAX_VECS), each of which the queue splits, and merges
// neighbours where it can.
double DistanceFrom(double bound, double block, double page, double requests) {
  constexpr double kUnexplained = std::numeric_limits<double>::infinity();
  if (!(bound > 0) || bound >= block) return kUnexplained;
  const double piece = std::min(block, 256 * page);
  const double least = std::ceil(block / bound);
  const double most = std::max(least, std::ceil(block / piece) * std::ceil(piece / bound));
  if (requests > kExplained * most) return kUnexplained;
  return std::max({0.0, least - requests, requests - most});
}

// What splits I/Os into so many requests each, as the end of a sentence. A limit of the queue is
// named only if it explains so many.
std::string WhySplit(const Device& d, double block, double requests) {
  const double page =
      d.view.FactOf(d.sampler.worker_index, "memory.page_bytes").value_or(kPageBytes);
  const double segments = QueueFactOf(d, "max_segments");
  const double by_size = DistanceFrom(d.out->max_request_bytes(), block, page, requests);
  // Each page is a segment of its own, unless it lies behind the one before it in memory.
  const double by_segments = DistanceFrom(segments * page, block, page, requests);
  if (std::isinf(by_size) && std::isinf(by_segments)) return ": by what is not known";
  if (by_size <= by_segments) {
    return absl::StrCat(": its queue takes at most ", Size(d.out->max_request_bytes()),
                        " at a time (max_sectors_kb)");
  }
  return absl::StrFormat(
      ": its queue takes at most %.0f pieces of memory at a time (max_segments): %s, or more where "
      "pages adjoin",
      segments, Size(segments * page));
}

void AddSplit(const Device& d) {
  const v1::DeviceReport& out = *d.out;
  const double requests = out.reads_per_second() + out.writes_per_second();
  if (d.engines.buffered || d.engines.blocks.size() != 1 || out.engine_iops() < kMinIops) return;
  const double block = *d.engines.blocks.begin();
  const double request =
      requests > 0 ? (out.read_bytes_per_second() + out.write_bytes_per_second()) / requests : 0;
  if (requests < kSplit * out.engine_iops() || request > kSmaller * block) return;
  // Small requests of other programs make the mean size small, too: few bytes can be many of them.
  const double moved = out.read_bytes_per_second() + out.write_bytes_per_second();
  const double engine = out.engine_iops() * block;
  const double others = std::max(0.0, moved - engine);
  // The device's counters are not read at the instants at which the engine's intervals end, which
  // can hide as many bytes of others.
  const double seconds = d.view.series().Of(d.sampler.worker_index).measured_seconds;
  const double hidden = seconds > 0 ? engine * std::min(1.0, kSamplesApartSeconds / seconds) : 0;
  if (others > (kAlone - 1) * engine ||
      requests - (others + hidden) / kSmallRequest < kSplit * out.engine_iops()) {
    return;
  }
  const double own = requests - others / kSmallRequest;
  Add(FindingKind::kSplit,
      absl::StrFormat("I/Os of %s reached the device in requests of %s (×%.1f)%s", Size(block),
                      Size(out.engine_iops() * block / own), own / out.engine_iops(),
                      WhySplit(d, block, own / out.engine_iops())),
      d.out);
}

// Why most of the I/Os in flight were not in the device's queue, as the end of a sentence. The
// limit of a load (limits.cc) is not "above the device" either if the device was never idle.
std::string WhyAbove(const Device& d) {
  const v1::DeviceReport& out = *d.out;
  const double places = QueueFactOf(d, "nr_requests");
  const std::string& busy = d.busy_processors;
  if (out.busy_ratio() < kNeverIdle) {
    return absl::StrCat(", so the rest of the time it waited above the device",
                        busy.empty() ? " (a throttle, a lock, another layer)"
                                     : absl::StrCat(", probably for a processor: ", busy));
  }
  if (places > 0 && out.queue_size() >= kFullQueue * places) {
    return absl::StrFormat(
        "; the device's queue was full (%.0f requests, nr_requests %.0f, busy %.0f %%): the other "
        "I/Os waited for a place in it",
        out.queue_size(), places, 100 * out.busy_ratio());
  }
  return absl::StrFormat(
      "; the device was never idle (busy %.0f %%): whether it or something before it made the "
      "other I/Os wait is not known%s",
      100 * out.busy_ratio(), busy.empty() ? "" : absl::StrCat("; ", busy));
}

void AddQueue(const Device& d) {
  const v1::DeviceReport& out = *d.out;
  // Some drivers keep no queue statistics: 0 then means that nothing is known, not that nothing
  // waits.
  if (!(out.queue_size() > 0)) return;
  RequestTimes times;
  times.Add(out);
  const double await_ms = times.mean_ms();
  const double latency_ms =
      out.engine_iops() > 0 ? 1e3 * out.engine_queue_size() / out.engine_iops() : 0;
  const double block = d.engines.blocks.empty() ? 0 : *d.engines.blocks.rbegin();
  if (!d.engines.buffered && out.engine_queue_size() >= kDeep &&
      CanBeMostRequests(out.engine_iops(), block, times.per_second) &&
      out.queue_size() < kAbove * out.engine_queue_size() && await_ms < kAbove * latency_ms) {
    Add(FindingKind::kQueue,
        absl::StrFormat("the engines had %.1f I/Os in flight, the device's queue held %.1f: each "
                        "I/O took %s and its request %s%s",
                        out.engine_queue_size(), out.queue_size(),
                        common::FormatDuration(1e6 * latency_ms),
                        common::FormatDuration(1e6 * await_ms), WhyAbove(d)),
        d.out);
  }
  if (d.engines.buffered && out.queue_size() >= kDeep * std::max(1.0, d.engines.in_flight)) {
    Add(FindingKind::kQueue,
        absl::StrFormat("the device's queue held %.0f requests where the engines have at most %.0f "
                        "I/Os in flight: %s",
                        out.queue_size(), d.engines.in_flight,
                        out.engine_write_bytes() > 0
                            ? "the page cache's write-back fills it, or another program"
                            : "read-ahead or another program fills it"),
        d.out);
  }
}

void AddFlushes(const Device& d) {
  const v1::DeviceReport& out = *d.out;
  if (out.flushes_per_second() < 1 || out.engine_write_bytes() <= 0 ||
      out.flushes_per_second() < kFlushes * out.writes_per_second()) {
    return;
  }
  Add(FindingKind::kFlushes,
      absl::StrFormat("%s flushes of the device's cache per second, one for every %.0f of its "
                      "writes: %s",
                      common::FormatCount(out.flushes_per_second()),
                      out.writes_per_second() / out.flushes_per_second(),
                      d.engines.syncs ? "the load's syncs, and the file system's journal for them"
                                      : "the load syncs nothing, so a journal or other programs "
                                        "ask for them"),
      d.out);
}

// How much longer the time is that the programs' bytes are of than the load's. They are read before
// T: a program that moves as much all the time has more of them than the device.
double LongerTime(const v1::PhaseResult& result) {
  if (result.others_ns() <= 0 || result.end_ns() <= 0) return 1;
  return std::max(1.0,
                  static_cast<double>(result.others_ns()) / static_cast<double>(result.end_ns()));
}

// The other programs of the kernel whose I/O matters beside `bytes`.
std::string Programs(const Device& d, double bytes) {
  // The device's bytes beyond the engines' bound the I/O of anybody else on it.
  const double longer = LongerTime(d.sampler.result);
  const auto beside = [&](double device, double engine) {
    return longer * (kBound * std::max(0.0, device - engine) + kOthersBytes);
  };
  ProgramsSeen seen =
      OtherPrograms(d.view, d.sampler, kNamedShare * bytes,
                    beside(d.out->device_read_bytes(), d.out->engine_read_bytes()),
                    beside(d.out->device_write_bytes(), d.out->engine_write_bytes()));
  if (seen.names.empty()) return "by whom is not known";
  seen.names.resize(std::min<size_t>(seen.names.size(), 3));
  // Programs write to other devices, too: a few of the bytes do not name who moved the rest.
  return absl::StrCat(seen.bytes < kKnownWriters * bytes ? "most of it by whom is not known; " : "",
                      absl::StrJoin(seen.names, ", "), " during that time on this host");
}

void AddInterference(const Device& d) {
  const EnginesOn& e = d.engines;
  const measure::WorkerSeries& samples = d.view.series().Of(d.sampler.worker_index);
  const auto found = samples.rates.devices.find(d.out->name());
  // Only direct I/O without syncs reaches the device in the interval in which the engines count it.
  // Write-back and journals would move bytes into other intervals and look like somebody else's. A
  // gap would shift the points of one series against the other.
  // Counters of a longer time than the load's have what others did before and after it.
  if (!d.out->not_rated().empty() || e.buffered || e.syncs || !e.attributable || !e.alone ||
      e.lost || e.parts.empty() || found == samples.rates.devices.end() || !samples.gaps.empty()) {
    return;
  }
  const std::vector<double> device = found->second.bytes.Points();
  std::vector<double> engine(device.size());
  std::set<uint32_t> counted;
  for (const EnginesOn::Part& part : e.parts) {
    // `parts` has an entry for each workload, and the series is the worker's: it counts once.
    if (!counted.insert(part.worker->worker_index).second) continue;
    const measure::WorkerSeries& own = d.view.series().Of(part.worker->worker_index);
    const std::vector<double> bytes = own.rates.bytes.Points();
    if (!own.gaps.empty() || bytes.size() != device.size()) return;
    for (size_t i = 0; i < bytes.size(); ++i) engine[i] += bytes[i];
  }
  const double step =
      static_cast<double>(d.view.phase().phase.interval_ns) / 1e9 * d.view.series().points_step();
  const double in_flight = e.blocks.empty() ? 0 : e.in_flight * *e.blocks.rbegin();
  const double begin = samples.first_measured_seconds;
  double excess = 0;
  double seconds = 0;
  double first = 0;
  double last = 0;
  for (size_t i = 0; i < device.size(); ++i) {
    // Requests in flight at the interval's end are the device's already, and not the engines'.
    if (device[i] <= engine[i] * (1 + kOthersShare) + kOthersBytes + in_flight / step) continue;
    // The last point may stand for less than the others.
    const double from = begin + static_cast<double>(i) * step;
    const double length = std::min(step, samples.last_measured_seconds - from);
    if (!(length > 0)) continue;
    if (seconds == 0) first = from;
    last = from + length;
    seconds += length;
    excess += (device[i] - engine[i]) * length;
  }
  if (seconds == 0) return;
  Add(FindingKind::kInterference,
      absl::StrFormat("others moved %s on it in %s s of the time from %s to %s s: %s", Size(excess),
                      common::FormatDigits(seconds, 3), common::FormatDigits(first, 3),
                      common::FormatDigits(last, 3), Programs(d, excess)),
      d.out);
  v1::Finding* finding = d.out->mutable_findings(d.out->findings_size() - 1);
  finding->set_begin_seconds(first);
  finding->set_end_seconds(last);
  finding->set_seconds(seconds);
}

// Over the whole load, ramp and drain included.
void AddPaths(const Device& d) {
  const auto& devices = d.view.series().Of(d.sampler.worker_index).devices;
  const auto sums = devices.find(d.out->name());
  if (sums == devices.end() || !(sums->second.paths.seconds > 0)) return;
  const measure::PathSums& paths = sums->second.paths;
  Add(FindingKind::kPaths,
      absl::StrFormat("of its %d paths only %d ran, in %s s of the time from %s to %s s%s",
                      paths.paths, paths.min_running, common::FormatDigits(paths.seconds, 3),
                      common::FormatDigits(paths.begin_seconds, 3),
                      common::FormatDigits(paths.end_seconds, 3),
                      // Without a load no I/O of this host completes in any case.
                      paths.silent_seconds > 0 && !d.view.IsObserve()
                          ? absl::StrFormat("; in %s s of them no I/O of this host completed",
                                            common::FormatDigits(paths.silent_seconds, 3))
                          : ""),
      d.out);
  v1::Finding* finding = d.out->mutable_findings(d.out->findings_size() - 1);
  finding->set_begin_seconds(paths.begin_seconds);
  finding->set_end_seconds(paths.end_seconds);
  finding->set_seconds(paths.seconds);
}

void AddFindings(const PhaseView& view, v1::PhaseReport* report) {
  // The loop is that of devices.cc: only the same order finds each device's report by counting.
  int next = 0;
  for (const SampledDevice& sampled : SampledDevices(view)) {
    const measure::RunWorker* self = view.WorkerOf(sampled.sampler->worker_index);
    v1::DeviceReport* out = report->mutable_devices(next++);
    if (self == nullptr) continue;
    const EnginesOn engines = FindEngines(view, self->boot_id, sampled.name);
    // A device underneath another one is left out: the topmost one has the paths of all.
    if (engines.parts.empty() && !view.IsObserve()) continue;
    const Device device{view, *sampled.sampler, engines,
                        BusyProcessorsOf(view, *report, self->worker_index), out};
    if (const double most = 1024 * QueueFactOf(device, "max_sectors_kb"); most > 0) {
      out->set_max_request_bytes(most);
    }
    // All but the last compare the device with the engines.
    if (!view.IsObserve()) {
      AddSplit(device);
      AddQueue(device);
      AddFlushes(device);
      AddInterference(device);
    }
    AddPaths(device);
  }
}

const RegisterAnalysis kFindingsRegistered(order::kFindings, "findings", &AddFindings,
                                           About::kDevices);

}  // namespace
}  // namespace lockstep::controller
