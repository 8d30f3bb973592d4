#include "controller/analysis/sweep_remarks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// Less than this factor between the points is not worth a sentence, nor a share of the time that
// differs by less than this.
constexpr double kFactor = 1.5;
constexpr double kShare = 0.1;
constexpr double kMajorityInFsync = 0.5;
// As limits.cc has it of a device that is never idle.
constexpr double kBusyThroughout = 0.95;
// The kernel counts busy time in ticks of some milliseconds. A small share is too coarse to tell
// what the device could do if it were busy all the time.
constexpr double kBusyEnough = 0.5;
// Throughput varies less than this between runs of one load.
constexpr double kMoreThroughput = 1.25;

// "128 files", "one thread": of axes that count things. "block_size=4KiB" of others.
std::string NameOfValue(const std::string& field, const std::string& value) {
  const char* noun = absl::EndsWith(field, "file.count")                       ? "file"
                     : field == "threads" || absl::EndsWith(field, ".threads") ? "thread"
                                                                               : nullptr;
  if (noun == nullptr) return absl::StrCat(field, "=", value);
  return value == "1" ? absl::StrCat("one ", noun) : absl::StrCat(value, " ", noun, "s");
}

std::string NameOfPoint(const v1::SweepReport& sweep, const v1::SweepPointReport& point) {
  std::vector<std::string> values;
  for (int a = 0; a < sweep.axes_size() && a < point.indices_size(); ++a) {
    const v1::SweepAxisReport& axis = sweep.axes(a);
    const auto index = static_cast<int>(point.indices(a));
    if (index >= axis.values_size()) continue;
    values.push_back(NameOfValue(axis.field(), axis.values(index)));
  }
  return absl::StrJoin(values, ", ");
}

struct Extremes {
  const v1::SweepPointReport* most = nullptr;
  const v1::SweepPointReport* least = nullptr;
};

template <typename Has, typename Get>
Extremes ExtremesOf(const v1::SweepReport& sweep, const Has& has, const Get& get) {
  Extremes found;
  for (const v1::SweepPointReport& point : sweep.points()) {
    // A point without a run has zeros, and would always be the least.
    if (point.runs() == 0 || !has(point.time_spent())) continue;
    if (found.most == nullptr || get(point.time_spent()) > get(found.most->time_spent())) {
      found.most = &point;
    }
    if (found.least == nullptr || get(point.time_spent()) < get(found.least->time_spent())) {
      found.least = &point;
    }
  }
  return found;
}

void AddSwitches(v1::SweepReport* sweep) {
  const auto get = [](const v1::TimeSpent& spent) { return spent.context_switches_per_io(); };
  const auto has = [](const v1::TimeSpent& spent) {
    return spent.has_context_switches_per_io() && spent.has_context_switches_per_second();
  };
  const Extremes found = ExtremesOf(*sweep, has, get);
  if (found.most == nullptr || found.most == found.least ||
      get(found.most->time_spent()) < kFactor * get(found.least->time_spent())) {
    return;
  }
  const v1::TimeSpent& most = found.most->time_spent();
  const v1::TimeSpent& least = found.least->time_spent();
  sweep->add_remarks(absl::StrFormat(
      "%s: %s context switches/s, %s per I/O; %s: %s, %s", NameOfPoint(*sweep, *found.most),
      common::FormatCount(most.context_switches_per_second()),
      common::FormatPerIo(most.context_switches_per_io()), NameOfPoint(*sweep, *found.least),
      common::FormatCount(least.context_switches_per_second()),
      common::FormatPerIo(least.context_switches_per_io())));
}

void AddSyncs(v1::SweepReport* sweep) {
  const auto get = [](const v1::TimeSpent& spent) { return spent.fsync_ratio(); };
  const Extremes found = ExtremesOf(
      *sweep, [](const v1::TimeSpent& spent) { return spent.has_fsync_ratio(); }, get);
  if (found.most == nullptr) return;
  const double most = get(found.most->time_spent());
  const double least = get(found.least->time_spent());
  if (most - least < kShare) {
    // A share that is the same everywhere is worth a sentence only if it explains the figures.
    if (least < kMajorityInFsync || sweep->points_size() < 2) return;
    const std::string from = absl::StrFormat("%.0f", 100 * least);
    const std::string to = absl::StrFormat("%.0f", 100 * most);
    sweep->add_remarks(absl::StrCat("at every point the threads spent ", from,
                                    from == to ? "" : " to " + to,
                                    " % of their time in fsync, which no latency of an I/O shows"));
    return;
  }
  sweep->add_remarks(
      absl::StrFormat("%s: the threads spent %.0f %% of their time in fsync; %s: %.0f %%",
                      NameOfPoint(*sweep, *found.most), 100 * most,
                      NameOfPoint(*sweep, *found.least), 100 * least));
}

using SweptPhases = google::protobuf::RepeatedPtrField<v1::PhaseReport>;

// A point under which one device was, by that device's own counters: its bytes are also those of
// other programs, and so is the time in which it was busy.
struct BusyPoint {
  const v1::SweepPointReport* point = nullptr;
  std::string device;
  double busy = 0, rate = 0;  // medians of the runs; the rate in bytes per second
  double lowest_rate = 0;     // of a run
  // What a run would have moved if "busy" were the share of what the device can do.
  double highest_limit = 0;

  double Limit() const { return rate / busy; }
};

// The only device under a phase's load; null if there are several, of which nobody knows which one
// held it back.
const v1::DeviceReport* OnlyDevice(const v1::PhaseReport& phase) {
  const v1::DeviceReport* only = nullptr;
  for (const v1::DeviceReport& device : phase.devices()) {
    if (device.engine_read_bytes() + device.engine_write_bytes() <= 0) continue;
    if (only != nullptr) return nullptr;
    only = &device;
  }
  return only;
}

// Empty where a run's figures are not known, or are of another device: the sentence names one.
std::optional<BusyPoint> BusyAt(const SweptPhases& phases, const v1::SweepPointReport& point) {
  BusyPoint found{.point = &point};
  std::vector<double> busy;
  std::vector<double> rates;
  for (const v1::PhaseReport& phase : phases) {
    const auto& own = point.phases();
    if (std::find(own.begin(), own.end(), phase.index()) == own.end()) continue;
    const v1::DeviceReport* device = OnlyDevice(phase);
    if (device == nullptr || !(device->busy_ratio() > 0)) return std::nullopt;
    if (!busy.empty() && found.device != device->name()) return std::nullopt;
    found.device = device->name();
    const double rate = device->read_bytes_per_second() + device->write_bytes_per_second();
    found.lowest_rate = rates.empty() ? rate : std::min(found.lowest_rate, rate);
    found.highest_limit = std::max(found.highest_limit, rate / device->busy_ratio());
    busy.push_back(device->busy_ratio());
    rates.push_back(rate);
  }
  if (busy.empty()) return std::nullopt;
  found.busy = MedianOf(busy);
  found.rate = MedianOf(rates);
  return found.rate > 0 ? std::optional(found) : std::nullopt;
}

// The point with the smallest limit, if "busy" were the share of what the device can do, and the
// point at which it moved most.
struct BusyPair {
  std::optional<BusyPoint> limited, most;

  // Whether the device moved more at one point than it could by the other. No run contradicts it:
  // devices of which others use a part differ between runs.
  bool Shows() const {
    return limited && most->rate >= kMoreThroughput * limited->Limit() &&
           most->lowest_rate > limited->highest_limit;
  }
};

BusyPair PairOf(const std::vector<BusyPoint>& points) {
  BusyPair pair;
  for (const BusyPoint& at : points) {
    if (!pair.most || at.rate > pair.most->rate) pair.most = at;
    if (at.busy < kBusyEnough) continue;
    if (!pair.limited || at.Limit() < pair.limited->Limit()) pair.limited = at;
  }
  return pair;
}

std::string BusyText(const v1::SweepReport& sweep, const BusyPoint& first,
                     const BusyPoint& second) {
  return absl::StrFormat("%s: %s was busy for %.0f %% of the time, at %s; %s: for %.0f %%, at %s",
                         NameOfPoint(sweep, *first.point), first.device, 100 * first.busy,
                         common::FormatRate(first.rate), NameOfPoint(sweep, *second.point),
                         100 * second.busy, common::FormatRate(second.rate));
}

// A sweep over sizes of an I/O asks whether a busy device is full: what keeps it from an answer.
std::string WhyNotShown(const v1::SweepReport& sweep, const std::vector<BusyPoint>& points,
                        const BusyPair& pair) {
  const bool asks = std::any_of(sweep.axes().begin(), sweep.axes().end(), [](const auto& axis) {
    return axis.field() == "block_size" || absl::EndsWith(axis.field(), ".block_size");
  });
  if (!asks || points.size() < 2) return "";
  const auto by_rate = [](const BusyPoint& a, const BusyPoint& b) { return a.rate < b.rate; };
  const BusyPoint& least = *std::min_element(points.begin(), points.end(), by_rate);
  return absl::StrCat(
      BusyText(sweep, least, *pair.most), ". Whether a busy device can do more is not shown: ",
      !pair.limited ? "no point kept it busy for half of the time. A greater queue_depth or more "
                      "threads may, if the processors have time for them"
      : pair.most->rate < kMoreThroughput * pair.limited->Limit()
          ? "no point moved clearly more than the others would with a device that is always busy"
          : "runs of one point differ too much. Repeat it while nobody else uses the device");
}

}  // namespace

void AddBusyRemark(const SweptPhases& phases, v1::SweepReport* sweep) {
  std::vector<BusyPoint> points;
  for (const v1::SweepPointReport& point : sweep->points()) {
    if (point.runs() == 0) continue;
    std::optional<BusyPoint> at = BusyAt(phases, point);
    // Two devices may differ in speed, which would say nothing of being busy.
    if (!at || (!points.empty() && points.front().device != at->device)) continue;
    points.push_back(*std::move(at));
  }
  if (points.empty()) return;
  const BusyPair pair = PairOf(points);
  if (!pair.Shows()) {
    if (std::string why = WhyNotShown(*sweep, points, pair); !why.empty()) {
      sweep->add_remarks(std::move(why));
    }
    return;
  }
  sweep->add_remarks(absl::StrCat(
      BusyText(*sweep, *pair.limited, *pair.most), ". ",
      pair.limited->busy >= kBusyThroughout
          ? "A device that is busy all the time can still do more"
          : absl::StrFormat("If \"busy\" were the share of what it can do, %s would be all",
                            common::FormatRate(pair.limited->Limit()))));
}

void AddSweepRemarks(v1::SweepReport* sweep) {
  AddSwitches(sweep);
  AddSyncs(sweep);
}

}  // namespace lockstep::controller
