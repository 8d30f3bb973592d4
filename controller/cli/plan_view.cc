#include "controller/cli/plan_view.h"

#include <cmath>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/text_table.h"

namespace lockstep::cli {
namespace {

void PrintObserves(const v1::PlanReply& plan) {
  for (const v1::PlannedWorker& worker : plan.workers()) {
    for (const v1::PlannedObserve& planned : worker.observes()) {
      // A stack has many devices. The line begins with those that the job or --allow names.
      std::set<std::string> beneath;
      for (const v1::ObservedDevice& device : planned.observed().devices()) {
        beneath.insert(device.on().begin(), device.on().end());
      }
      std::vector<std::string> names;
      for (const v1::ObservedDevice& device : planned.observed().devices()) {
        if (!beneath.contains(device.name())) names.push_back(device.name());
      }
      for (const v1::ObservedMount& mount : planned.observed().mounts()) {
        names.push_back(absl::StrCat(mount.kind(), " on ", mount.mount_point()));
      }
      std::cout << "\n"
                << worker.host() << ": " << planned.phase()
                << (names.empty() ? " observes nothing: REFUSED"
                                  : absl::StrCat(" observes ", absl::StrJoin(names, ", "),
                                                 beneath.empty() ? "" : ", and underneath them ",
                                                 absl::StrJoin(beneath, ", "),
                                                 "; nothing is written to them"))
                << "\n";
    }
  }
}

// ", 5 s ramp + 60 s"; empty where the time depends on the device.
std::string TimesOf(const v1::PlannedPhase& phase) {
  if (!(phase.duration_seconds() > 0)) return "";
  const auto text = [](double seconds) {
    // Rounded before the decimals are chosen, or 59.96 s would become "60.0 s".
    const double tenths = std::round(10 * seconds);
    return absl::StrFormat("%.*f s", std::fmod(tenths, 10) == 0 ? 0 : 1, tenths / 10);
  };
  const std::string measured = text(phase.duration_seconds() - phase.ramp_seconds());
  if (!(phase.ramp_seconds() > 0)) return ", " + measured;
  return absl::StrCat(", ", text(phase.ramp_seconds()), " ramp + ", measured);
}

}  // namespace

void PrintPlan(const v1::PlanReply& plan, size_t width) {
  for (const v1::PlannedPhase& phase : plan.phases()) {
    std::cout << phase.name() << (phase.name() == phase.kind() ? "" : " (" + phase.kind() + ")")
              << TimesOf(phase) << "\n";
    for (const std::string& line : phase.lines()) std::cout << "  " << line << "\n";
  }
  controller::TextTable table({"host", "target", "on", "size", "free", "would write"}, {0, 1, 2, 5},
                              {0, 1});
  for (const v1::PlannedWorker& worker : plan.workers()) {
    for (const v1::TargetInspection& target : worker.targets()) {
      std::string path = target.paths_size() > 0 ? target.paths(0) : "-";
      if (target.path_count() > 1) {
        absl::StrAppend(&path, " and ", target.path_count() - 1, " more");
      }
      // A network file system has no device, only its type.
      const std::string on =
          target.device_name().empty()
              ? target.filesystem()
              : absl::StrCat(target.device_name(), target.filesystem().empty() ? "" : " ",
                             target.filesystem());
      table.Add(
          {worker.host(), path, on, common::FormatSize(static_cast<double>(target.size_bytes())),
           target.free_bytes() > 0 ? common::FormatSize(static_cast<double>(target.free_bytes()))
                                   : "-",
           !target.refused().empty()      ? "REFUSED"
           : target.would_write().empty() ? "nothing"
                                          : target.would_write()});
    }
  }
  if (!table.empty()) std::cout << "\n" << table.Render("", width);
  PrintObserves(plan);
  if (plan.prepared_bytes() > 0) {
    std::cout << "\nPrepare phases write " << common::FormatSize(plan.prepared_bytes())
              << " on all hosts together.\n";
  }
  for (const v1::PlannedSpace& space : plan.spaces()) {
    std::cout << "The files beside " << space.path() << " need at most "
              << common::FormatSize(space.needed_bytes()) << " at a time, of "
              << common::FormatSize(space.usable_bytes()) << " that they may take.\n";
  }
  for (const std::string& warning : plan.warnings()) std::cout << "\nwarning: " << warning << "\n";
  for (const std::string& what : plan.overwrites()) {
    std::cout << "\noverwrites what Lockstep did not make: " << what << "\n";
  }
  for (const std::string& what : plan.approved_overwrites()) {
    std::cout << "\noverwrites what Lockstep did not make, which the workers approve by a label of "
                 "the job: "
              << what << "\n";
  }
}

}  // namespace lockstep::cli
