#include "controller/report/network_figures.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/report_writer.h"
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

std::string Mebibytes(bool is_known, double bytes_per_second) {
  return is_known ? absl::StrFormat("%.1f", bytes_per_second / 1048576) : "–";
}

std::string Count(bool is_known, double value) { return is_known ? FormatCount(value) : "–"; }

std::string NoRates(const std::string& why) { return absl::StrCat("no rates, because ", why); }

// The first words of each line are the things of which the reason is.
using NamesByReason = std::map<std::string, std::set<std::string>>;

std::string ReasonsText(const NamesByReason& names) {
  std::string text;
  for (const auto& [why, things] : names) {
    absl::StrAppend(&text, "    ", absl::StrJoin(things, ", "), ": ", why, "\n");
  }
  return text;
}

// Why interfaces have no rates, or no line rate: "    veth0, veth1: a virtual interface …".
std::string WithoutLineRate(const v1::PhaseReport& phase) {
  // A fleet has the same interface on each host: one line for each reason is enough.
  NamesByReason names;
  for (const v1::InterfaceReport& i : phase.interfaces()) {
    if (!i.no_line_rate().empty()) names[i.no_line_rate()].insert(i.name());
    if (!i.not_rated().empty()) names[NoRates(i.not_rated())].insert(i.name());
  }
  return ReasonsText(names);
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
        {i.name(), HostNames(i.hosts()), "rx",
         Mebibytes(i.has_received_bytes_per_second(), i.received_bytes_per_second()),
         LineShare(i.has_received_ratio(), i.received_ratio(), i.receive_speed_bits_per_second()),
         Count(i.has_received_drops(), i.received_drops()),
         Count(i.has_received_errors(), i.received_errors()), absl::StrJoin(i.carries(), ", ")});
    table.Add({"", "", "tx", Mebibytes(i.has_sent_bytes_per_second(), i.sent_bytes_per_second()),
               LineShare(i.has_sent_ratio(), i.sent_ratio(), i.send_speed_bits_per_second()),
               Count(i.has_sent_drops(), i.sent_drops()),
               Count(i.has_sent_errors(), i.sent_errors()), ""});
  }
  if (table.empty()) return "";
  return absl::StrCat(table.Render("    ", width), Further(phase.interfaces_size()),
                      WithoutLineRate(phase));
}

std::string RenderNfs(const v1::PhaseReport& phase, size_t width) {
  TextTable table(
      {"NFS mount", "host", "operation", "per s", "RTT", "execution", "queue", "retrans"},
      {0, 1, 2});
  NamesByReason names;
  int shown = 0;
  for (const v1::NfsReport& n : phase.nfs()) {
    if (!n.not_rated().empty()) names[NoRates(n.not_rated())].insert(n.mount());
    if (++shown > kNetworkRows) continue;
    table.Add({n.mount(), HostNames(n.hosts()), n.operation(),
               Count(n.has_per_second(), n.per_second()),
               MillisecondsText(n.has_round_trip_ms(), n.round_trip_ms()),
               MillisecondsText(n.has_execution_ms(), n.execution_ms()),
               MillisecondsText(n.has_queue_ms(), n.queue_ms()),
               Count(n.has_retransmits(), n.retransmits())});
  }
  if (table.empty()) return "";
  return absl::StrCat(table.Render("    ", width), Further(phase.nfs_size()), ReasonsText(names));
}

}  // namespace lockstep::controller
