#include "controller/plan/observed_levels.h"

#include <algorithm>
#include <utility>

namespace lockstep::controller {

void ObservedLevels::Add(const v1::ObservedDevices& seen) {
  for (const v1::ObservedDevice& device : seen.devices()) {
    std::set<std::string>& beneath = beneath_[device.name()];
    for (const std::string& part : device.on()) {
      // A worker is not trusted to send no circle.
      if (part != device.name()) beneath.insert(part);
    }
    if (device.in_use()) in_use_.insert(device.name());
  }
}

bool ObservedLevels::IsChain(const std::string& device) const {
  const std::set<std::string>& all = beneath_.at(device);
  const auto lies_on = [this](const std::string& upper, const std::string& lower) {
    const auto found = beneath_.find(upper);
    return found != beneath_.end() && found->second.contains(lower);
  };
  for (auto one = all.begin(); one != all.end(); ++one) {
    const bool has_place = std::all_of(std::next(one), all.end(), [&](const std::string& other) {
      return lies_on(*one, other) || lies_on(other, *one);
    });
    if (!has_place) return false;
  }
  return true;
}

std::set<std::string> ObservedLevels::Counted() const {
  std::map<std::string, std::set<std::string>> above;  // of each device those that lie over it
  for (const auto& [device, parts] : beneath_) {
    for (const std::string& part : parts) above[part].insert(device);
  }
  std::set<std::string> counted;
  for (const auto& [device, parts] : beneath_) {
    const auto over = above.find(device);
    const bool is_counted =
        over == above.end() ||
        (in_use_.contains(device) &&
         std::all_of(over->second.begin(), over->second.end(),
                     [this](const std::string& upper) { return IsChain(upper); }));
    if (is_counted) counted.insert(device);
  }
  // In a circle, which no kernel has, every device has another one above it.
  if (counted.empty()) {
    for (const auto& [device, parts] : beneath_) counted.insert(device);
    return counted;
  }
  std::set<std::string> kept;
  for (const std::string& device : counted) {
    const std::set<std::string>& parts = beneath_.at(device);
    // A part that counts by itself has the requests of the device above it among its own.
    const bool gives_way = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return counted.contains(part);
    });
    if (!gives_way) kept.insert(device);
  }
  return kept;
}

void AssignObserving(const SettledRun& run, int observe, std::vector<v1::Assignment>* assignments) {
  const auto observed_by = [&](const v1::Assignment& a) -> const v1::ObservedDevices& {
    const v1::Inspection& inspection = run.workers[a.worker_index()].inspection;
    return observe < inspection.observed_size() ? inspection.observed(observe)
                                                : v1::ObservedDevices::default_instance();
  };
  const auto kernel_of = [&](const v1::Assignment& a) -> const std::string& {
    return run.workers[a.worker_index()].hello.host().boot_id();
  };
  std::map<std::string, ObservedLevels> levels;  // by boot id
  for (const v1::Assignment& a : *assignments) levels[kernel_of(a)].Add(observed_by(a));
  std::map<std::string, std::set<std::string>> counted;
  for (const auto& [boot_id, kernel] : levels) counted[boot_id] = kernel.Counted();
  std::set<std::pair<std::string, std::string>> devices;
  std::set<std::pair<std::string, std::string>> mounts;
  std::set<std::string> hosts;
  for (v1::Assignment& a : *assignments) {
    const std::string& boot_id = kernel_of(a);
    // Workers under one kernel would read the same counters, which would then count twice.
    a.set_sample_host(hosts.insert(boot_id).second);
    for (const v1::ObservedDevice& device : observed_by(a).devices()) {
      if (!devices.emplace(boot_id, device.name()).second) continue;
      counted[boot_id].contains(device.name()) ? a.add_sample_devices(device.name())
                                               : a.add_nested_devices(device.name());
    }
    for (const v1::ObservedMount& mount : observed_by(a).mounts()) {
      if (mounts.emplace(boot_id, mount.mount_point()).second) {
        a.add_sample_mounts(mount.mount_point());
      }
    }
  }
}

}  // namespace lockstep::controller
