#include "controller/report/observed_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/host_figures.h"
#include "controller/report/layers_text.h"
#include "controller/report/report_writer.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;
using common::FormatSize;

// As of loads: longer tables would bury the rest of the phase.
constexpr int kObservedHosts = 64;
constexpr char kAbsent[] = "–";

std::string WholePercent(double ratio) { return absl::StrFormat("%.0f %%", 100 * ratio); }

std::string MebibytesText(double bytes) { return absl::StrFormat("%.1f", bytes / 1048576); }

// The wait of requests of one kind; a mean needs one of them.
std::string Await(bool any, double ms) { return any ? FormatDuration(ms * 1e6) : kAbsent; }
std::string Size(bool any, double bytes) {
  return any ? absl::StrFormat("%.1fk", bytes / 1024) : kAbsent;
}

std::vector<std::string> Titles(const char* first) {
  return {first, "reads",  "r/s",     "rMiB/s", "r_await", "rareq",
          "w/s", "wMiB/s", "w_await", "wareq",  "aqu-sz",  "busy"};
}

std::vector<std::string> Cells(const std::string& name, const v1::ObservedFigures& f) {
  return {name,
          f.has_read_ratio() ? WholePercent(f.read_ratio()) : kAbsent,
          FormatCount(f.reads_per_second()),
          MebibytesText(f.read_bytes_per_second()),
          Await(f.has_read_await_ms(), f.read_await_ms()),
          Size(f.has_read_request_bytes(), f.read_request_bytes()),
          FormatCount(f.writes_per_second()),
          MebibytesText(f.write_bytes_per_second()),
          Await(f.has_write_await_ms(), f.write_await_ms()),
          Size(f.has_write_request_bytes(), f.write_request_bytes()),
          absl::StrFormat("%.2f", f.queue_size()),
          WholePercent(f.busy_ratio())};
}

// "reads of 16 KiB in 1.2 ms"; empty without any.
std::string Requests(const char* what, bool any, double bytes, double ms) {
  if (!any) return "";
  return absl::StrCat(what, " of ", FormatSize(std::round(bytes)), " in ",
                      FormatDuration(ms * 1e6));
}

}  // namespace

std::vector<ObservedRow> RowsOf(const v1::ObservedFigures& f) {
  if (f.devices() == 0) return {};
  return {{"device reads", f.reads_per_second(), f.read_bytes_per_second()},
          {"device writes", f.writes_per_second(), f.write_bytes_per_second()},
          {"devices", f.reads_per_second() + f.writes_per_second(),
           f.read_bytes_per_second() + f.write_bytes_per_second()}};
}

std::string SummaryOf(const v1::ObservedReport& observed) {
  const v1::ObservedFigures& f = observed.total();
  const std::string mounts =
      observed.mounts() == 0 ? "" : Plural(observed.mounts(), "mount") + " of servers";
  if (f.devices() == 0) return mounts.empty() ? "no device" : mounts + ", no block device";
  const auto hosts = std::count_if(observed.hosts().begin(), observed.hosts().end(),
                                   [](const v1::ObservedHost& host) { return !host.lost(); });
  std::string text = absl::StrCat(Plural(f.devices(), "device"), " on ",
                                  Plural(static_cast<double>(hosts), "host"),
                                  mounts.empty() ? "" : " and " + mounts);
  if (!f.has_read_ratio()) return absl::StrCat(text, ": no reads and no writes");
  std::vector<std::string> parts;
  for (const std::string& part :
       {Requests("reads", f.has_read_await_ms(), f.read_request_bytes(), f.read_await_ms()),
        Requests("writes", f.has_write_await_ms(), f.write_request_bytes(), f.write_await_ms())}) {
    if (!part.empty()) parts.push_back(part);
  }
  return absl::StrCat(text, ", ", WholePercent(f.read_ratio()),
                      " reads: ", absl::StrJoin(parts, ", "),
                      absl::StrFormat("; %.2f requests in their queues; the busiest, %s, for %s "
                                      "of the time",
                                      f.queue_size(), f.busiest(), WholePercent(f.busy_ratio())));
}

std::vector<std::string> ShareSentencesOf(const v1::ObservedReport& observed, int max) {
  std::vector<std::string> sentences;
  for (const v1::ObservedShare& share : observed.shares()) {
    if (static_cast<int>(sentences.size()) == max) break;
    sentences.push_back(share.sentence());
  }
  if (observed.shares_size() > max) {
    sentences.push_back(absl::StrCat("and ", observed.shares_size() - max,
                                     " more devices; --format json lists all"));
  }
  if (!observed.not_measured().empty()) sentences.push_back(observed.not_measured());
  return sentences;
}

std::string RenderObservedHosts(const v1::ObservedReport& observed, size_t width) {
  TextTable table(Titles("host"));
  int shown = 0;
  for (const v1::ObservedHost& host : observed.hosts()) {
    if (++shown > kObservedHosts) break;
    if (host.lost()) {
      // As many cells as Titles() has.
      std::vector<std::string> row(12, kAbsent);
      row[0] = host.host() + " (lost)";
      table.Add(std::move(row));
    } else {
      table.Add(Cells(host.host(), host.devices()));
    }
  }
  if (observed.hosts_size() > 1) table.Add(Cells("all", observed.total()));
  std::string out = table.Render("    ", width);
  if (observed.hosts_size() > kObservedHosts) {
    absl::StrAppend(&out, "    and ", observed.hosts_size() - kObservedHosts,
                    " more; --format json lists all\n");
  }
  return out;
}

std::string RenderObservedDevices(const v1::PhaseReport& phase, size_t width) {
  v1::PhaseReport named;
  *named.mutable_devices() = phase.devices();
  for (v1::DeviceReport& d : *named.mutable_devices()) {
    // Names mean something to one host only.
    if (!d.hosts().empty()) d.set_name(absl::StrCat(d.hosts(0), "/", d.name()));
  }
  // The stacks stand under their hosts' names.
  return RenderIostat(named, width) + RenderLayers(phase, width);
}

}  // namespace lockstep::controller
