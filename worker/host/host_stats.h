#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/result.pb.h"

namespace lockstep::worker {

// The host's counters at one instant, from the texts of /proc/stat, /proc/vmstat and /proc/meminfo
// (proc(5)).
struct HostCounters {
  // Clock ticks over all processors.
  uint64_t user = 0, system = 0, idle = 0, iowait = 0, steal = 0;
  uint64_t context_switches = 0, interrupts = 0;
  uint32_t running = 0, blocked = 0;
  // Nothing where the texts do not have them.
  std::optional<uint64_t> free_bytes, cached_bytes, dirty_bytes;
  std::optional<uint64_t> swap_used_bytes, buffers_bytes, slab_reclaimable_bytes, writeback_bytes;
  std::optional<uint64_t> swap_in_pages, swap_out_pages, block_in_bytes,
      block_out_bytes;  // since boot
};
HostCounters ParseHostCounters(const std::string& stat, const std::string& vmstat,
                               const std::string& meminfo);
HostCounters ReadHostCounters();

// vmstat's line between two readings. `tick_ns` is the length of a clock tick, `page_bytes` that of
// a page.
v1::HostSample Difference(const HostCounters& earlier, const HostCounters& later, int64_t tick_ns,
                          uint32_t page_bytes);
int64_t ClockTickNs();
uint32_t PageBytes();

}  // namespace lockstep::worker
