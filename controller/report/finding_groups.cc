#include "controller/report/finding_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

using measure::FindingKind;

using google::protobuf::RepeatedPtrField;

// The smallest and the largest of some values.
struct ValueRange {
  double least = 0, most = 0;
  bool any = false;
  void Add(double value) {
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
  // "3", or "3 to 12" where the two differ as they are written.
  template <typename Format>
  std::string Text(Format format) const {
    const std::string low = format(least);
    const std::string high = format(most);
    return low == high ? low : absl::StrCat(low, " to ", high);
  }
};

std::string WholeText(double value) { return absl::StrFormat("%.0f", value); }
std::string ShortText(double value) { return common::FormatDigits(value, 3); }

// "22 of 64 hosts".
std::string HostCountText(const v1::PhaseReport& phase, uint32_t hosts) {
  const uint32_t all = std::max({static_cast<uint32_t>(phase.hosts_size()), phase.hosts_count()});
  return all >= hosts && all > 0
             ? absl::StrCat(common::FormatCount(hosts), " of ", common::FormatCount(all), " hosts")
             : absl::StrCat(common::FormatCount(hosts), hosts == 1 ? " host" : " hosts");
}

void SetTime(const ValueRange& time, v1::FindingGroup* group) {
  if (!time.any) return;
  group->set_begin_seconds(time.least);
  group->set_end_seconds(time.most);
}

// ", from 3 to 9 s" where that is a part of the measured time.
std::string TimeText(const v1::PhaseReport& phase, const ValueRange& time) {
  constexpr double kWholeTime = 0.9;
  const double all = phase.window_end_seconds() - phase.window_begin_seconds();
  if (time.most - time.least >= kWholeTime * all) return "";
  return absl::StrCat(", from ", ShortText(time.least), " to ", ShortText(time.most), " s");
}

// The causes of the group's hosts, the most frequent first.
void AddCauses(const std::vector<const v1::Straggler*>& stragglers, v1::FindingGroup* group) {
  std::map<std::string, v1::FindingCause> causes;
  for (const v1::Straggler* s : stragglers) {
    v1::FindingCause& cause = causes[s->cause()];
    // The first host's reason stands for all. Those of the others differ in their figures alone.
    if (cause.hosts().empty()) {
      cause.set_cause(s->cause());
      cause.set_reason(s->reason());
    }
    cause.add_hosts(s->host());
    cause.set_hosts_count(cause.hosts_count() + 1);
  }
  for (auto& [name, cause] : causes) *group->add_causes() = std::move(cause);
  // Causes of as many hosts stay in the order of their names, so that a report is always the same.
  std::stable_sort(group->mutable_causes()->begin(), group->mutable_causes()->end(),
                   [](const auto& a, const auto& b) { return a.hosts_count() > b.hosts_count(); });
}

std::string CausesText(const v1::FindingGroup& group) {
  std::vector<std::string> causes;
  for (const v1::FindingCause& cause : group.causes()) {
    causes.push_back(absl::StrCat(cause.cause(), " (", cause.hosts_count(), ")"));
  }
  return absl::StrJoin(causes, ", ");
}

enum class SlowBy { kIops, kLatency };

void AddStragglers(const v1::PhaseReport& phase, SlowBy slow_by,
                   std::vector<v1::FindingGroup>* groups) {
  const bool by_latency = slow_by == SlowBy::kLatency;
  std::vector<const v1::Straggler*> found;
  ValueRange figure;
  ValueRange time;
  for (const v1::Straggler& s : phase.stragglers()) {
    if (s.has_latency_ratio() != by_latency) continue;
    found.push_back(&s);
    figure.Add(by_latency ? s.latency_ratio() : 100 * s.share());
    time.Add(s.begin_seconds());
    time.Add(s.end_seconds());
  }
  if (found.empty()) return;
  v1::FindingGroup& group = groups->emplace_back();
  group.set_kind(Text(by_latency ? FindingKind::kSlow : FindingKind::kStraggler));
  group.set_findings(static_cast<uint32_t>(found.size()));
  group.set_hosts_count(group.findings());
  for (const v1::Straggler* s : found) group.add_hosts(s->host());
  AddCauses(found, &group);
  SetTime(time, &group);
  // A single host has a sentence of its own, with figures that no group could show.
  if (found.size() == 1) return group.set_sentence(StragglerText(*found.front()));
  group.set_sentence(absl::StrCat(
      HostCountText(phase, group.hosts_count()),
      by_latency ? absl::StrCat(" with I/Os that took ", figure.Text(ShortText),
                                " times as long as the others'")
                 : absl::StrCat(" at ", figure.Text(WholeText), " % of the others' IOPS"),
      TimeText(phase, time), ": ", CausesText(group)));
}

void AddStarvations(const v1::PhaseReport& phase, std::vector<v1::FindingGroup>* groups) {
  if (phase.starvations().empty()) return;
  std::set<std::string> hosts;
  ValueRange time;
  ValueRange seconds;
  for (const v1::Starvation& s : phase.starvations()) {
    hosts.insert(s.host());
    time.Add(s.begin_seconds());
    time.Add(s.end_seconds());
    seconds.Add(s.end_seconds() - s.begin_seconds());
  }
  v1::FindingGroup& group = groups->emplace_back();
  group.set_kind(Text(FindingKind::kStarvation));
  group.set_findings(static_cast<uint32_t>(phase.starvations_size()));
  group.set_hosts_count(static_cast<uint32_t>(hosts.size()));
  for (const std::string& host : hosts) group.add_hosts(host);
  SetTime(time, &group);
  if (group.findings() == 1) return group.set_sentence(StarvationText(phase.starvations(0)));
  group.set_sentence(absl::StrCat(
      hosts.size() == 1 ? *hosts.begin() : HostCountText(phase, group.hosts_count()),
      " got almost nothing, ", group.findings(), " times for ", seconds.Text(ShortText),
      " s, from ", ShortText(time.least), " to ", ShortText(time.most), " s"));
}

// A device with one of its findings.
struct OnDevice {
  const v1::DeviceReport* device;
  std::string sentence;
  const v1::Finding* finding = nullptr;  // none of a cross-check
};

void AddDeviceGroup(const std::string& kind, const std::vector<OnDevice>& found,
                    std::vector<v1::FindingGroup>* groups) {
  v1::FindingGroup& group = groups->emplace_back();
  group.set_kind(kind);
  group.set_findings(static_cast<uint32_t>(found.size()));
  std::set<std::string> hosts;
  std::set<const v1::DeviceReport*> devices;
  ValueRange time;
  for (const OnDevice& on : found) {
    devices.insert(on.device);
    hosts.insert(on.device->hosts().begin(), on.device->hosts().end());
    // A cross-check is of the whole measured time, and has no begin or end of its own.
    if (on.finding == nullptr || !(on.finding->seconds() > 0)) continue;
    time.Add(on.finding->begin_seconds());
    time.Add(on.finding->end_seconds());
  }
  group.set_hosts_count(static_cast<uint32_t>(hosts.size()));
  for (const std::string& host : hosts) group.add_hosts(host);
  SetTime(time, &group);
  const v1::DeviceReport& first = *found.front().device;
  if (devices.size() == 1) {
    return group.set_sentence(absl::StrCat(first.name(), ": ", found.front().sentence));
  }
  // Names of devices mean something on their host only.
  group.set_sentence(absl::StrCat(devices.size(), " devices, among them ", first.name(),
                                  first.hosts().empty() ? "" : absl::StrCat(" of ", first.hosts(0)),
                                  ": ", found.front().sentence));
}

void AddDevices(const v1::PhaseReport& phase, std::vector<v1::FindingGroup>* groups) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<OnDevice>> by_kind;
  const auto add = [&](const std::string& kind, OnDevice on) {
    std::vector<OnDevice>& list = by_kind[kind];
    if (list.empty()) order.push_back(kind);
    list.push_back(std::move(on));
  };
  for (const v1::DeviceReport& d : phase.devices()) {
    const v1::CrossCheck& check = d.cross_check();
    if (check.verdict() == v1::CrossCheck::VERDICT_COALESCED) {
      add(Text(FindingKind::kCoalesced), {&d, check.reason()});
    } else if (check.verdict() == v1::CrossCheck::VERDICT_AMPLIFIED) {
      add(Text(FindingKind::kAmplified), {&d, check.reason()});
    }
    for (const v1::Finding& finding : d.findings()) {
      add(finding.kind(), {&d, finding.sentence(), &finding});
    }
  }
  for (const std::string& kind : order) {
    std::vector<OnDevice>& list = by_kind[kind];
    // Two different findings of one kind on one device are two facts, which no group may hide.
    const bool is_one_device = std::all_of(list.begin(), list.end(), [&](const OnDevice& on) {
      return on.device == list.front().device;
    });
    if (!is_one_device) {
      AddDeviceGroup(kind, list, groups);
      continue;
    }
    for (OnDevice& on : list) AddDeviceGroup(kind, {std::move(on)}, groups);
  }
}

}  // namespace

std::vector<v1::FindingGroup> FindingGroupsOf(const v1::PhaseReport& phase) {
  std::vector<v1::FindingGroup> groups;
  AddStragglers(phase, SlowBy::kIops, &groups);
  AddStragglers(phase, SlowBy::kLatency, &groups);
  AddStarvations(phase, &groups);
  AddDevices(phase, &groups);
  return groups;
}

std::string NamesText(const RepeatedPtrField<std::string>& names, size_t max_names) {
  const auto all = static_cast<size_t>(names.size());
  const size_t shown = std::min(all, max_names);
  std::vector<std::string> list(names.begin(), names.begin() + static_cast<int>(shown));
  return all > shown ? absl::StrCat(absl::StrJoin(list, ", "), " and ", all - shown, " more")
                     : absl::StrJoin(list, ", ");
}

}  // namespace lockstep::controller
