// Which settings of the hosts' kernels did the phase have changed?

#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

void AddSettings(const PhaseView& view, v1::PhaseReport* report) {
  // Hosts with the same value before and after share one row.
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>,
           v1::SettingReport*>
      rows;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::SettingChange& change : worker.result.settings()) {
      v1::SettingReport*& row = rows[{change.thing(), change.name(), change.before(),
                                      change.value(), change.not_restored()}];
      if (row == nullptr) {
        row = report->add_settings();
        row->set_thing(change.thing());
        row->set_name(change.name());
        row->set_before(change.before());
        row->set_value(change.value());
        row->set_not_restored(change.not_restored());
      }
      row->add_hosts(view.HostOf(worker.worker_index));
    }
  }
  for (const v1::SettingReport& row : report->settings()) {
    if (row.not_restored().empty()) continue;
    report->add_remarks(absl::StrCat(
        "a setting was left changed on ", row.hosts(0),
        row.hosts_size() > 1 ? absl::StrCat(" and ", row.hosts_size() - 1, " more") : "", ": ",
        row.not_restored()));
  }
}

const RegisterAnalysis kSettingsRegistered(order::kSettings, "settings", &AddSettings);

}  // namespace
}  // namespace lockstep::controller
