// How do the figures stand to the maximum that somebody promised, and what served more than that?
//
// A figure is beyond the promise if it exceeds it by at least 1 %, and if the 95 % confidence
// interval of the measured mean lies above it. The cause is the first of these that the evidence
// shows: synthetic workers; null targets; the page cache, by the bytes of the cross-checks;
// requests that the kernel merged.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/statistics.h"
#include "measure/report_states.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// A share of the promise: clocks and windows make differences below it.
constexpr double kMinExcess = 0.01;
// A share of the bytes in one direction: the cross-check takes differences below it for agreement.
constexpr double kMinCached = 0.05;

// The fleet's rate in each point of the window. None where the hosts' points do not stand side by
// side: a host with a gap has fewer of them.
std::vector<double> RatesInWindow(const PhaseView& view, const v1::PhaseReport& report,
                                  measure::RateSeries measure::WorkerRates::*rate) {
  const double step = report.interval_seconds() * std::max(1U, report.intervals_per_point());
  std::vector<double> fleet;
  for (const v1::HostReport& host : report.hosts()) {
    const measure::WorkerSeries& series = view.series().Of(host.worker_index());
    if (host.lost() || series.MeasuredIos() == 0) continue;
    if (!series.gaps.empty() ||
        series.first_measured_seconds > report.points_begin_seconds() + step / 2) {
      return {};
    }
    const std::vector<double> points = (series.rates.*rate).Points();
    fleet.resize(std::max(fleet.size(), points.size()));
    for (size_t i = 0; i < points.size(); ++i) fleet[i] += points[i];
  }
  std::vector<double> inside;
  for (size_t i = 0; i < fleet.size(); ++i) {
    const double begin = report.points_begin_seconds() + static_cast<double>(i) * step;
    // Half an interval: an end within the point still counts, rounding does not.
    if (begin < report.window_begin_seconds() - step / 2 ||
        begin + step > report.window_end_seconds() + step / 2) {
      continue;
    }
    inside.push_back(fleet[i]);
  }
  return inside;
}

// Half of the 95 % confidence interval of the logarithm of the rates' mean, which is its standard
// error as a share of the mean times Student's t. Fewer than two rates have none.
std::optional<double> MeanUncertainty(const std::vector<double>& rates) {
  // Rates that follow each other can count as less than one. Student's t is not defined then.
  constexpr double kMinFreedom = 2;
  if (rates.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(rates.size());
  double mean = 0;
  for (const double rate : rates) mean += rate / count;
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    squares += (rates[i] - mean) * (rates[i] - mean);
    if (i > 0) products += (rates[i] - mean) * (rates[i - 1] - mean);
  }
  if (!(mean > 0) || !(squares > 0)) return 0;
  // Intervals that follow each other are alike, and count as fewer.
  const double r = CorrectedCorrelation(products / squares, 1, count);
  const double independent = count * (1 - r) / (1 + r);
  return StudentQuantile(0.05, std::max(kMinFreedom, independent - 1)) *
         std::sqrt(squares / (count - 1) / independent) / mean;
}

// Shares of the engines' bytes that no device moved, ramp and drain included.
struct CachedShares {
  double read = 0, write = 0, all = 0;
};

CachedShares CachedOf(const PhaseView& view, const v1::PhaseReport& report) {
  double reads = 0;
  double writes = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      reads += static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_READ).bytes);
      writes += static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_WRITE).bytes);
    }
  }
  double cached = 0;
  double held = 0;
  const auto& workloads = view.load().workloads();
  const bool buffered = std::any_of(workloads.begin(), workloads.end(),
                                    [](const v1::Workload& w) { return !w.direct(); });
  for (const v1::DeviceReport& device : report.devices()) {
    const v1::CrossCheck& check = device.cross_check();
    // Other verdicts mean that the bytes agree, or that they cannot be attributed. Counters of
    // another time than the load's do not tell how many bytes are missing.
    const bool by_device =
        check.verdict() == v1::CrossCheck::VERDICT_PAGE_CACHE && device.not_rated().empty();
    double read = by_device ? device.device_read_bytes() : device.engine_read_bytes();
    // Other programs' reads are among the device's, and not among these.
    if (buffered && check.has_own_read_bytes()) read = std::min(read, check.own_read_bytes());
    cached += std::max(0.0, device.engine_read_bytes() - read);
    if (by_device) {
      held += std::max(0.0, device.engine_write_bytes() - device.device_write_bytes());
    }
  }
  const auto share = [](double part, double whole) {
    return whole > 0 ? std::min(1.0, part / whole) : 0;
  };
  return {share(cached, reads), share(held, writes), share(cached + held, reads + writes)};
}

// The devices that moved all bytes that the page cache did not serve, by the cross-checks; empty
// where these do not show it.
std::string ServedBy(const PhaseView& view, const v1::PhaseReport& report) {
  double all = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      all += static_cast<double>(measure::IosOf(result).bytes);
    }
  }
  double compared = 0;
  std::string name;
  for (const v1::DeviceReport& device : report.devices()) {
    const double engine = device.engine_read_bytes() + device.engine_write_bytes();
    if (!(engine > 0)) continue;
    const v1::CrossCheck::Verdict verdict = device.cross_check().verdict();
    if (verdict != v1::CrossCheck::VERDICT_AGREE && verdict != v1::CrossCheck::VERDICT_COALESCED &&
        verdict != v1::CrossCheck::VERDICT_PAGE_CACHE) {
      return "";
    }
    compared += engine;
    name = name.empty() ? device.name() : "the devices";
  }
  return compared >= (1 - kMinCached) * all ? name : "";
}

// The requests per second of the devices under the load, where all of them got fewer and larger
// requests than the engines made I/Os.
struct Merged {
  double requests = 0;
  std::string device;  // the only one, or "the devices"
};
std::optional<Merged> MergedRequests(const v1::PhaseReport& report) {
  Merged merged;
  for (const v1::DeviceReport& device : report.devices()) {
    if (device.engine_read_bytes() + device.engine_write_bytes() <= 0) continue;
    if (device.cross_check().verdict() != v1::CrossCheck::VERDICT_COALESCED) return std::nullopt;
    merged.requests += device.reads_per_second() + device.writes_per_second();
    merged.device = merged.device.empty() ? device.name() : "the devices";
  }
  return merged.device.empty() ? std::nullopt : std::optional(merged);
}

// The cause of a figure above the promise. `promise` has its figures.
std::string CauseOfExcess(const PhaseView& view, const v1::PhaseReport& report,
                          const v1::PromiseReport& promise) {
  const std::string served_by = ServedBy(view, report);
  const double limit = promise.promised() * (1 + kMinExcess);
  const auto& workloads = view.load().workloads();
  if (view.IsSynthetic()) return "the figures of synthetic workers are made up";
  if (std::all_of(workloads.begin(), workloads.end(),
                  [&](const v1::Workload& w) { return view.HasNullTarget(w); })) {
    return "no storage served the I/Os: the targets are null targets";
  }
  const CachedShares cached = CachedOf(view, report);
  std::vector<std::string> parts;
  if (cached.read >= kMinCached) {
    parts.push_back(
        absl::StrFormat("%.0f %% of the reads came from the page cache", 100 * cached.read));
  }
  if (cached.write >= kMinCached) {
    parts.push_back(
        absl::StrFormat("%.0f %% of the writes were still in the page cache", 100 * cached.write));
  }
  // Without them the figure may still be beyond the promise, by more than the bytes are known to.
  if (!parts.empty() && promise.found() * (1 - cached.all - kMinCached) > limit) {
    parts.push_back(served_by.empty() ? "the source of the rest is not known"
                                      : absl::StrCat(served_by, " served the rest"));
  }
  if (!parts.empty()) return absl::StrJoin(parts, ", ");
  const std::optional<Merged> merged = MergedRequests(report);
  if (measure::Is(promise, measure::Figure::kIops) && merged.has_value() &&
      merged->requests <= limit) {
    return absl::StrFormat("the kernel merged neighbouring I/Os, and %s requests/s reached %s",
                           common::FormatCount(merged->requests), merged->device);
  }
  return served_by.empty() ? "what served them is not known"
                           : absl::StrCat(served_by, " served them, by its own counters");
}

std::string AmountText(const v1::PromiseReport& promise, double value) {
  return measure::Is(promise, measure::Figure::kIops) ? common::FormatCount(value)
                                                      : common::FormatRate(value);
}

std::string PromiseText(const v1::PromiseReport& promise) {
  const std::string promised =
      absl::StrCat(AmountText(promise, promise.promised()),
                   measure::Is(promise, measure::Figure::kIops) ? " IOPS promised" : " promised");
  if (!promise.has_ratio()) return promised + ": nothing was measured";
  const double percent = 100 * promise.ratio();
  // Three digits of a share below 1 % say more than "0 %".
  const std::string share =
      percent >= 1 ? absl::StrFormat("%.0f %%", percent) : absl::StrFormat("%.3g %%", percent);
  const std::string found = absl::StrCat(AmountText(promise, promise.found()), " of ", promised);
  return promise.exceeded() ? absl::StrCat(found, " (", share, "): ", promise.cause())
                            : absl::StrCat(found, ": ", share);
}

void AddPromise(const PhaseView& view, measure::Figure figure, double promised, double found,
                measure::RateSeries measure::WorkerRates::*rate, v1::PhaseReport* report) {
  v1::PromiseReport promise;
  promise.set_figure(Text(figure));
  promise.set_promised(promised);
  if (report->total().operations() > 0) {
    promise.set_found(found);
    promise.set_ratio(found / promised);
    // A single interval does not tell how much the rate varies. The 1 % then decides alone.
    const double uncertainty = MeanUncertainty(RatesInWindow(view, *report, rate)).value_or(0);
    // The interval is that of the rate's logarithm, since no rate is below 0: of two intervals that
    // differ much, the linear one would reach below it, and no figure would be beyond a promise.
    promise.set_exceeded(found >= promised * (1 + kMinExcess) &&
                         found * std::exp(-uncertainty) > promised);
  }
  if (promise.exceeded()) promise.set_cause(CauseOfExcess(view, *report, promise));
  promise.set_text(PromiseText(promise));
  *report->add_promised() = std::move(promise);
}

void AddPromises(const PhaseView& view, v1::PhaseReport* report) {
  const v1::Promised& promised = view.load().promised();
  if (promised.has_iops()) {
    AddPromise(view, measure::Figure::kIops, promised.iops(), report->total().iops(),
               &measure::WorkerRates::iops, report);
  }
  if (promised.has_throughput_bytes_per_second()) {
    AddPromise(view, measure::Figure::kBytesPerSecond, promised.throughput_bytes_per_second(),
               report->total().bytes_per_second(), &measure::WorkerRates::bytes, report);
  }
}

const RegisterAnalysis kPromisesRegistered(order::kPromises, "promises", &AddPromises);

}  // namespace
}  // namespace lockstep::controller
