// What did the network do between the hosts and the servers of their targets?

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

// A share of what could have been carried; nothing unless the speed was known all the time.
std::optional<double> ShareOfLine(double bytes, const measure::KnownSum& capacity_bits,
                                  double seconds) {
  // Both are sums of the same lengths, but for rounding.
  if (!(capacity_bits.sum > 0) || capacity_bits.weight < 0.999999 * seconds) return std::nullopt;
  return 8 * bytes / capacity_bits.sum;
}

// The speed is what the driver says. An interface that carried more has another one. The bytes that
// a shaper lets through at once, and those of counters that are read late, are less than this.
bool IsBeyondLine(const std::optional<double>& share) { return share && *share > 1.1; }

void FillInterface(const measure::InterfaceSums& sums, const std::string& why,
                   v1::InterfaceReport* out) {
  const double seconds = sums.seconds;
  out->set_seconds(seconds);
  out->set_received_bytes_per_second(sums.received_bytes / seconds);
  out->set_received_packets_per_second(sums.received_packets / seconds);
  out->set_sent_bytes_per_second(sums.sent_bytes / seconds);
  out->set_sent_packets_per_second(sums.sent_packets / seconds);
  out->set_received_drops(sums.received_drops);
  out->set_received_errors(sums.received_errors);
  out->set_sent_drops(sums.sent_drops);
  out->set_sent_errors(sums.sent_errors);
  const auto received = ShareOfLine(sums.received_bytes, sums.receive_capacity, seconds);
  const auto sent = ShareOfLine(sums.sent_bytes, sums.send_capacity, seconds);
  // A shaper limits one direction. Otherwise both have one speed, which is right or wrong.
  const bool has_one_speed = sums.receive_capacity.sum == sums.send_capacity.sum;
  if (received && !IsBeyondLine(received) && !(has_one_speed && IsBeyondLine(sent))) {
    out->set_received_ratio(*received);
    out->set_receive_speed_bits_per_second(*sums.receive_capacity.mean());
  }
  if (sent && !IsBeyondLine(sent) && !(has_one_speed && IsBeyondLine(received))) {
    out->set_sent_ratio(*sent);
    out->set_send_speed_bits_per_second(*sums.send_capacity.mean());
  }
  if (out->has_received_ratio() && out->has_sent_ratio()) return;
  const bool is_beyond = IsBeyondLine(received) || IsBeyondLine(sent);
  const bool was_known = sums.receive_capacity.sum > 0 || sums.send_capacity.sum > 0;
  if (is_beyond) {
    const auto& beyond = IsBeyondLine(received) ? sums.receive_capacity : sums.send_capacity;
    out->set_no_line_rate(absl::StrCat("it carried more than the line rate that the kernel has, ",
                                       common::FormatBitRate(*beyond.mean())));
  } else if (!why.empty()) {
    out->set_no_line_rate(why);
  } else {
    out->set_no_line_rate(was_known ? "its line rate was not known all the time"
                                    : "its line rate is not known");
  }
}

// Why the worker found no line rate for the interface; empty where it does not say.
std::string WhyNoLineRate(const v1::PhaseResult& result, const std::string& name) {
  for (const v1::StorageRoute& route : result.routes()) {
    const int named = std::min(route.interfaces_size(), route.no_line_rate_size());
    for (int i = 0; i < named; ++i) {
      if (route.interfaces(i) == name) return route.no_line_rate(i);
    }
  }
  return "";
}

void FillNfs(const measure::NfsSums& sums, double seconds, v1::NfsReport* out) {
  out->set_operations(sums.operations);
  out->set_per_second(sums.operations / seconds);
  out->set_sent_bytes_per_second(sums.sent_bytes / seconds);
  out->set_received_bytes_per_second(sums.received_bytes / seconds);
  out->set_round_trip_ms(sums.round_trip_ms / sums.operations);
  out->set_execution_ms(sums.execution_ms / sums.operations);
  out->set_queue_ms(sums.queue_time_ms / sums.operations);
  // Each operation is sent once, or not at all where it failed before.
  out->set_retransmits(std::max(0.0, sums.transmissions - sums.operations));
  out->set_timeouts(sums.timeouts);
}

// The traffic that the worker's routes lead through the interface.
void AddCarried(const v1::PhaseResult& result, const std::string& name, v1::InterfaceReport* out) {
  for (const v1::StorageRoute& route : result.routes()) {
    const auto& interfaces = route.interfaces();
    if (std::find(interfaces.begin(), interfaces.end(), name) == interfaces.end()) continue;
    const std::string text = absl::StrCat(route.protocol(), " ", route.server());
    const auto& known = out->carries();
    if (std::find(known.begin(), known.end(), text) == known.end()) out->add_carries(text);
  }
}

std::string ServerOf(const v1::PhaseResult& result, const std::string& mount) {
  for (const v1::StorageRoute& route : result.routes()) {
    if (route.mount() == mount) return route.server();
  }
  return "";
}

// Why the worker's counters of an interface or a mount over this measured time give no rates; empty
// if they do.
std::string WhyNotRated(const PhaseView& view, const measure::WorkerPhaseData& worker,
                        double measured_seconds) {
  if (!(measured_seconds > 0)) return "the phase has no measured time";
  return view.SamplesFit(worker) ? "" : view.WhySamplesDoNotFit(worker);
}

// Workers of one network namespace sample the same interfaces, and workers of one kernel the same
// mounts. The first one's samples count, and the others' hosts and routes are added.
void AddNetwork(const PhaseView& view, v1::PhaseReport* report) {
  std::map<std::tuple<std::string, std::string>, v1::InterfaceReport*> interfaces;
  std::map<std::tuple<std::string, std::string, std::string>, v1::NfsReport*> mounts;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    // A lost worker has not told its namespace.
    const std::string space =
        self == nullptr || worker.result.network_namespace().empty()
            ? absl::StrCat("worker ", worker.worker_index)
            : absl::StrCat(self->boot_id, " ", worker.result.network_namespace());
    for (const auto& [name, sums] : series.interfaces) {
      v1::InterfaceReport*& out = interfaces[{space, name}];
      const std::string not_rated = WhyNotRated(view, worker, sums.seconds);
      const bool is_new = out == nullptr;
      if (is_new) {
        out = report->add_interfaces();
        out->set_name(name);
        out->set_not_rated(not_rated);
      }
      // The load of an earlier worker may have been too short.
      if (not_rated.empty() && (is_new || !out->not_rated().empty())) {
        out->clear_not_rated();
        FillInterface(sums, WhyNoLineRate(worker.result, name), out);
      }
      out->add_hosts(view.HostOf(worker.worker_index));
      out->add_workers(worker.worker_index);
      AddCarried(worker.result, name, out);
    }
    for (const auto& [key, sums] : series.nfs) {
      if (!(sums.operations > 0)) continue;
      v1::NfsReport*& out = mounts[{space, key.first, key.second}];
      const std::string not_rated = WhyNotRated(view, worker, series.measured_seconds);
      const bool is_new = out == nullptr;
      if (is_new) {
        out = report->add_nfs();
        out->set_mount(key.first);
        out->set_operation(key.second);
        out->set_server(ServerOf(worker.result, key.first));
        out->set_not_rated(not_rated);
      }
      if (not_rated.empty() && (is_new || !out->not_rated().empty())) {
        out->clear_not_rated();
        FillNfs(sums, series.measured_seconds, out);
      }
      out->add_hosts(view.HostOf(worker.worker_index));
      out->add_workers(worker.worker_index);
    }
  }
}

const RegisterAnalysis kNetworkRegistered(order::kNetwork, "network", &AddNetwork, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
