#include "worker/host/facts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/ids.h"

namespace lockstep::worker {
namespace {

absl::StatusOr<std::string> LoadOrMakeId(const std::string& path) {
  const std::string kept = common::ReadTrimmed(path);
  if (common::IsUuid(kept)) return kept;
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

}  // namespace

absl::StatusOr<Identity> LoadIdentity(const std::string& state_directory) {
  if (absl::Status status = common::MakeDirectories(state_directory, 0755); !status.ok()) {
    return status;
  }
  const std::string lock_path = state_directory + "/lock";
  common::FileDescriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return common::ErrnoStatus(errno, lock_path);
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
  };
  for (const auto& [name, path] : files) {
    std::string value = common::ReadTrimmed(path);
    if (!value.empty()) facts[name] = std::move(value);
  }
  return facts;
}

}  // namespace lockstep::worker
