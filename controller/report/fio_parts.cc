#include "controller/report/fio_parts.h"

#include <algorithm>
#include <cmath>

#include "common/histogram.h"
#include "controller/report/histogram_logs.h"
#include "controller/report/verdict.h"

namespace lockstep::controller {
namespace {

// fio's value of a bin: the middle of the bucket, half a nanosecond above ours. Higher buckets
// count in fio's last bin, because fio_jsonplus_clat2csv does not end if it finds a larger value.
int64_t BinOf(uint32_t bucket) {
  const uint64_t low = common::BucketLow(std::min(bucket, kFioBins - 1));
  const uint64_t high = common::BucketHigh(std::min(bucket, kFioBins - 1));
  return static_cast<int64_t>(low + (high - low) / 2);
}

struct BandEnd {
  const char* unit;
  const char* below;
  double below_ns;
};
constexpr BandEnd kBandEnds[] = {
    {"ns", "2", 2},       {"ns", "4", 4},       {"ns", "10", 10},     {"ns", "20", 20},
    {"ns", "50", 50},     {"ns", "100", 100},   {"ns", "250", 250},   {"ns", "500", 500},
    {"ns", "750", 750},   {"ns", "1000", 1000}, {"us", "2", 2e3},     {"us", "4", 4e3},
    {"us", "10", 1e4},    {"us", "20", 2e4},    {"us", "50", 5e4},    {"us", "100", 1e5},
    {"us", "250", 2.5e5}, {"us", "500", 5e5},   {"us", "750", 7.5e5}, {"us", "1000", 1e6},
    {"ms", "2", 2e6},     {"ms", "4", 4e6},     {"ms", "10", 1e7},    {"ms", "20", 2e7},
    {"ms", "50", 5e7},    {"ms", "100", 1e8},   {"ms", "250", 2.5e8}, {"ms", "500", 5e8},
    {"ms", "750", 7.5e8}, {"ms", "1000", 1e9},  {"ms", "2000", 2e9},  {"ms", ">=2000", INFINITY}};

// The workload's share of the processor time of all threads.
std::optional<double> ProcessorShareOf(const v1::PhaseReport& phase,
                                       const v1::WorkloadReport& workload) {
  if (phase.workloads_size() == 1) return 1.0;
  double own = 0;
  double all = 0;
  for (const v1::ThreadReport& thread : phase.threads()) {
    const double seconds = thread.cpu_ratio() * thread.execution_time_seconds();
    all += seconds;
    if (thread.workload() == workload.name()) own += seconds;
  }
  return all > 0 ? std::optional(own / all) : std::nullopt;
}

}  // namespace

FioLatencies::FioLatencies(const v1::LatencyHistogram* histogram) : of(histogram) {
  if (histogram == nullptr) return;
  for (int i = 0; i < histogram->buckets_size(); ++i) {
    const double n = histogram->counts(i);
    const double value = common::BucketMidpoint(histogram->buckets(i));
    bins[BinOf(histogram->buckets(i))] += n;
    if (histogram->buckets(i) >= kFioBins) clamped += n;
    count += n;
    sum += n * value;
    squares += n * value * value;
  }
}

double FioLatencies::Percentile(double percent) const {
  // 99.9 / 100 * 1000 is slightly above 999 in binary. Without the tolerance, ceil() would take
  // the next rank.
  const double rank = std::max(1.0, std::ceil(percent / 100 * count - 1e-9 * count));
  double seen = 0;
  for (const auto& [bin, n] : bins) {
    seen += n;
    if (seen >= rank) return static_cast<double>(bin);
  }
  return 0;
}

double FioLatencies::Mean() const {
  if (of != nullptr && of->mean_ns() > 0) return of->mean_ns();
  return count > 0 ? sum / count : 0;
}

double FioLatencies::Deviation() const {
  if (!(count > 0)) return 0;
  const double mean = sum / count;
  // Rounding can make this difference slightly negative, and its root not a number.
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

// The counters keep the exact minimum and maximum of the reported latencies alone.
int64_t FioLatencies::Min() const {
  if (of != nullptr && of->is_reported()) return std::llround(of->min_ns());
  return bins.empty() ? 0 : bins.begin()->first;
}

int64_t FioLatencies::Max() const {
  if (of != nullptr && of->is_reported()) return std::llround(of->max_ns());
  return bins.empty() ? 0 : bins.rbegin()->first;
}

const v1::LatencyHistogram* FindHistogram(const std::vector<v1::LatencyHistogram>& histograms,
                                          uint32_t phase, const std::string& workload,
                                          const std::string& kind, const std::string& metric) {
  for (const v1::LatencyHistogram& h : histograms) {
    if (h.phase() == phase && h.workload() == workload && h.kind() == kind &&
        (metric.empty() ? h.is_reported() : h.metric() == metric)) {
      return &h;
    }
  }
  return nullptr;
}

std::vector<FioBand> FioBands(const std::vector<FioLatencies>& latencies) {
  std::map<double, double> counts;  // by the band's end
  double all = 0;
  for (const FioLatencies& each : latencies) {
    for (const auto& [bin, count] : each.bins) {
      const auto value = static_cast<double>(bin);
      // The last band has no upper end, so the search always finds one.
      const auto* band = std::find_if(std::begin(kBandEnds), std::end(kBandEnds),
                                      [value](const BandEnd& b) { return value < b.below_ns; });
      counts[band->below_ns] += count;
      all += count;
    }
  }
  std::vector<FioBand> bands;
  for (const BandEnd& end : kBandEnds) {
    bands.push_back({end.unit, end.below, all > 0 ? 100 * counts[end.below_ns] / all : 0});
  }
  return bands;
}

std::string FioDirection(const v1::WorkloadSettings& settings) {
  const bool mixed = settings.read_share() > 0 && settings.read_share() < 1;
  const std::string direction = settings.read_share() >= 1 ? "read"
                                : mixed                    ? "rw"
                                : settings.has_trims()     ? "trim"
                                                           : "write";
  return settings.is_random() ? "rand" + direction : direction;
}

std::string FioEngine(const std::string& engine) {
  // A report may say how the engine does its I/O: "sync (pread, pwrite)".
  const std::string name = engine.substr(0, engine.find(' '));
  if (name == "sync") return "psync";
  if (name == "preadv2") return "pvsync2";
  return name == "iscsi" ? "libiscsi" : name;
}

uint32_t FioJobsOf(const v1::WorkloadReport& workload) {
  const v1::WorkloadSettings& s = workload.settings();
  return std::max<uint32_t>(1, s.threads()) * std::max<uint32_t>(1, s.workers());
}

std::optional<double> ContextSwitchesOf(const v1::PhaseReport& phase,
                                        const v1::WorkloadReport& workload) {
  std::optional<double> switches;
  for (const v1::ThreadReport& thread : phase.threads()) {
    if (thread.workload() != workload.name()) continue;
    switches = switches.value_or(0.0) + thread.context_switches();
  }
  return switches;
}

std::optional<FioProcessorTime> ProcessorTimeOf(const v1::PhaseReport& phase,
                                                const v1::WorkloadReport& workload) {
  const double own_seconds = WindowSeconds(phase, workload);
  if (!phase.has_worker_cpu_user_ns_per_io() || !(phase.total().operations() > 0) ||
      !(own_seconds > 0)) {
    return std::nullopt;
  }
  const std::optional<double> share = ProcessorShareOf(phase, workload);
  if (!share) return std::nullopt;
  // A workload may run for a part of the phase only. Its threads then have that part's time.
  // The times per I/O are over all measured I/Os. The phase's rate is over the time in which all
  // workloads ran, which is short beside one that ends early.
  const double ios = phase.total().operations();
  const double percent = ios * *share / (own_seconds * FioJobsOf(workload)) / 1e9 * 100;
  return FioProcessorTime{phase.worker_cpu_user_ns_per_io() * percent,
                          phase.worker_cpu_system_ns_per_io() * percent};
}

}  // namespace lockstep::controller
