// Which settings of the hosts' kernels did the phase have changed?

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/analysis.h"
#include "controller/plan/environments.h"

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

// Another run may have changed them underneath this one: a run that changes none itself does not
// wait for it.
void AddSettingsOfOthers(const PhaseView& view, v1::PhaseReport* report) {
  constexpr int kNamed = 3;
  const int64_t begin = view.phase().phase.go_wall_ns;
  const auto end = begin + static_cast<int64_t>(1e9 * DoneOf(view.phase()).last_seconds);
  // By run and settings: its points may all change the same.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> found;
  for (const measure::OtherSettings& other : view.data().concurrent_settings) {
    // 0 stands for a run that has not ended.
    const bool is_over = other.until_wall_ns != 0 && other.until_wall_ns <= begin;
    if (begin == 0 || is_over || other.from_wall_ns >= end) continue;
    const std::string settings = DescribeEnvironment(other.environment);
    if (settings.empty()) continue;
    for (const auto& [device, run_ids] : view.data().concurrent) {
      if (std::find(run_ids.begin(), run_ids.end(), other.run_id) == run_ids.end()) continue;
      found[{other.run_id, settings}].insert(device.substr(device.find('/') + 1));
    }
  }
  int named = 0;
  for (const auto& [other, devices] : found) {
    if (++named > kNamed) break;
    report->add_remarks(
        absl::StrCat("run ", other.first.substr(0, 8),
                     " had changed settings of the hosts' kernels during that time (", other.second,
                     "), and both runs use ", absl::StrJoin(devices, ", "),
                     ": the figures may be of its settings"));
  }
}

const RegisterAnalysis kOthersSettingsRegistered(order::kSettings + 1, "settings of others",
                                                 &AddSettingsOfOthers);
const RegisterAnalysis kSettingsRegistered(order::kSettings, "settings", &AddSettings);

}  // namespace
}  // namespace lockstep::controller
