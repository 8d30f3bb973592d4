#include "worker/host/host_stats.h"

#include <unistd.h>

#include <sstream>

#include "common/files.h"
#include "common/timing.h"

namespace lockstep::worker {
namespace {

void ParseStat(const std::string& text, HostCounters* counters) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string key;
    fields >> key;
    // This line has the sum over all CPUs. The lines of single ones begin with cpu0, cpu1 and so
    // on.
    if (key == "cpu") {
      // The two columns after steal, guest times, are part of user and nice already.
      uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
               steal = 0;
      fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
      counters->user = user + nice;
      counters->system = system + irq + softirq;
      counters->idle = idle;
      counters->iowait = iowait;
      counters->steal = steal;
    } else if (key == "ctxt") {
      fields >> counters->context_switches;
    } else if (key == "intr") {
      fields >> counters->interrupts;
    } else if (key == "procs_running") {
      fields >> counters->running;
    } else if (key == "procs_blocked") {
      fields >> counters->blocked;
    }
  }
}

// The number behind `key` at the start of a line. Elsewhere in a line, "Cached:" would also be the
// end of "SwapCached:".
std::optional<uint64_t> NumberAfter(const std::string& text, const std::string& key) {
  size_t at = text.rfind(key, 0) == 0 ? 0 : text.find("\n" + key);
  if (at == std::string::npos) return std::nullopt;
  at = text.find(key, at) + key.size();
  return strtoull(text.c_str() + at, nullptr, 10);
}

// Reads a line whose unit is KiB.
std::optional<uint64_t> BytesAfter(const std::string& text, const std::string& key) {
  const std::optional<uint64_t> kib = NumberAfter(text, key);
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

// A figure that the kernel does not report stays absent: 0 would be taken for a figure.
void AddMemory(const HostCounters& earlier, const HostCounters& later, uint32_t page_bytes,
               v1::HostSample* sample) {
  if (later.free_bytes) sample->set_free_bytes(*later.free_bytes);
  if (later.cached_bytes) sample->set_cached_bytes(*later.cached_bytes);
  if (later.dirty_bytes) sample->set_dirty_bytes(*later.dirty_bytes);
  if (later.swap_used_bytes) sample->set_swap_used_bytes(*later.swap_used_bytes);
  if (later.buffers_bytes) sample->set_buffers_bytes(*later.buffers_bytes);
  if (later.slab_reclaimable_bytes) {
    sample->set_slab_reclaimable_bytes(*later.slab_reclaimable_bytes);
  }
  if (later.writeback_bytes) sample->set_writeback_bytes(*later.writeback_bytes);
  if (earlier.block_in_bytes && later.block_in_bytes) {
    sample->set_block_in_bytes(*later.block_in_bytes - *earlier.block_in_bytes);
  }
  if (earlier.block_out_bytes && later.block_out_bytes) {
    sample->set_block_out_bytes(*later.block_out_bytes - *earlier.block_out_bytes);
  }
  if (earlier.swap_in_pages && earlier.swap_out_pages && later.swap_in_pages &&
      later.swap_out_pages) {
    sample->set_swap_in_pages(*later.swap_in_pages - *earlier.swap_in_pages);
    sample->set_swap_out_pages(*later.swap_out_pages - *earlier.swap_out_pages);
    sample->set_page_bytes(page_bytes);
  }
}

}  // namespace

HostCounters ParseHostCounters(const std::string& stat, const std::string& vmstat,
                               const std::string& meminfo) {
  HostCounters counters;
  ParseStat(stat, &counters);
  counters.swap_in_pages = NumberAfter(vmstat, "pswpin ");
  counters.swap_out_pages = NumberAfter(vmstat, "pswpout ");
  // The kernel counts these in sectors and prints KiB (vmstat_start() in mm/vmstat.c).
  counters.block_in_bytes = BytesAfter(vmstat, "pgpgin ");
  counters.block_out_bytes = BytesAfter(vmstat, "pgpgout ");
  counters.free_bytes = BytesAfter(meminfo, "MemFree:");
  counters.cached_bytes = BytesAfter(meminfo, "Cached:");
  counters.dirty_bytes = BytesAfter(meminfo, "Dirty:");
  counters.writeback_bytes = BytesAfter(meminfo, "Writeback:");
  counters.buffers_bytes = BytesAfter(meminfo, "Buffers:");
  counters.slab_reclaimable_bytes = BytesAfter(meminfo, "SReclaimable:");
  const std::optional<uint64_t> swap = BytesAfter(meminfo, "SwapTotal:");
  const std::optional<uint64_t> swap_free = BytesAfter(meminfo, "SwapFree:");
  if (swap && swap_free && *swap >= *swap_free) counters.swap_used_bytes = *swap - *swap_free;
  return counters;
}

HostCounters ReadHostCounters() {
  return ParseHostCounters(common::ReadTrimmed("/proc/stat"), common::ReadTrimmed("/proc/vmstat"),
                           common::ReadTrimmed("/proc/meminfo"));
}

v1::HostSample Difference(const HostCounters& earlier, const HostCounters& later, int64_t tick_ns,
                          uint32_t page_bytes) {
  v1::HostSample sample;
  // iowait may run backwards (proc(5)); such a step counts as none.
  const auto step = [](uint64_t from, uint64_t to) { return to > from ? to - from : 0; };
  const uint64_t user = step(earlier.user, later.user);
  const uint64_t system = step(earlier.system, later.system);
  const uint64_t idle = step(earlier.idle, later.idle);
  const uint64_t iowait = step(earlier.iowait, later.iowait);
  const uint64_t steal = step(earlier.steal, later.steal);
  const double total = static_cast<double>(user + system + idle + iowait + steal);
  // Two readings within one tick of the kernel (mostly 10 ms) differ by nothing.
  if (total > 0) {
    sample.set_user_ratio(user / total);
    sample.set_system_ratio(system / total);
    sample.set_idle_ratio(idle / total);
    sample.set_iowait_ratio(iowait / total);
    sample.set_steal_ratio(steal / total);
  }
  sample.set_cpu_busy_ns((user + system) * tick_ns);
  sample.set_context_switches(later.context_switches - earlier.context_switches);
  sample.set_interrupts(later.interrupts - earlier.interrupts);
  sample.set_run_queue(later.running);
  sample.set_blocked(later.blocked);
  AddMemory(earlier, later, page_bytes, &sample);
  return sample;
}

int64_t ClockTickNs() { return timing::kSecond / sysconf(_SC_CLK_TCK); }
uint32_t PageBytes() { return static_cast<uint32_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace lockstep::worker
