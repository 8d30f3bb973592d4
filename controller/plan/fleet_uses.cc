#include "controller/plan/fleet_uses.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

// Identities that one kernel makes up. The same text on another host is another device, so the boot
// id belongs to the key.
bool IsLocal(const std::string& identity) {
  return absl::StartsWith(identity, "loop-file:") || absl::StartsWith(identity, "zram:");
}

// A device that is written.
struct Written {
  std::string target, host;
};

// Each worker's part of a shared device follows from the size that its host reports. Hosts that
// report different sizes would write into each other's parts.
std::vector<std::string> SizesThatDiffer(const v1::JobSpec& job,
                                         const std::vector<PlanWorker>& workers,
                                         const std::vector<TargetUse>& use) {
  struct Seen {
    uint64_t bytes;
    std::string host;
  };
  std::map<std::pair<uint32_t, std::string>, Seen> seen;  // by target and key
  std::vector<std::string> refusals;
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= use.size() || found.device_identity().empty()) continue;
      const v1::Target& target = job.targets(static_cast<int>(found.target()));
      if (!target.has_device() && !target.has_iscsi()) continue;
      const std::string& host = worker.hello.host().name();
      const auto [first, is_new] =
          seen.emplace(std::pair(found.target(),
                                 DeviceKey(found.device_identity(), worker.hello.host().boot_id())),
                       Seen{found.size_bytes(), host});
      if (is_new || first->second.bytes == found.size_bytes()) continue;
      refusals.push_back(absl::StrCat(
          "target ", target.name(), " (", found.device_identity(), "): has ", first->second.bytes,
          " bytes on ", first->second.host, " and ", found.size_bytes(), " on ", host,
          "; rescan it on the host that is behind, or look whether one of "
          "them does not see its stamps"));
    }
  }
  return refusals;
}

}  // namespace

std::string DeviceKey(const std::string& identity, const std::string& boot_id) {
  return IsLocal(identity) ? absl::StrCat(boot_id, "/", identity) : identity;
}

FleetUses::FleetUses(const v1::DevicesReply& kernels) {
  for (const v1::HostDevices& host : kernels.hosts()) {
    std::set<std::string> mapped;  // LUNs over several paths, each of which the mapped device holds
    for (const v1::BlockDevice& device : host.devices()) {
      if (device.transport() == "multipath") mapped.insert(device.identity());
    }
    for (const v1::BlockDevice& device : host.devices()) {
      if (device.identity().empty()) continue;
      const std::string key = DeviceKey(device.identity(), host.boot_id());
      const std::string disk =
          device.disk_identity().empty() ? "" : DeviceKey(device.disk_identity(), host.boot_id());
      if (!disk.empty()) disks_[key] = disk;
      // The disk is noted before idle devices are skipped. FleetUses::Of() needs it to find users
      // of the disk of an idle partition.
      if (!device.busy()) continue;
      // A path of a multipath LUN is always busy, because the mapped device holds it. Counting that
      // as a use would refuse every run on the LUN.
      if (device.transport() != "multipath" && mapped.contains(device.identity())) continue;
      const std::string words =
          absl::StrCat(host.host(), " has it as ", device.path(), ", which is ", device.in_use());
      by_key_.emplace(key, words);
      if (!disk.empty()) by_disk_.emplace(disk, words);
    }
  }
}

std::string FleetUses::DiskOf(const std::string& key) const {
  const auto found = disks_.find(key);
  return found == disks_.end() ? "" : found->second;
}

std::vector<std::string> FleetUses::Of(const std::string& key) const {
  std::vector<std::string> words;
  const auto add = [&words](const std::multimap<std::string, std::string>& uses,
                            const std::string& of) {
    const auto [begin, end] = uses.equal_range(of);
    for (auto use = begin; use != end; ++use) words.push_back(use->second);
  };
  // Users of the disk and users of its partitions both count. A user of another partition of the
  // same disk does not: it has other bytes.
  add(by_key_, key);
  add(by_disk_, key);
  if (const std::string disk = DiskOf(key); !disk.empty()) add(by_key_, disk);
  return words;
}

bool WritesDevices(const v1::JobSpec& job) {
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (size_t t = 0; t < use.size(); ++t) {
    const v1::Target& target = job.targets(static_cast<int>(t));
    if (use[t].changed() && (target.has_device() || target.has_iscsi())) return true;
  }
  return false;
}

std::vector<std::string> UsesInFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                                     const v1::DevicesReply& kernels) {
  std::vector<std::string> refusals;
  // A host that does not answer refuses the run. It may have mounted the device, and a write would
  // destroy its file system.
  for (const v1::HostDevices& host : kernels.hosts()) {
    if (host.missing().empty()) continue;
    refusals.push_back(absl::StrCat(
        host.host(), ": does not say what its kernel uses (", host.missing(),
        "): it may have mounted a device that the job writes; end its worker, or wait for it"));
  }
  const std::vector<TargetUse> use = UseOfTargets(job);
  std::map<std::string, Written> written;  // by key
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= use.size() || !use[found.target()].changed()) continue;
      const v1::Target& target = job.targets(static_cast<int>(found.target()));
      if (found.device_identity().empty() || !(target.has_device() || target.has_iscsi())) continue;
      // One entry for each device: the hosts that share it would only repeat the refusal.
      written.emplace(DeviceKey(found.device_identity(), worker.hello.host().boot_id()),
                      Written{target.name(), worker.hello.host().name()});
    }
  }
  for (std::string& contradiction : SizesThatDiffer(job, workers, use)) {
    refusals.push_back(std::move(contradiction));
  }
  const FleetUses uses(kernels);
  for (const auto& [key, device] : written) {
    for (const std::string& words : uses.Of(key)) {
      refusals.push_back(absl::StrCat("target ", device.target, " (", key, ", on ", device.host,
                                      "): ", words,
                                      "; a device in use anywhere in the fleet is never written"));
    }
  }
  return refusals;
}

}  // namespace lockstep::controller
