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

namespace lockstep::controller {
namespace {

// Less than this factor between the points is not worth a sentence, nor a share of the time that
// differs by less than this.
constexpr double kFactor = 1.5;
constexpr double kShare = 0.1;
constexpr double kMajorityInFsync = 0.5;
// As limits.cc has it of a device that is never idle.
constexpr double kBusyThroughout = 0.95;
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

struct BusyDevice {
  std::string name;
  double busy = 1;  // the least of the point's runs
};

// The only device under a point, if it was busy all the time in each of its runs.
std::optional<BusyDevice> BusyAt(const SweptPhases& phases, const v1::SweepPointReport& point) {
  std::optional<BusyDevice> found;
  for (const v1::PhaseReport& phase : phases) {
    const auto& own = point.phases();
    if (std::find(own.begin(), own.end(), phase.index()) == own.end()) continue;
    const v1::DeviceReport* only = nullptr;
    for (const v1::DeviceReport& device : phase.devices()) {
      if (device.engine_read_bytes() + device.engine_write_bytes() <= 0) continue;
      // Of several devices nobody knows which one held the point back.
      if (only != nullptr) return std::nullopt;
      only = &device;
    }
    if (only == nullptr || only->busy_ratio() < kBusyThroughout) return std::nullopt;
    // Other runs of the point may have been on another device: the sentence names one.
    if (found && found->name != only->name()) return std::nullopt;
    found = {only->name(), std::min(found ? found->busy : 1, only->busy_ratio())};
  }
  return found;
}

}  // namespace

void AddBusyRemark(const SweptPhases& phases, v1::SweepReport* sweep) {
  struct Point {
    const v1::SweepPointReport* point;
    BusyDevice device;
  };
  std::optional<Point> most;
  std::optional<Point> least;
  for (const v1::SweepPointReport& point : sweep->points()) {
    if (point.runs() == 0 || !(point.bytes_per_second() > 0)) continue;
    const std::optional<BusyDevice> device = BusyAt(phases, point);
    // Two devices may differ in speed, which would say nothing of being busy.
    if (!device || (most && most->device.name != device->name)) continue;
    const double rate = point.bytes_per_second();
    if (!most || rate > most->point->bytes_per_second()) most = {&point, *device};
    if (!least || rate < least->point->bytes_per_second()) least = {&point, *device};
  }
  if (!most ||
      most->point->bytes_per_second() < kMoreThroughput * least->point->bytes_per_second()) {
    return;
  }
  const auto mib = [](const Point& at) { return at.point->bytes_per_second() / common::kMiB; };
  sweep->add_remarks(absl::StrFormat(
      "%s: %s was busy for %.0f %% of the time, at %.1f MiB/s; %s: for %.0f %%, at %.1f MiB/s. A "
      "device that is busy all the time can still do more",
      NameOfPoint(*sweep, *least->point), least->device.name, 100 * least->device.busy, mib(*least),
      NameOfPoint(*sweep, *most->point), 100 * most->device.busy, mib(*most)));
}

void AddSweepRemarks(v1::SweepReport* sweep) {
  AddSwitches(sweep);
  AddSyncs(sweep);
}

}  // namespace lockstep::controller
