// Which share of a limit that an earlier run measured are the devices of an observe phase used for?

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/device_sums.h"
#include "controller/analysis/measured_limits.h"

namespace lockstep::controller {
namespace {

constexpr int kMaxShares = 1000;
constexpr size_t kNamedDevices = 8;
constexpr size_t kShownOfId = 8;  // as everywhere where a person reads a run's id

// "31 %", "0.42 %".
std::string PercentOf(double ratio) {
  if (ratio < 0.01) return absl::StrFormat("%.2g %%", 100 * ratio);
  return absl::StrFormat("%.0f %%", 100 * ratio);
}

// "12 November 2026"; empty if the instant is not known.
std::string DayOf(const std::string& instant) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, instant, &time, nullptr)) return "";
  const std::string day = absl::FormatTime("%e %B %Y", time, absl::UTCTimeZone());
  return std::string(absl::StripLeadingAsciiWhitespace(day));
}

std::string NamedWithHosts(const v1::ObservedShare& share) {
  std::string name = share.device();
  if (share.hosts().empty()) return name;
  absl::StrAppend(&name, " of ", share.hosts(0));
  if (share.hosts_size() > 1) absl::StrAppend(&name, " and ", share.hosts_size() - 1, " more");
  return name;
}

// Chooses the largest limit with similar requests, or else the one with the nearest requests.
const v1::MeasuredLimit* ChooseLimit(const RequestMix& mix,
                                     const std::vector<const v1::MeasuredLimit*>& limits) {
  const v1::MeasuredLimit* best = nullptr;
  for (const v1::MeasuredLimit* limit : limits) {
    if (!DifferenceOf(mix, MixOf(*limit)).empty()) continue;
    if (best == nullptr || limit->iops() > best->iops()) best = limit;
  }
  if (best != nullptr) return best;
  return *std::min_element(limits.begin(), limits.end(), [&](const auto* a, const auto* b) {
    return DistanceOf(mix, MixOf(*a)) < DistanceOf(mix, MixOf(*b));
  });
}

std::string SentenceOf(const v1::ObservedShare& share) {
  const std::string day = DayOf(share.measured_at());
  const std::string run = absl::StrCat("run ", share.compared_run().substr(0, kShownOfId));
  const std::string on = day.empty() ? "" : absl::StrCat(" on ", day);
  if (!share.has_share()) {
    return absl::StrCat(NamedWithHosts(share), ": not compared with what ", run, " measured", on,
                        ": ", share.difference(), " (phase ", share.compared_phase(), ")");
  }
  std::vector<std::string> latencies;
  for (const v1::LatencyAtShare& latency : share.latencies()) {
    latencies.push_back(
        absl::StrCat(common::FormatDuration(latency.p99_ns()), " at ", PercentOf(latency.share())));
  }
  return absl::StrCat(
      NamedWithHosts(share), ": ", PercentOf(share.share()), " of the ",
      common::FormatCount(share.limit_iops()), " IOPS that this device gave", on, " (", run,
      ", phase ", share.compared_phase(), "), if the pattern is as random",
      latencies.empty()
          ? ""
          : absl::StrCat("; in that run p99 was ", absl::StrJoin(latencies, " and ")));
}

void SetMixes(const v1::ObservedFigures& figures, const v1::MeasuredLimit& limit,
              v1::ObservedShare* out) {
  if (figures.has_read_ratio()) out->set_read_ratio(figures.read_ratio());
  if (figures.has_read_request_bytes()) {
    out->set_read_request_bytes(figures.read_request_bytes());
  }
  if (figures.has_write_request_bytes()) {
    out->set_write_request_bytes(figures.write_request_bytes());
  }
  out->set_limit_iops(limit.iops());
  out->set_limit_read_ratio(limit.read_ratio());
  if (limit.read_request_bytes() > 0) {
    out->set_limit_read_request_bytes(limit.read_request_bytes());
  }
  if (limit.write_request_bytes() > 0) {
    out->set_limit_write_request_bytes(limit.write_request_bytes());
  }
}

v1::ObservedShare ShareOf(const std::vector<DeviceOnHost>& seen,
                          const std::vector<const v1::MeasuredLimit*>& limits) {
  v1::ObservedShare share;
  DeviceSum sum;
  for (const DeviceOnHost& device : seen) {
    // Each kernel counts the requests of its own host alone. The load of a shared device is their
    // sum.
    sum.Add(device.sum);
    for (const std::string& host : device.hosts) share.add_hosts(host);
  }
  const v1::ObservedFigures figures = sum.Figures();
  const v1::MeasuredLimit& limit = *ChooseLimit(MixOf(figures), limits);
  share.set_device(seen[0].name);
  share.set_identity(seen[0].identity);
  share.set_compared_phase(limit.phase());
  share.set_measured_at(limit.measured_at());
  share.set_iops(sum.iops());
  SetMixes(figures, limit, &share);
  share.set_difference(sum.iops() > 0 ? DifferenceOf(MixOf(figures), MixOf(limit))
                                      : "it had no requests");
  if (!share.difference().empty()) return share;
  share.set_share(sum.iops() / limit.iops());
  *share.mutable_latencies() = limit.latencies();
  return share;
}

void AddObservedShares(const PhaseView& view, v1::PhaseReport* report) {
  const v1::ObservePhase& observe = view.phase().phase.spec.observe();
  if (!view.IsObserve() || observe.limits().empty()) return;
  std::map<std::string, std::vector<const v1::MeasuredLimit*>> limits;  // by key
  for (const v1::MeasuredLimit& limit : observe.limits()) {
    // A share of a limit of 0 would be no number.
    if (limit.iops() > 0) limits[limit.device_key()].push_back(&limit);
  }
  std::vector<v1::ObservedShare> shares;
  std::vector<std::string> others;
  for (const auto& [key, seen] : ObservedByKey(view, *report, ObservedLayers::kAskedFor)) {
    const auto found = limits.find(key);
    if (found != limits.end()) {
      shares.push_back(ShareOf(seen, found->second));
    } else {
      others.push_back(seen[0].name);
      if (!seen[0].hosts.empty()) absl::StrAppend(&others.back(), " of ", seen[0].hosts[0]);
    }
  }
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return std::pair(a.has_share(), a.share()) > std::pair(b.has_share(), b.share());
  });
  v1::ObservedReport* observed = report->mutable_observed();
  for (v1::ObservedShare& share : shares) {
    if (observed->shares_size() >= kMaxShares) break;
    share.set_compared_run(observe.compare_with());
    share.set_sentence(SentenceOf(share));
    *observed->add_shares() = std::move(share);
  }
  if (others.empty()) return;
  const size_t more = others.size() - std::min(others.size(), kNamedDevices);
  others.resize(others.size() - more);
  observed->set_not_measured(absl::StrCat("not compared, because run ",
                                          observe.compare_with().substr(0, kShownOfId),
                                          " did not measure them: ", absl::StrJoin(others, ", "),
                                          more > 0 ? absl::StrCat(" and ", more, " more") : ""));
}

const RegisterAnalysis kObservedSharesRegistered(order::kObservedShares, "observed shares",
                                                 &AddObservedShares, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
