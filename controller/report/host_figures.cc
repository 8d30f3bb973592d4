// The figures of devices and kernels, as iostat and vmstat print them.

#include "controller/report/host_figures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/report_writer.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;
using common::FormatSize;

constexpr char kNone[] = "–";

// A line of the table.
struct Requests {
  const char* kind;
  double per_second, bytes_per_second, merges_per_second;
  std::string merged, await, size;
};

std::string Percent(bool is_known, double ratio) {
  return is_known ? absl::StrFormat("%.0f %%", 100 * ratio) : kNone;
}
std::string Kibibytes(bool is_known, double bytes) {
  return is_known ? absl::StrFormat("%.1fk", bytes / 1024) : kNone;
}

std::vector<Requests> RequestsOf(const v1::DeviceReport& d) {
  return {{"read", d.reads_per_second(), d.read_bytes_per_second(), d.read_merges_per_second(),
           Percent(d.has_read_merged_ratio(), d.read_merged_ratio()),
           MillisecondsText(d.has_read_await_ms(), d.read_await_ms()),
           Kibibytes(d.has_read_request_bytes(), d.read_request_bytes())},
          {"write", d.writes_per_second(), d.write_bytes_per_second(), d.write_merges_per_second(),
           Percent(d.has_write_merged_ratio(), d.write_merged_ratio()),
           MillisecondsText(d.has_write_await_ms(), d.write_await_ms()),
           Kibibytes(d.has_write_request_bytes(), d.write_request_bytes())},
          {"discard", d.discards_per_second(), d.discard_bytes_per_second(),
           d.discard_merges_per_second(),
           Percent(d.has_discard_merged_ratio(), d.discard_merged_ratio()),
           MillisecondsText(d.has_discard_await_ms(), d.discard_await_ms()),
           Kibibytes(d.has_discard_request_bytes(), d.discard_request_bytes())}};
}

}  // namespace

std::string RenderIostat(const v1::PhaseReport& phase, size_t width) {
  TextTable table(
      {"device", "", "per s", "MiB/s", "rqm/s", "%rqm", "await", "areq-sz", "aqu-sz", "util"},
      {0, 1});
  int shown = 0;
  std::string unrated;
  for (const v1::DeviceReport& d : phase.devices()) {
    if (++shown > kDevicesShown) break;
    if (!d.not_rated().empty()) {
      absl::StrAppend(&unrated, "    ", d.name(), ": no rates: ", d.not_rated(), "\n");
      continue;
    }
    // The queue and the busy time are those of all requests together: the first line has them.
    std::string name = d.name();
    std::string queue = absl::StrFormat("%.2f", d.queue_size());
    std::string busy = absl::StrFormat("%.0f %%", 100 * d.busy_ratio());
    const auto add = [&](std::vector<std::string> row) {
      row.insert(row.begin(), std::exchange(name, ""));
      row.push_back(std::exchange(queue, ""));
      row.push_back(std::exchange(busy, ""));
      table.Add(std::move(row));
    };
    for (const Requests& r : RequestsOf(d)) {
      // Few devices ever discard. Reads and writes have their lines on all of them.
      if (r.kind == std::string("discard") && !(r.per_second > 0)) continue;
      add({r.kind, FormatCount(r.per_second), absl::StrFormat("%.1f", r.bytes_per_second / 1048576),
           FormatCount(r.merges_per_second), r.merged, r.await, r.size});
    }
    if (d.flushes_per_second() > 0) {
      add({"flush", FormatCount(d.flushes_per_second()), "", "", "",
           MillisecondsText(d.has_flush_await_ms(), d.flush_await_ms()), ""});
    }
  }
  if (table.empty() && unrated.empty()) return "";
  std::string out = (table.empty() ? "" : table.Render("    ", width)) + unrated;
  if (phase.devices_size() > kDevicesShown) {
    absl::StrAppend(&out, "    and ", phase.devices_size() - kDevicesShown,
                    " more; --format json lists all\n");
  }
  return out;
}

std::string HostsOf(const v1::KernelReport& k) {
  if (k.hosts().empty()) return "a kernel";
  return k.hosts_size() == 1
             ? k.hosts(0)
             : absl::StrCat(k.hosts(0), " and ", k.hosts_size() - 1, " more on one kernel");
}

std::string RenderVmstat(const v1::KernelReport& k) {
  const auto rate = [](bool is_known, double per_second) {
    return is_known ? FormatCount(per_second) : "–";
  };
  return absl::StrFormat(
      "us %.0f sy %.0f id %.0f wa %.0f st %.0f %%, run queue %.1f, blocked %.1f, %s cs/s, %s in/s",
      100 * k.user_ratio(), 100 * k.system_ratio(), 100 * k.idle_ratio(), 100 * k.iowait_ratio(),
      100 * k.steal_ratio(), k.run_queue_avg(), k.blocked_avg(),
      rate(k.has_context_switches_per_second(), k.context_switches_per_second()),
      rate(k.has_interrupts_per_second(), k.interrupts_per_second()));
}

std::string RenderPerIo(const v1::PhaseReport& phase, const v1::KernelReport& k) {
  std::vector<std::string> parts;
  if (k.has_context_switches_per_io()) {
    parts.push_back(absl::StrFormat("%.2f context switches", k.context_switches_per_io()));
  }
  if (k.has_interrupts_per_io()) {
    parts.push_back(absl::StrFormat("%.2f interrupts", k.interrupts_per_io()));
  }
  if (k.has_cpu_ns_per_io()) parts.push_back(FormatDuration(k.cpu_ns_per_io()) + " of all CPU");
  std::string text = absl::StrJoin(parts, ", ");
  if (phase.has_worker_cpu_user_ns_per_io()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "workers alone ",
                    FormatDuration(phase.worker_cpu_user_ns_per_io()), " user + ",
                    FormatDuration(phase.worker_cpu_system_ns_per_io()), " system");
  }
  return text;
}

std::string RenderQuotas(const v1::PhaseReport& phase) {
  constexpr size_t kQuotasShown = 8;
  std::vector<const v1::HostReport*> hosts;
  for (const v1::HostReport& host : phase.hosts()) {
    if (host.has_throttled_ratio_max()) hosts.push_back(&host);
  }
  std::stable_sort(hosts.begin(), hosts.end(), [](const auto* a, const auto* b) {
    return a->throttled_ratio() > b->throttled_ratio();
  });
  std::vector<std::string> parts;
  for (const v1::HostReport* host : hosts) {
    if (parts.size() == kQuotasShown) {
      parts.push_back(
          absl::StrCat("and ", hosts.size() - kQuotasShown, " more; --format json lists all"));
      break;
    }
    parts.push_back(absl::StrFormat("%s for %.0f %% of the time (%.0f %% of its worst interval)",
                                    host->host(), 100 * host->throttled_ratio(),
                                    100 * host->throttled_ratio_max()));
  }
  return absl::StrJoin(parts, ", ");
}

std::string RenderMemory(const v1::KernelReport& k) {
  std::vector<std::string> parts;
  const auto add = [&](bool is_known, const char* name, double bytes) {
    if (is_known) parts.push_back(absl::StrCat(name, " ", FormatSize(bytes)));
  };
  const auto add_rate = [&](bool is_known, const char* name, double bytes_per_second) {
    if (is_known) parts.push_back(absl::StrCat(name, " ", common::FormatRate(bytes_per_second)));
  };
  add(k.has_swap_used_bytes_avg(), "swpd", k.swap_used_bytes_avg());
  add(k.has_free_bytes_avg(), "free", k.free_bytes_avg());
  add(k.has_buffers_bytes_avg(), "buff", k.buffers_bytes_avg());
  add(k.has_cache_bytes_avg(), "cache", k.cache_bytes_avg());
  add(k.has_dirty_bytes_avg(), "dirty", k.dirty_bytes_avg());
  // Beside the mean: the kernel holds writers up by the amount of a moment (vm.dirty_ratio).
  add(k.has_dirty_bytes_max(), "at most", k.dirty_bytes_max());
  add(k.has_writeback_bytes_avg(), "writeback", k.writeback_bytes_avg());
  add_rate(k.has_swap_in_bytes_per_second(), "si", k.swap_in_bytes_per_second());
  add_rate(k.has_swap_out_bytes_per_second(), "so", k.swap_out_bytes_per_second());
  add_rate(k.has_block_in_bytes_per_second(), "bi", k.block_in_bytes_per_second());
  add_rate(k.has_block_out_bytes_per_second(), "bo", k.block_out_bytes_per_second());
  return absl::StrJoin(parts, ", ");
}

}  // namespace lockstep::controller
