#include "controller/report/network_figures.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

using common::FormatBitRate;
using common::FormatCount;
using common::FormatDuration;

// Longer tables would bury the rest of the phase. --format json has all rows.
constexpr int kNetworkRows = 64;

std::string HostNames(const google::protobuf::RepeatedPtrField<std::string>& hosts) {
  if (hosts.empty()) return "";
  return hosts.size() == 1 ? hosts[0] : absl::StrCat(hosts[0], " + ", hosts.size() - 1);
}

// "96 % of 10 Gbit/s"
std::string LineShare(bool is_known, double ratio, double speed) {
  if (!is_known) return "not known";
  return absl::StrFormat("%.0f %% of %s", 100 * ratio, FormatBitRate(speed));
}

std::string Mebibytes(double bytes_per_second) {
  return absl::StrFormat("%.1f", bytes_per_second / 1048576);
}

// Why interfaces have no line rate: "    veth0, veth1: a virtual interface …".
std::string WithoutLineRate(const v1::PhaseReport& phase) {
  // A fleet has the same interface on each host: one line for each reason is enough.
  std::map<std::string, std::set<std::string>> names;  // by the reason
  for (const v1::InterfaceReport& i : phase.interfaces()) {
    if (!i.no_line_rate().empty()) names[i.no_line_rate()].insert(i.name());
  }
  std::string text;
  for (const auto& [why, interfaces] : names) {
    absl::StrAppend(&text, "    ", absl::StrJoin(interfaces, ", "), ": ", why, "\n");
  }
  return text;
}

std::string Further(int rows) {
  return rows <= kNetworkRows
             ? ""
             : absl::StrCat("    and ", rows - kNetworkRows, " more; --format json lists all\n");
}

}  // namespace

std::string RenderInterfaces(const v1::PhaseReport& phase, size_t width) {
  TextTable table({"interface", "host", "", "MiB/s", "of line rate", "drops", "errors", "carries"},
                  {0, 1, 2, 7});
  int shown = 0;
  for (const v1::InterfaceReport& i : phase.interfaces()) {
    if (++shown > kNetworkRows) break;
    table.Add(
        {i.name(), HostNames(i.hosts()), "rx", Mebibytes(i.received_bytes_per_second()),
         LineShare(i.has_received_ratio(), i.received_ratio(), i.receive_speed_bits_per_second()),
         FormatCount(i.received_drops()), FormatCount(i.received_errors()),
         absl::StrJoin(i.carries(), ", ")});
    table.Add({"", "", "tx", Mebibytes(i.sent_bytes_per_second()),
               LineShare(i.has_sent_ratio(), i.sent_ratio(), i.send_speed_bits_per_second()),
               FormatCount(i.sent_drops()), FormatCount(i.sent_errors()), ""});
  }
  if (table.empty()) return "";
  return absl::StrCat(table.Render("    ", width), Further(phase.interfaces_size()),
                      WithoutLineRate(phase));
}

std::string RenderNfs(const v1::PhaseReport& phase, size_t width) {
  TextTable table(
      {"NFS mount", "host", "operation", "per s", "RTT", "execution", "queue", "retrans"},
      {0, 1, 2});
  int shown = 0;
  for (const v1::NfsReport& n : phase.nfs()) {
    if (++shown > kNetworkRows) break;
    table.Add({n.mount(), HostNames(n.hosts()), n.operation(), FormatCount(n.per_second()),
               FormatDuration(1e6 * n.round_trip_ms()), FormatDuration(1e6 * n.execution_ms()),
               FormatDuration(1e6 * n.queue_ms()), FormatCount(n.retransmits())});
  }
  if (table.empty()) return "";
  return absl::StrCat(table.Render("    ", width), Further(phase.nfs_size()));
}

}  // namespace lockstep::controller
