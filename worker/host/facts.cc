#include "worker/host/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/text.h"
#include "common/version.h"
#include "worker/host/mount_table.h"

namespace lockstep::worker {
namespace {

absl::StatusOr<std::string> LoadOrMakeId(const std::string& path) {
  const std::string kept = common::ReadTrimmed(path);
  if (common::IsUuid(kept)) return kept;
  // A damaged file is not replaced in silence: with a new id the controller would take this for
  // another worker.
  if (!kept.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": '", kept, "' is not a UUID; remove the file to get a new one"));
  }
  const std::string made = common::NewUuid();
  if (absl::Status status = common::WriteFileAtomically(path, made + "\n"); !status.ok()) {
    return status;
  }
  return made;
}

std::string FirstValueOf(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return "";
  const size_t colon = text.find(':', at);
  const size_t end = text.find('\n', at);
  return colon == std::string::npos || colon + 2 > end ? ""
                                                       : text.substr(colon + 2, end - colon - 2);
}

std::string OsName() {
  const std::string text = common::ReadTrimmed("/etc/os-release");
  const size_t at = text.find("PRETTY_NAME=\"");
  if (at == std::string::npos) return "";
  const size_t begin = at + 13;
  return text.substr(begin, text.find('"', begin) - begin);
}

// Returns the kernel's measures against the processor's known weaknesses, in one line; empty where
// it does not say.
std::string Mitigations() {
  const std::string directory = "/sys/devices/system/cpu/vulnerabilities";
  std::vector<std::string> words;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir(directory.c_str()), closedir);
  if (files == nullptr) return "";  // this kernel does not say
  while (const dirent* entry = readdir(files.get())) {
    if (entry->d_name[0] == '.') continue;
    const std::string state = common::ReadTrimmed(absl::StrCat(directory, "/", entry->d_name));
    if (!state.empty() && state != "Not affected") {
      words.push_back(absl::StrCat(entry->d_name, ": ", state));
    }
  }
  std::sort(words.begin(), words.end());
  return words.empty() ? "none needed" : absl::StrJoin(words, "; ").substr(0, 1000);
}

void AddDeviceFacts(const std::string& name, std::map<std::string, std::string>* facts) {
  std::string directory = absl::StrCat("/sys/class/block/", name);
  // A partition has its disk's queue.
  if (!common::ReadTrimmed(directory + "/partition").empty()) directory += "/..";
  for (const char* file : {"queue/scheduler", "queue/nr_requests", "queue/max_sectors_kb",
                           "queue/max_segments", "queue/read_ahead_kb", "queue/rotational",
                           "queue/write_cache", "queue/nomerges", "queue/wbt_lat_usec",
                           "queue/io_poll", "device/model", "device/rev", "device/firmware_rev"}) {
    const std::string value = common::ReadTrimmed(absl::StrCat(directory, "/", file));
    if (value.empty()) continue;
    const std::string key = std::string(file).substr(std::string(file).find('/') + 1);
    (*facts)[absl::StrCat("device.", name, ".", key)] = common::Printable(value, 200);
  }
}

}  // namespace

absl::StatusOr<Identity> LoadIdentity(const std::string& state_directory) {
  if (absl::Status status = common::MakePrivateDirectory(state_directory); !status.ok()) {
    return status;
  }
  // The lock has a file of its own. WriteFileAtomically() replaces the other files, and a lock on a
  // replaced file keeps nobody out.
  const std::string lock_path = state_directory + "/lock";
  common::FileDescriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return common::ErrnoStatus(errno, lock_path);
  // The kernel releases the lock however the process ends (flock(2)). A file with a pid would stay
  // after a crash.
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(state_directory,
                     ": another worker uses this state directory; give --state-dir another one"));
  }
  Identity identity;
  identity.lock = std::move(lock);
  auto worker_id = LoadOrMakeId(state_directory + "/worker-id");
  if (!worker_id.ok()) return worker_id.status();
  auto host_id = LoadOrMakeId(state_directory + "/host-id");
  if (!host_id.ok()) return host_id.status();
  identity.worker_id = *worker_id;
  identity.host_id = *host_id;
  return identity;
}

v1::HostFacts ReadHostFacts(const std::string& host_id) {
  v1::HostFacts facts;
  facts.set_host_id(host_id);
  utsname names;
  if (uname(&names) == 0) {
    facts.set_name(names.nodename);
    facts.set_kernel(absl::StrCat(names.sysname, " ", names.release));
  }
  facts.set_boot_id(common::ReadTrimmed("/proc/sys/kernel/random/boot_id"));
  // CLOCK_MONOTONIC has offsets of its own in each time namespace (time_namespaces(7)): workers
  // share a clock only within one.
  char space[64] = {};
  if (readlink("/proc/self/ns/time", space, sizeof space - 1) < 0) space[0] = 0;
  facts.set_clock_id(absl::StrCat(facts.boot_id(), "/", space));
  facts.set_os(OsName());
  facts.set_cpu_model(FirstValueOf(common::ReadTrimmed("/proc/cpuinfo"), "model name"));
  facts.set_cpus(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  facts.set_memory_bytes(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
  return facts;
}

std::map<std::string, std::string> ReadEnvironment() {
  std::map<std::string, std::string> facts;
  const std::pair<const char*, const char*> files[] = {
      {"vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"},
      {"vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"},
      {"vm.swappiness", "/proc/sys/vm/swappiness"},
      {"kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled"},
      {"cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
      {"transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
      {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
      {"cpu.smt", "/sys/devices/system/cpu/smt/control"},
      {"kernel.version", "/proc/sys/kernel/version"},
  };
  for (const auto& [name, path] : files) {
    std::string value = common::ReadTrimmed(path);
    if (!value.empty()) facts[name] = std::move(value);
  }
  facts["lockstep.version"] = common::kSoftwareVersion;
  facts["kernel"] = common::ReadTrimmed("/proc/sys/kernel/osrelease");
  facts["os"] = OsName();
  facts["cpu.model"] = FirstValueOf(common::ReadTrimmed("/proc/cpuinfo"), "model name");
  facts["cpu.count"] = absl::StrCat(sysconf(_SC_NPROCESSORS_ONLN));
  facts["memory.page_bytes"] = absl::StrCat(sysconf(_SC_PAGESIZE));
  if (std::string words = Mitigations(); !words.empty()) {
    facts["cpu.mitigations"] = std::move(words);
  }
  facts["memory.GiB"] =
      absl::StrCat(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) >> 30);
  return facts;
}

std::string MountOf(const std::string& mounts, const std::string& path) {
  std::string found;
  size_t longest = 0;
  for (const MountLine& line : ParseMountInfo(mounts)) {
    const std::string& point = line.target;
    const bool holds = point == "/" || path == point || path.rfind(point + "/", 0) == 0;
    // Later mounts cover earlier ones.
    if (!holds || point.size() < longest) continue;
    longest = point.size();
    found = absl::StrCat(line.type, " ", line.options, ";", line.filesystem_options);
  }
  return found;
}

std::map<std::string, std::string> ReadTargetFacts(const v1::Inspection& inspection) {
  std::map<std::string, std::string> facts;
  const std::string mounts = common::ReadTrimmed("/proc/self/mountinfo");
  std::set<std::string> devices;
  for (const v1::StorageLayer& layer : inspection.layers()) devices.insert(layer.device_name());
  for (const v1::TargetInspection& target : inspection.targets()) {
    devices.insert(target.device_name());
  }
  for (const std::string& name : devices) {
    // The name becomes a part of a path in sysfs. A slash in it could lead anywhere.
    if (!name.empty() && name.find('/') == std::string::npos) AddDeviceFacts(name, &facts);
  }
  for (const v1::TargetInspection& target : inspection.targets()) {
    if (target.filesystem().empty() || target.paths().empty()) continue;
    const std::string& path = target.paths(0);
    const std::string mount = MountOf(mounts, path);
    if (!mount.empty()) facts[absl::StrCat("mount.", path.substr(0, path.rfind('/')))] = mount;
  }
  std::map<std::string, std::string> observed;  // identities
  for (const v1::ObservedDevices& devices : inspection.observed()) {
    for (const v1::ObservedDevice& device : devices.devices()) {
      observed.emplace(device.name(), device.identity());
    }
  }
  for (const auto& [name, identity] : observed) {
    AddDeviceFacts(name, &facts);
    // Identities of targets are in run_targets. The view device_timeline looks for both.
    if (!identity.empty()) facts[absl::StrCat("device.", name, ".identity")] = identity;
  }
  return facts;
}

}  // namespace lockstep::worker
