#include "controller/report/layers_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

// More rows would bury the rest of the phase. --format json has all devices.
constexpr int kRowsShown = 64;

// A report may come from an archive that somebody else made.
constexpr uint32_t kDeepest = 32;

// One more than its depth: the hosts stand above all.
size_t LevelOf(const v1::DeviceReport& d) { return std::min(d.depth(), kDeepest) + 1; }

std::string Indent(size_t levels) { return std::string(2 * levels, ' '); }

// Some drivers of mapped devices keep no times, and a device without requests has none.
std::string Await(double per_second, double ms) {
  return per_second > 0 && ms > 0 ? common::FormatDuration(ms * 1e6) : "–";
}

// Whether the device table does not already say all: a device lies on another one, or several lie
// under one file system.
bool HasStack(const v1::PhaseReport& phase) {
  return std::any_of(phase.devices().begin(), phase.devices().end(), [](const v1::DeviceReport& d) {
    return !d.underneath().empty() || (d.depth() > 0 && d.filesystems().empty());
  });
}

std::string HostsUnder(const v1::DeviceReport& d) {
  if (d.hosts().empty()) return "hosts that are not known";
  return d.hosts_size() == 1
             ? d.hosts(0)
             : absl::StrCat(d.hosts(0), " and ", d.hosts_size() - 1, " more on one kernel");
}

std::vector<std::string> RowOf(const v1::DeviceReport& d) {
  const std::string name =
      absl::StrCat(Indent(LevelOf(d)), d.name(), d.label().empty() ? "" : " ", d.label(),
                   d.kind().empty() ? "" : absl::StrCat(" (", d.kind(), ")"));
  if (!d.not_rated().empty()) return {name, "–", "–", "–", "–", "–"};
  return {name,
          common::FormatCount(d.reads_per_second()),
          Await(d.reads_per_second(), d.read_await_ms()),
          common::FormatCount(d.writes_per_second()),
          Await(d.writes_per_second(), d.write_await_ms()),
          absl::StrFormat("%.0f %%", 100 * d.busy_ratio())};
}

}  // namespace

std::string RenderLayers(const v1::PhaseReport& phase, size_t width) {
  if (!HasStack(phase)) return "";
  const std::vector<std::string> titles = {"layer", "r/s", "r_await", "w/s", "w_await", "busy"};
  TextTable table(titles);
  const auto add = [&](std::string text) {
    std::vector<std::string> row(titles.size());
    row[0] = std::move(text);
    table.Add(std::move(row));
  };
  std::string host;
  int shown = 0;
  for (const v1::DeviceReport& d : phase.devices()) {
    if (shown++ == kRowsShown) break;
    // A device whose layers are all file systems begins a stack.
    const bool is_top = d.depth() <= static_cast<uint32_t>(d.filesystems_size());
    if (is_top && HostsUnder(d) != host) {
      host = HostsUnder(d);
      add(host);
    }
    // The kernel counts no requests for file systems.
    for (int i = 0; i < d.filesystems_size(); ++i) {
      const auto above = static_cast<size_t>(d.filesystems_size() - i);
      add(Indent(LevelOf(d) > above ? LevelOf(d) - above : 1) + d.filesystems(i));
    }
    table.Add(RowOf(d));
  }
  std::string out = table.Render("    ", width);
  if (phase.devices_size() > kRowsShown) {
    absl::StrAppend(&out, "    and ", phase.devices_size() - kRowsShown, " more devices\n");
  }
  return out;
}

}  // namespace lockstep::controller
