#include "controller/analysis/measured_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/analysis/device_sums.h"
#include "controller/plan/fleet_uses.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::Limit;

constexpr double kMaxShareDifference = 0.10;
constexpr double kMaxSizeRatio = 1.5;
// Fewer requests of a kind say little about their mean size, and do little to the device.
constexpr double kMinPart = 0.10;
// Two phases with such a difference have the same requests.
constexpr double kSameShare = 0.02;
constexpr double kSameSizeRatio = 1.05;
// The shares at which people want a latency, and how near to them it must be measured.
constexpr std::array<double, 2> kLatencyShares = {0.6, 0.9};
constexpr double kNearShare = 0.05;
// A share of the engines' I/Os: the latency is that of the device that gets nearly all of them.
constexpr double kNearlyAll = 0.95;

// The factor between two sizes, at least 1; 1 if one of them is not known.
double SizeRatio(double a, double b) {
  return a > 0 && b > 0 ? std::max(a, b) / std::min(a, b) : 1;
}

bool HasSameRequests(const RequestMix& a, const RequestMix& b) {
  return std::abs(a.read_ratio - b.read_ratio) <= kSameShare &&
         SizeRatio(a.read_bytes, b.read_bytes) <= kSameSizeRatio &&
         SizeRatio(a.write_bytes, b.write_bytes) <= kSameSizeRatio;
}

// The measurements of one phase on one device.
struct Measured {
  v1::MeasuredLimit limit;
  bool is_held = false;          // the job asked for no more
  std::optional<double> p99_ns;  // of a load with a rate
};

bool IsHeld(const v1::PhaseReport& phase) {
  const auto& workloads = phase.workloads();
  return std::all_of(workloads.begin(), workloads.end(), [](const v1::WorkloadReport& w) {
    const auto limit = measure::Parse<measure::Limit>(w.limited_by());
    return limit == Limit::kRate || limit == Limit::kRateInPart || limit == Limit::kFlow ||
           limit == Limit::kThinkTime || limit == Limit::kNoStorage;
  });
}

std::string LimitedBy(const v1::PhaseReport& phase) {
  std::vector<std::string> limits;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    if (w.limited_by().empty()) continue;
    if (std::find(limits.begin(), limits.end(), w.limited_by()) == limits.end()) {
      limits.push_back(w.limited_by());
    }
  }
  std::string text;
  for (const std::string& limit : limits) {
    // The field holds 256 bytes (proto/measured_limit.proto).
    if (text.size() + limit.size() > 200) break;
    absl::StrAppend(&text, text.empty() ? "" : ", ", limit);
  }
  return text;
}

// The fleet's p99 if all of its load had a rate. A closed loop's latency is that of its depth, not
// of a share of the limit.
std::optional<double> LatencyAtRate(const v1::PhaseReport& phase) {
  for (const v1::WorkloadReport& w : phase.workloads()) {
    if (!(w.due_per_second() > 0)) return std::nullopt;
  }
  for (const v1::Percentile& p : phase.total().percentiles()) {
    if (p.percent() == 99 && p.has_latency_ns()) return p.latency_ns();
  }
  return std::nullopt;
}

// A partition counts as its whole disk, whose counters these are.
std::string DiskOf(const std::string& identity) {
  const size_t at = identity.rfind("-part");
  if (at == std::string::npos || at + 5 == identity.size()) return identity;
  const bool is_number = std::all_of(identity.begin() + static_cast<std::ptrdiff_t>(at) + 5,
                                     identity.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? identity.substr(0, at) : identity;
}

// The devices of the phase's targets by key, host by host.
std::map<std::string, std::vector<DeviceOnHost>> ByKey(const v1::PhaseReport& phase) {
  std::map<uint32_t, std::string> boots;  // by worker: several hosts may have one name
  for (const v1::KernelReport& kernel : phase.kernels()) {
    for (const uint32_t worker : kernel.workers()) boots[worker] = kernel.boot_id();
  }
  DevicesByKey devices;
  for (const v1::DeviceReport& d : phase.devices()) {
    if (d.identity().empty() || d.workers().empty()) continue;
    // A device underneath the targets' has no engine figures. Its rate is no limit of its own: the
    // device above may have had enough.
    if (!d.has_engine_iops()) continue;
    const uint32_t worker = d.workers(0);
    devices.Add(absl::StrCat(worker), DeviceKey(DiskOf(d.identity()), boots[worker]), d);
  }
  return devices.Take();
}

void AddMeasured(const v1::PhaseReport& phase, std::vector<Measured>* all) {
  // A host that is missing would make the limit look smaller than it is.
  const bool is_whole = measure::Is(phase, measure::PhaseState::kDone) && !phase.invalid() &&
                        phase.workers_lost() == 0;
  if (!measure::Is(phase, measure::PhaseKind::kRun) || !is_whole || phase.workloads().empty())
    return;
  const bool is_held = IsHeld(phase);
  const std::optional<double> p99_ns = LatencyAtRate(phase);
  for (const auto& [key, hosts] : ByKey(phase)) {
    DeviceSum sum;
    double engine_iops = 0;
    bool agrees = true;
    for (const DeviceOnHost& host : hosts) {
      sum.Add(host.sum);
      engine_iops += host.engine_iops;
      agrees = agrees && host.agrees;
    }
    if (!(sum.iops() > 0)) continue;
    const v1::ObservedFigures figures = sum.Figures();
    Measured measured;
    measured.limit.set_device_key(key);
    measured.limit.set_identity(DiskOf(hosts[0].identity));
    measured.limit.set_phase(phase.name());
    measured.limit.set_measured_at(phase.started_at());
    measured.limit.set_iops(sum.iops());
    measured.limit.set_read_ratio(figures.read_ratio());
    measured.limit.set_read_request_bytes(figures.read_request_bytes());
    measured.limit.set_write_request_bytes(figures.write_request_bytes());
    measured.limit.set_limited_by(LimitedBy(phase));
    measured.is_held = is_held;
    if (agrees && engine_iops >= kNearlyAll * phase.total().iops()) measured.p99_ns = p99_ns;
    all->push_back(std::move(measured));
  }
}

void AddLatenciesAtShares(const std::vector<Measured>& all, v1::MeasuredLimit* limit) {
  for (const double wanted : kLatencyShares) {
    const Measured* nearest = nullptr;
    double distance = kNearShare;
    for (const Measured& measured : all) {
      if (!measured.p99_ns || measured.limit.device_key() != limit->device_key()) continue;
      if (!DifferenceOf(MixOf(measured.limit), MixOf(*limit)).empty()) continue;
      const double from = std::abs(measured.limit.iops() / limit->iops() - wanted);
      if (from > distance) continue;
      distance = from;
      nearest = &measured;
    }
    if (nearest == nullptr) continue;
    v1::LatencyAtShare* latency = limit->add_latencies();
    latency->set_share(nearest->limit.iops() / limit->iops());
    latency->set_p99_ns(*nearest->p99_ns);
  }
}

}  // namespace

RequestMix MixOf(const v1::ObservedFigures& figures) {
  return {figures.read_ratio(), figures.read_request_bytes(), figures.write_request_bytes()};
}

RequestMix MixOf(const v1::MeasuredLimit& limit) {
  return {limit.read_ratio(), limit.read_request_bytes(), limit.write_request_bytes()};
}

std::string DifferenceOf(const RequestMix& here, const RequestMix& there) {
  if (std::abs(here.read_ratio - there.read_ratio) > kMaxShareDifference) {
    return absl::StrFormat("%.0f %% of the requests are reads here, %.0f %% there",
                           100 * here.read_ratio, 100 * there.read_ratio);
  }
  const auto sizes = [](const char* what, double here_bytes, double there_bytes) {
    return absl::StrCat(what, " are of ", common::FormatSize(std::round(here_bytes)), " here, of ",
                        common::FormatSize(std::round(there_bytes)), " there");
  };
  if (here.read_ratio >= kMinPart && SizeRatio(here.read_bytes, there.read_bytes) > kMaxSizeRatio) {
    return sizes("reads", here.read_bytes, there.read_bytes);
  }
  if (1 - here.read_ratio >= kMinPart &&
      SizeRatio(here.write_bytes, there.write_bytes) > kMaxSizeRatio) {
    return sizes("writes", here.write_bytes, there.write_bytes);
  }
  return "";
}

double DistanceOf(const RequestMix& here, const RequestMix& there) {
  // Each limit of DifferenceOf() is a distance of 1.
  const double sizes =
      here.read_ratio * std::log(SizeRatio(here.read_bytes, there.read_bytes)) +
      (1 - here.read_ratio) * std::log(SizeRatio(here.write_bytes, there.write_bytes));
  return std::abs(here.read_ratio - there.read_ratio) / kMaxShareDifference +
         sizes / std::log(kMaxSizeRatio);
}

absl::StatusOr<std::vector<v1::MeasuredLimit>> LimitsOf(const v1::Report& report) {
  std::vector<Measured> all;
  for (const v1::PhaseReport& phase : report.phases()) AddMeasured(phase, &all);
  if (all.empty()) {
    return absl::FailedPreconditionError(
        "it has no whole run phase with load on a device that has an identity");
  }
  // The phase with the most requests stands for those that have the same ones.
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    return a.limit.iops() > b.limit.iops();
  });
  std::map<std::string, std::vector<RequestMix>> taken;  // by key
  std::vector<v1::MeasuredLimit> chosen;
  for (const Measured& measured : all) {
    // Such a phase shows the rate that the job asked for, and not what the device can do.
    if (measured.is_held) continue;
    const RequestMix mix = MixOf(measured.limit);
    std::vector<RequestMix>& known = taken[measured.limit.device_key()];
    if (std::any_of(known.begin(), known.end(),
                    [&](const RequestMix& other) { return HasSameRequests(mix, other); })) {
      continue;
    }
    known.push_back(mix);
    if (chosen.size() >= static_cast<size_t>(limits::kMeasuredLimits)) {
      return absl::FailedPreconditionError(
          absl::StrCat("it measured more than ", limits::kMeasuredLimits,
                       " kinds of requests on its devices; name a run with fewer phases"));
    }
    chosen.push_back(measured.limit);
    AddLatenciesAtShares(all, &chosen.back());
  }
  if (chosen.empty()) {
    return absl::FailedPreconditionError(
        "each of its phases was held to a rate or paused, so that none shows a limit");
  }
  return chosen;
}

}  // namespace lockstep::controller
