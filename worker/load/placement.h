#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace lockstep::worker {

// The processors that an I/O thread runs on, and the source of its memory.
struct Placement {
  int cpu = -1;        // number of the processor, at most 8191; -1: anywhere
  int numa_node = -1;  // of its memory, at most 1023; -1: any
  // NUMA nodes on whose processors it runs, and that its pages come from in turn, each at most
  // 1023; empty: any.
  std::vector<uint32_t> cpu_nodes, interleave_nodes;
  bool huge_pages = false;  // I/O buffers in huge pages
  // Class and level as in IOPRIO_PRIO_VALUE (linux/ioprio.h); 0: the process's own.
  int io_priority = 0;
  // Priorities of single I/Os. BindThisThread() tries whether the thread may use them.
  std::vector<int> line_priorities;
};

// Binds the calling thread (sched_setaffinity(2), set_mempolicy(2)), gives it its I/O priority
// (ioprio_set(2)) and lets it sleep to the nanosecond that it asks for (PR_SET_TIMERSLACK). Call
// before the thread allocates, and before it opens an engine, whose kernel threads inherit the
// priority. INVALID_ARGUMENT names the field and what the host has, PERMISSION_DENIED the
// capability that the worker lacks.
absl::Status BindThisThread(const Placement& placement);

}  // namespace lockstep::worker
