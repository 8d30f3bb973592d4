#include "worker/load/placement.h"

#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::worker {

namespace {

absl::Status SetIoPriority(int priority) {
  // glibc has no wrapper. 0 is the calling thread.
  if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EPERM) {
    return absl::PermissionDeniedError(
        "io_priority: class realtime needs the capability CAP_SYS_ADMIN (or CAP_SYS_NICE, on newer "
        "kernels), which this worker lacks; give it the capability, or use class best_effort");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("io_priority: this kernel refuses it: ", common::ErrnoText(error)));
}

// A thread may send the priorities that it may set with its I/Os; the kernel's rule is the same
// (ioprio_check_cap() in block/ioprio.c).
absl::Status TryIoPriorities(const std::vector<int>& priorities) {
  if (priorities.empty()) return absl::OkStatus();
  const long own = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
  for (const int priority : priorities) {
    if (absl::Status status = SetIoPriority(priority); !status.ok()) return status;
  }
  return SetIoPriority(own < 0 ? 0 : static_cast<int>(own));
}

// Processors of a thread. cpu_set_t ends at processor 1023, and a job may name higher ones.
class Cpus {
 public:
  static constexpr uint32_t kCount = 8192;

  void Add(uint32_t cpu) { mask_[cpu / kBits] |= 1ul << (cpu % kBits); }
  // The calling thread runs on them from now on. False, and errno, where the kernel has none of
  // them. It ignores the bits beyond its own number of processors.
  bool Bind() const { return syscall(SYS_sched_setaffinity, 0, sizeof mask_, mask_.data()) >= 0; }

 private:
  static constexpr uint32_t kBits = 64;
  std::array<unsigned long, kCount / kBits> mask_{};
};

// "0-3,8" as sysfs writes it.
bool AddCpus(const std::string& list, Cpus* cpus) {
  bool any = false;
  for (const absl::string_view part : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) continue;
    for (uint32_t cpu = first; cpu <= last && cpu < Cpus::kCount; ++cpu) {
      cpus->Add(cpu);
      any = true;
    }
  }
  return any;
}

absl::Status RunOnNodes(const std::vector<uint32_t>& nodes) {
  if (nodes.empty()) return absl::OkStatus();
  Cpus cpus;
  for (const uint32_t node : nodes) {
    std::ifstream file(absl::StrCat("/sys/devices/system/node/node", node, "/cpulist"));
    std::string list;
    if (!std::getline(file, list) || !AddCpus(list, &cpus)) {
      return absl::InvalidArgumentError(
          absl::StrCat("engine_options.cpu_nodes: this host has no NUMA node ", node,
                       " with processors; see /sys/devices/system/node"));
    }
  }
  if (cpus.Bind()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("engine_options.cpu_nodes: ", common::ErrnoText(errno)));
}

// False, and errno, where the kernel refuses it.
bool SetMemoryPolicy(int policy, const std::vector<uint32_t>& nodes) {
  // Enough for the largest node of a job, 1023. The kernel uses one bit less than the given number
  // (get_nodes() in mm/mempolicy.c).
  std::array<unsigned long, 17> mask{};
  for (const uint32_t node : nodes) mask[node / 64] |= 1ul << (node % 64);
  return syscall(SYS_set_mempolicy, policy, mask.data(), mask.size() * 64) == 0;
}

absl::Status InterleaveOver(const std::vector<uint32_t>& nodes) {
  if (nodes.empty() || SetMemoryPolicy(MPOL_INTERLEAVE, nodes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("engine_options.interleave_nodes: memory of nodes ", absl::StrJoin(nodes, ", "),
                   ": ", common::ErrnoText(errno), "; see /sys/devices/system/node"));
}

}  // namespace

absl::Status BindThisThread(const Placement& placement) {
  // An arrival is due to the microsecond; the default slack of sleeping threads is 50.
  prctl(PR_SET_TIMERSLACK, 1);
  if (placement.cpu >= 0) {
    Cpus cpus;
    cpus.Add(static_cast<uint32_t>(placement.cpu));
    if (!cpus.Bind()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "engine_options.cpus: processor ", placement.cpu, ": ", common::ErrnoText(errno),
          "; this worker may run on ", sysconf(_SC_NPROCESSORS_ONLN), " processors, from 0"));
    }
  }
  if (placement.numa_node >= 0) {
    // MPOL_PREFERRED would silently take memory of other nodes when this one is full
    // (set_mempolicy(2)), and the figures would then be those of another placement.
    if (!SetMemoryPolicy(MPOL_BIND, {static_cast<uint32_t>(placement.numa_node)})) {
      return absl::InvalidArgumentError(
          absl::StrCat("engine_options.numa_node: memory of node ", placement.numa_node, ": ",
                       common::ErrnoText(errno), "; see /sys/devices/system/node"));
    }
  }
  if (absl::Status status = RunOnNodes(placement.cpu_nodes); !status.ok()) return status;
  if (absl::Status status = InterleaveOver(placement.interleave_nodes); !status.ok()) return status;
  if (absl::Status status = TryIoPriorities(placement.line_priorities); !status.ok()) return status;
  return placement.io_priority != 0 ? SetIoPriority(placement.io_priority) : absl::OkStatus();
}

}  // namespace lockstep::worker
