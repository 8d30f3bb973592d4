#include "controller/plan/selection.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {

std::vector<std::string> ExpandHostNames(const std::string& text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {text};
  const std::string head = text.substr(0, open);
  const std::string tail = text.substr(close + 1);
  std::vector<std::string> names;
  const std::vector<std::string> parts = absl::StrSplit(text.substr(open + 1, close - open - 1), ',');
  for (const std::string& part : parts) {
    const size_t dash = part.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (dash == std::string::npos || !absl::SimpleAtoi(part.substr(0, dash), &first) ||
        !absl::SimpleAtoi(part.substr(dash + 1), &last) || last < first || last - first > 65536) {
      for (const std::string& rest : ExpandHostNames(head + part + tail)) names.push_back(rest);
      continue;
    }
    for (uint32_t i = first; i <= last; ++i) {
      const std::string number = absl::StrFormat("%0*d", static_cast<int>(dash), i);
      for (const std::string& rest : ExpandHostNames(tail)) names.push_back(head + number + rest);
    }
  }
  return names;
}

absl::StatusOr<std::vector<uint32_t>> Select(const v1::HostSelector& selector, const std::vector<PlanWorker>& workers) {
  std::set<std::string> wanted;
  for (const std::string& text : selector.names()) {
    for (const std::string& name : ExpandHostNames(text)) wanted.insert(name);
  }
  std::vector<uint32_t> chosen;
  std::set<std::string> found;
  for (uint32_t i = 0; i < workers.size(); ++i) {
    const v1::Hello& hello = workers[i].hello;
    if (!wanted.empty() && wanted.count(hello.host().name()) == 0) continue;
    const bool labelled = std::all_of(selector.labels().begin(), selector.labels().end(), [&](const auto& label) {
      const auto has = hello.labels().find(label.first);
      return has != hello.labels().end() && has->second == label.second;
    });
    if (!labelled) continue;
    found.insert(hello.host().name());
    chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t i) { return std::pair(workers[i].hello.host().name(), workers[i].hello.worker_id()); };
    return key(a) < key(b);
  });
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(), std::back_inserter(missing));
  if (!missing.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("no worker is attached on ", absl::StrJoin(missing, ", ")));
  }
  if (chosen.empty() || chosen.size() < selector.count()) {
    std::vector<std::string> names;
    for (uint32_t i : chosen) names.push_back(workers[i].hello.host().name());
    return absl::ResourceExhaustedError(absl::StrCat("the job needs ", std::max<uint32_t>(1, selector.count()), " hosts, ", chosen.size(),
                                                     " that match are attached", names.empty() ? "" : ": ", absl::StrJoin(names, ", "),
                                                     "; `lockstep hosts` lists all"));
  }
  if (selector.count() != 0) chosen.resize(selector.count());
  return chosen;
}

FleetCheck CheckFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers, const std::string& store_device) {
  FleetCheck check;
  std::map<std::string, std::string> owners;  // place of a private target → host
  std::set<std::string> warned;
  const auto synthetic = std::count_if(workers.begin(), workers.end(), [](const PlanWorker& w) { return w.inspection.synthetic(); });
  if (synthetic != 0 && synthetic != static_cast<std::ptrdiff_t>(workers.size())) {
    check.refusals.push_back(absl::StrCat(synthetic, " of ", workers.size(), " workers are synthetic (--simulate): their figures are made up, and cannot be added to real ones; select hosts by names, or ",
                                          "by the label synthetic: yes"));
  }
  for (const PlanWorker& worker : workers) {
    const std::string& host = worker.hello.host().name();
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      const v1::Target& target = job.targets(static_cast<int>(found.target()));
      if (!found.refused().empty()) {
        check.refusals.push_back(absl::StrCat(host, ": target ", target.name(), ": ", found.refused()));
        continue;
      }
      if (target.sharing() == v1::SHARING_PRIVATE) {
        for (int i = 0; i < found.place_keys_size(); ++i) {
          const auto [other, fresh] = owners.emplace(found.place_keys(i), host);
          if (fresh) continue;
          check.refusals.push_back(absl::StrCat(host, ": target ", target.name(), ": ", i < found.paths_size() ? found.paths(i) : "", " is also used by ", other->second,
                                                "; put {host} or {worker} into the path, or share it with sharing: sliced"));
          break;
        }
      }
      const std::string device = absl::StrCat(worker.hello.host().boot_id(), "/", found.device_name());
      if (!store_device.empty() && device == store_device && warned.insert(target.name()).second) {
        check.warnings.push_back(absl::StrCat("target ", target.name(), " lies on ", found.device_name(),
                                              ", where Lockstep's own store writes too; for figures that count, use another device or --store"));
      }
      if (found.device_name().empty() && !target.has_null() && !worker.inspection.synthetic() && warned.insert("memory " + target.name()).second) {
        check.warnings.push_back(absl::StrCat("target ", target.name(), " has no block device underneath (", found.filesystem(),
                                              "): memory or a network is measured, and nothing can be cross-checked"));
      }
    }
  }
  return check;
}

}  // namespace lockstep::controller
