#include "worker/load/placement.h"

#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
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

}  // namespace

absl::Status BindThisThread(const Placement& placement) {
  // An arrival is due to the microsecond; the default slack of sleeping threads is 50.
  prctl(PR_SET_TIMERSLACK, 1);
  if (placement.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<size_t>(placement.cpu), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "engine_options.cpus: processor ", placement.cpu, ": ", common::ErrnoText(errno),
          "; this worker may run on ", sysconf(_SC_NPROCESSORS_ONLN), " processors, from 0"));
    }
  }
  if (placement.numa_node >= 0) {
    // MPOL_PREFERRED would silently take memory of other nodes when this one is full
    // (set_mempolicy(2)), and the figures would then be those of another placement.
    const unsigned long nodes = 1ul << (placement.numa_node % 64);
    // The kernel uses one bit less than the given number of bits (get_nodes() in mm/mempolicy.c):
    // node 63 would be ignored.
    if (placement.numa_node >= 63 || syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 64) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("engine_options.numa_node: memory of node ", placement.numa_node, ": ",
                       placement.numa_node >= 63 ? "no such node" : common::ErrnoText(errno),
                       "; see /sys/devices/system/node"));
    }
  }
  return placement.io_priority != 0 ? SetIoPriority(placement.io_priority) : absl::OkStatus();
}

}  // namespace lockstep::worker
