#include "controller/analysis/sweep_remarks.h"

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
      "%s: %s context switches/s, %.3g per I/O; %s: %s, %.3g", NameOfPoint(*sweep, *found.most),
      common::FormatCount(most.context_switches_per_second()), most.context_switches_per_io(),
      NameOfPoint(*sweep, *found.least), common::FormatCount(least.context_switches_per_second()),
      least.context_switches_per_io()));
}

void AddSyncs(v1::SweepReport* sweep) {
  const auto get = [](const v1::TimeSpent& spent) { return spent.fsync_ratio(); };
  const Extremes found = ExtremesOf(
      *sweep, [](const v1::TimeSpent& spent) { return spent.has_fsync_ratio(); }, get);
  if (found.most == nullptr ||
      get(found.most->time_spent()) - get(found.least->time_spent()) < kShare) {
    return;
  }
  sweep->add_remarks(
      absl::StrFormat("%s: the threads spent %.0f %% of their time in fsync; %s: %.0f %%",
                      NameOfPoint(*sweep, *found.most), 100 * get(found.most->time_spent()),
                      NameOfPoint(*sweep, *found.least), 100 * get(found.least->time_spent())));
}

}  // namespace

void AddSweepRemarks(v1::SweepReport* sweep) {
  AddSwitches(sweep);
  AddSyncs(sweep);
}

}  // namespace lockstep::controller
