#include "controller/analysis/network_limit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

// A share of the hosts of a workload: one of many does not limit the fleet.
constexpr double kHostsAffected = 0.5;
// A share of packets, or of TCP segments. Stray frames of unknown protocols count as dropped, too.
constexpr double kPacketsLost = 0.01;
constexpr double kPacketsToJudge = 1000;
// A share of the time of NFS operations.
constexpr double kRoundTrips = 0.75;
constexpr double kOperationsToJudge = 100;

// The network between one worker and the servers of a workload's targets.
struct HostNetwork {
  const v1::HostReport* host = nullptr;
  const measure::WorkerPhaseData* worker = nullptr;
  std::vector<const v1::InterfaceReport*> interfaces;
  std::set<std::string> mounts;
};

LineUse LineUseOf(const std::string& interface, bool sends, double ratio, double speed) {
  return {ratio,
          absl::StrFormat("%s %s at %.0f %% of its line rate of %s", interface,
                          sends ? "sent" : "received", 100 * ratio, common::FormatBitRate(speed))};
}

LineUse LineUseOf(const v1::InterfaceReport& i) {
  const bool sends = i.has_sent_ratio() && i.sent_ratio() >= i.received_ratio();
  return LineUseOf(i.name(), sends, sends ? i.sent_ratio() : i.received_ratio(),
                   sends ? i.send_speed_bits_per_second() : i.receive_speed_bits_per_second());
}

enum class LineDirection { kSent, kReceived };

// The medians of a direction at these points: speeds may change with them, and the points in which
// one changed have bytes of both. Nothing without a speed.
std::optional<LineUse> LineUseAt(const std::string& interface, LineDirection direction,
                                 const measure::LineRates& line, const std::vector<size_t>& at) {
  const std::vector<double> bits = line.bits.Points();
  const std::vector<double> capacities = line.capacity_bits.Points();
  std::vector<double> shares, speeds;
  for (const size_t i : at) {
    if (i >= bits.size() || i >= capacities.size() || !(capacities[i] > 0)) continue;
    shares.push_back(bits[i] / capacities[i]);
    speeds.push_back(capacities[i]);
  }
  if (shares.empty()) return std::nullopt;
  return LineUseOf(interface, direction == LineDirection::kSent, MedianOf(shares),
                   MedianOf(speeds));
}

bool HasSpeed(const v1::InterfaceReport& i) { return i.has_sent_ratio() || i.has_received_ratio(); }

bool IsOf(const google::protobuf::RepeatedField<uint32_t>& workers, uint32_t worker) {
  return std::find(workers.begin(), workers.end(), worker) != workers.end();
}

// Whether the route is one to a target of the workload.
bool LeadsTo(const v1::StorageRoute& route, const PhaseView& view, const v1::Workload& workload) {
  return std::any_of(route.targets().begin(), route.targets().end(), [&](uint32_t index) {
    const v1::JobSpec& job = view.data().run.job;
    if (index >= static_cast<uint32_t>(job.targets_size())) return false;
    const std::string& name = job.targets(static_cast<int>(index)).name();
    return std::find(workload.targets().begin(), workload.targets().end(), name) !=
           workload.targets().end();
  });
}

// One entry for each host with a result that ran the workload.
std::vector<HostNetwork> NetworksOf(const PhaseView& view, const v1::PhaseReport& report,
                                    const v1::Workload& workload) {
  // By the worker's number: two hosts may have one name, and then different interfaces.
  std::map<std::pair<uint32_t, std::string>, const v1::InterfaceReport*> interfaces;
  for (const v1::InterfaceReport& i : report.interfaces()) {
    if (!i.not_rated().empty()) continue;
    for (const uint32_t index : i.workers()) interfaces[{index, i.name()}] = &i;
  }
  std::map<uint32_t, const measure::WorkerPhaseData*> workers;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    workers[worker.worker_index] = &worker;
  }
  std::vector<HostNetwork> found;
  for (const v1::HostReport& host : report.hosts()) {
    const auto worker = workers.find(host.worker_index());
    const bool runs = std::any_of(host.workloads().begin(), host.workloads().end(),
                                  [&](const auto& part) { return part.name() == workload.name(); });
    if (host.lost() || !runs || worker == workers.end()) continue;
    HostNetwork& network = found.emplace_back();
    network.host = &host;
    network.worker = worker->second;
    for (const v1::StorageRoute& route : worker->second->result.routes()) {
      if (!LeadsTo(route, view, workload)) continue;
      if (!route.mount().empty()) network.mounts.insert(route.mount());
      for (const std::string& name : route.interfaces()) {
        const auto interface = interfaces.find({host.worker_index(), name});
        if (interface == interfaces.end()) continue;
        auto& known = network.interfaces;
        if (std::find(known.begin(), known.end(), interface->second) == known.end()) {
          known.push_back(interface->second);
        }
      }
    }
  }
  return found;
}

// The direction nearest to its line rate.
std::optional<LineUse> BusiestOf(const std::vector<const v1::InterfaceReport*>& interfaces) {
  std::optional<LineUse> busiest;
  for (const v1::InterfaceReport* interface : interfaces) {
    if (!HasSpeed(*interface)) continue;
    LineUse use = LineUseOf(*interface);
    if (!busiest || use.ratio > busiest->ratio) busiest = std::move(use);
  }
  return busiest;
}

// The losses on one host, as a part of a sentence; empty unless they are more than the bound.
std::string LossesOf(const HostNetwork& network) {
  const auto lost = [](double bad, double packets, const char* what, const std::string& name) {
    const double all = packets + bad;
    if (all < kPacketsToJudge || bad <= kPacketsLost * all) return std::string();
    return absl::StrFormat("%s lost %.1f %% of the packets that it %s", name, 100 * bad / all,
                           what);
  };
  for (const v1::InterfaceReport* i : network.interfaces) {
    std::string text = lost(i->sent_drops() + i->sent_errors(),
                            i->sent_packets_per_second() * i->seconds(), "sent", i->name());
    if (text.empty()) {
      text = lost(i->received_drops() + i->received_errors(),
                  i->received_packets_per_second() * i->seconds(), "received", i->name());
    }
    if (!text.empty()) return text;
  }
  const v1::PhaseResult& result = network.worker->result;
  const auto segments = static_cast<double>(result.tcp_segments());
  const auto again = static_cast<double>(result.tcp_retransmits());
  // The count is that of the whole network namespace. Without an interface that leads to a server
  // it says nothing of the storage.
  if (network.interfaces.empty() || segments < kPacketsToJudge ||
      again <= kPacketsLost * segments) {
    return "";
  }
  return absl::StrFormat("%.1f %% of the TCP segments were sent again", 100 * again / segments);
}

// "node1: eth0 …", with the number of hosts where there are several.
std::string OnHosts(const std::string& host, const std::string& text, int affected, size_t hosts) {
  if (hosts == 1) return text;
  return absl::StrFormat("on %d of %d hosts (%s: %s)", affected, hosts, host, text);
}

std::string RoundTripsOf(const v1::PhaseReport& report, const std::vector<HostNetwork>& networks) {
  double operations = 0;
  double round_trips = 0;
  double execution = 0;
  for (const v1::NfsReport& nfs : report.nfs()) {
    const bool is_used =
        nfs.not_rated().empty() &&
        std::any_of(networks.begin(), networks.end(), [&](const HostNetwork& network) {
          return network.mounts.contains(nfs.mount()) &&
                 IsOf(nfs.workers(), network.host->worker_index());
        });
    if (!is_used) continue;
    operations += nfs.operations();
    round_trips += nfs.operations() * nfs.round_trip_ms();
    execution += nfs.operations() * nfs.execution_ms();
  }
  // The kernel counts milliseconds: operations that took none in all have no shares of it.
  if (operations < kOperationsToJudge || !(execution > 0) ||
      round_trips < kRoundTrips * execution) {
    return "";
  }
  return absl::StrFormat(
      "NFS operations took %s on average, of which %.0f %% was their way to the server and back",
      common::FormatDuration(1e6 * execution / operations),
      100 * std::min(1.0, round_trips / execution));
}

// How busy the interfaces are that reach no line rate, or whose line rate is not known.
std::string UseOf(const std::vector<HostNetwork>& networks) {
  std::optional<LineUse> busiest;
  const v1::InterfaceReport* unknown = nullptr;
  for (const HostNetwork& network : networks) {
    if (auto use = BusiestOf(network.interfaces);
        use && (!busiest || use->ratio > busiest->ratio)) {
      busiest = std::move(use);
    }
    for (const v1::InterfaceReport* i : network.interfaces) {
      if (!HasSpeed(*i) && unknown == nullptr) unknown = i;
    }
  }
  if (busiest) return busiest->text;
  if (unknown == nullptr) return "";
  const double dropped = unknown->received_drops() + unknown->sent_drops();
  return absl::StrFormat("%s received %s and sent %s with %s dropped packets (%s)", unknown->name(),
                         common::FormatRate(unknown->received_bytes_per_second()),
                         common::FormatRate(unknown->sent_bytes_per_second()),
                         common::FormatCount(dropped), unknown->no_line_rate());
}

}  // namespace

std::optional<LineUse> BusiestLineIn(const PhaseView& view, const v1::PhaseReport& report,
                                     uint32_t worker, const std::vector<size_t>& at) {
  const auto& series = view.series().Of(worker).rates.interfaces;
  std::optional<LineUse> busiest;
  for (const v1::InterfaceReport& i : report.interfaces()) {
    const auto rates = series.find(i.name());
    if (!i.not_rated().empty() || !IsOf(i.workers(), worker) || rates == series.end()) continue;
    const auto take = [&](std::optional<LineUse> use) {
      if (use && (!busiest || use->ratio > busiest->ratio)) busiest = std::move(use);
    };
    // A ratio of the phase says that the speed was known at each point.
    if (i.has_sent_ratio()) take(LineUseAt(i.name(), LineDirection::kSent, rates->second.sent, at));
    if (i.has_received_ratio()) {
      take(LineUseAt(i.name(), LineDirection::kReceived, rates->second.received, at));
    }
  }
  return busiest;
}

NetworkEvidence NetworkEvidenceOf(const PhaseView& view, const v1::PhaseReport& report,
                                  const v1::Workload& workload) {
  NetworkEvidence evidence;
  const std::vector<HostNetwork> networks = NetworksOf(view, report, workload);
  if (networks.empty()) return evidence;
  const HostNetwork* at_line_rate = nullptr;
  LineUse most;
  int at_line_rates = 0;
  std::string lossy_host, losses;
  int lossy_hosts = 0;
  for (const HostNetwork& network : networks) {
    const auto use = BusiestOf(network.interfaces);
    if (use && use->ratio >= kLineRateReached) {
      ++at_line_rates;
      if (use->ratio > most.ratio) {
        most = *use;
        at_line_rate = &network;
      }
    }
    if (std::string text = LossesOf(network); !text.empty()) {
      if (++lossy_hosts == 1) losses = std::move(text);
      if (lossy_hosts == 1) lossy_host = network.host->host();
    }
  }
  const double enough = std::max(1.0, kHostsAffected * static_cast<double>(networks.size()));
  if (at_line_rates >= enough) {
    evidence.line_rate =
        OnHosts(at_line_rate->host->host(), most.text, at_line_rates, networks.size());
  }
  if (lossy_hosts >= enough) {
    evidence.losses = OnHosts(lossy_host, losses, lossy_hosts, networks.size());
  }
  evidence.round_trips = RoundTripsOf(report, networks);
  evidence.use = UseOf(networks);
  return evidence;
}

}  // namespace lockstep::controller
