#include "worker/host/storage_network.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxNetworkText = 200;

std::string NetworkNamespace() {
  std::array<char, 64> text = {};
  const ssize_t size = readlink("/proc/self/ns/net", text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "";
}

// As many as a result may have.
constexpr size_t kMaxRoutes = 64;

bool IsSame(const StorageServer& a, const StorageServer& b) {
  return a.protocol == b.protocol && a.address == b.address && a.interface == b.interface &&
         a.mount == b.mount && a.not_known == b.not_known;
}

// Nothing where a counter ran backwards: the interface was made anew.
std::optional<v1::InterfaceSample> LinkDifference(const LinkCounters& earlier,
                                                  const LinkCounters& later) {
  static constexpr std::pair<uint64_t LinkCounters::*, void (v1::InterfaceSample::*)(uint64_t)>
      kCounters[] = {{&LinkCounters::received_bytes, &v1::InterfaceSample::set_received_bytes},
                     {&LinkCounters::received_packets, &v1::InterfaceSample::set_received_packets},
                     {&LinkCounters::received_drops, &v1::InterfaceSample::set_received_drops},
                     {&LinkCounters::received_errors, &v1::InterfaceSample::set_received_errors},
                     {&LinkCounters::sent_bytes, &v1::InterfaceSample::set_sent_bytes},
                     {&LinkCounters::sent_packets, &v1::InterfaceSample::set_sent_packets},
                     {&LinkCounters::sent_drops, &v1::InterfaceSample::set_sent_drops},
                     {&LinkCounters::sent_errors, &v1::InterfaceSample::set_sent_errors}};
  v1::InterfaceSample difference;
  for (const auto& [counter, set] : kCounters) {
    if (later.*counter < earlier.*counter) return std::nullopt;
    (difference.*set)(later.*counter - earlier.*counter);
  }
  return difference;
}

}  // namespace

StorageNetwork::StorageNetwork() {
  sources_.mountstats = [] { return common::ReadTrimmed("/proc/self/mountstats"); };
  sources_.network_namespace = &NetworkNamespace;
}

int StorageNetwork::InterfaceTo(const StorageServer& server) {
  // An address of a link (RFC 4007) names the interface, and so may whoever made the connection.
  const size_t zone = server.address.find('%');
  const std::string bound =
      zone == std::string::npos ? server.interface : server.address.substr(zone + 1);
  for (const NetLink& link : known_links_) {
    if (link.name == bound) return link.index;
  }
  return links_->RouteTo(server.address);
}

void StorageNetwork::AddInterfaces(int index, v1::StorageRoute* route) {
  std::vector<int> all = LinksUnderneath(known_links_, index);
  all.insert(all.begin(), index);
  for (const int one : all) {
    const auto link = std::find_if(known_links_.begin(), known_links_.end(),
                                   [&](const NetLink& known) { return known.index == one; });
    if (link == known_links_.end()) continue;
    const bool is_known = std::any_of(interfaces_.begin(), interfaces_.end(),
                                      [&](const Interface& known) { return known.index == one; });
    if (!is_known) {
      if (interfaces_.size() >= static_cast<size_t>(limits::kSampledInterfaces)) {
        route->set_not_sampled(
            absl::StrCat("a worker samples at most ", limits::kSampledInterfaces, " interfaces"));
        return;
      }
      Interface& added = interfaces_.emplace_back();
      added.index = one;
      added.name = common::Printable(link->name, kMaxNetworkText);
      added.line_rate = LineRateSourceOf(known_links_, one);
      if (added.line_rate.index != 0) {
        added.watched = LinksUnderneath(known_links_, added.line_rate.index);
        added.watched.push_back(added.line_rate.index);
      }
    }
    route->add_interfaces(common::Printable(link->name, kMaxNetworkText));
  }
}

void StorageNetwork::Add(std::optional<uint32_t> target, const StorageServer& server) {
  for (size_t i = 0; i < routes_.size(); ++i) {
    if (!IsSame(servers_[i], server)) continue;
    const auto& targets = routes_[i].targets();
    if (target && std::find(targets.begin(), targets.end(), *target) == targets.end()) {
      routes_[i].add_targets(*target);
    }
    return;
  }
  if (routes_.size() >= kMaxRoutes) return;
  if (links_ == nullptr) {
    links_ = sources_.links();
    known_links_ = links_->List();
  }
  servers_.push_back(server);
  v1::StorageRoute& route = routes_.emplace_back();
  if (target) route.add_targets(*target);
  route.set_protocol(server.protocol);
  route.set_server(server.address);
  route.set_mount(server.mount);
  route.set_not_sampled(server.not_known);
  if (server.not_known.empty()) {
    AddInterfaces(InterfaceTo(server), &route);
    if (route.interfaces().empty() && route.not_sampled().empty()) {
      route.set_not_sampled("the kernel knows no route to it");
    }
  }
  if (server.protocol == "nfs" && mounts_.size() < static_cast<size_t>(limits::kSampledMounts)) {
    mounts_.emplace(server.mount_escaped, server.mount);
  }
}

void StorageNetwork::ReadSpeed(Interface* interface) {
  uint64_t changes = 0;
  std::string source;
  for (const int index : interface->watched) {
    const auto link = links_->Read(index);
    if (!link) continue;
    changes += link->carrier_changes;
    if (index == interface->line_rate.index) source = link->name;
  }
  if (source.empty() || interface->carrier_changes == changes) return;
  interface->carrier_changes = changes;
  interface->speed = links_->SpeedOf(source);
}

std::string StorageNetwork::WhyNoLineRate(const std::string& name) const {
  for (const Interface& interface : interfaces_) {
    if (interface.name != name) continue;
    if (interface.line_rate.index == 0) return interface.line_rate.none;
    return interface.speed ? "" : "its driver does not know its line rate";
  }
  return "";
}

StorageNetwork::Reading StorageNetwork::Read() {
  Reading reading;
  if (!interfaces_.empty()) {
    const std::map<int, RootQdisc> qdiscs = links_->RootQdiscs();
    for (Interface& interface : interfaces_) {
      const auto link = links_->Read(interface.index);
      if (!link) continue;
      ReadSpeed(&interface);
      Reading::Interface& out = reading.interfaces[interface.name];
      out.counters = link->counters;
      out.receive_speed = out.send_speed = interface.speed;
      const auto qdisc = qdiscs.find(interface.index);
      if (qdisc == qdiscs.end()) continue;
      out.qdisc_drops = qdisc->second.drops;
      if (const auto limit = qdisc->second.limit_bits_per_second) {
        out.send_speed = std::min(*limit, out.send_speed.value_or(*limit));
      }
    }
  }
  if (!mounts_.empty()) {
    std::set<std::string> wanted;
    for (const auto& [written, shown] : mounts_) wanted.insert(written);
    reading.nfs = ParseMountStats(sources_.mountstats(), wanted);
  }
  return reading;
}

void StorageNetwork::AddDifference(const Reading& earlier, const Reading& later,
                                   v1::IntervalSample* sample) const {
  for (const auto& [name, now] : later.interfaces) {
    const auto before = earlier.interfaces.find(name);
    if (before == earlier.interfaces.end()) continue;
    auto difference = LinkDifference(before->second.counters, now.counters);
    if (!difference) continue;
    difference->set_name(name);
    if (before->second.qdisc_drops && now.qdisc_drops) {
      // In 32 bits, so that a difference over one wrap is right. A queueing discipline that was
      // replaced begins at 0.
      const uint32_t drops = *now.qdisc_drops - *before->second.qdisc_drops;
      if (drops < 1U << 31) difference->set_sent_drops(difference->sent_drops() + drops);
    }
    if (now.receive_speed) difference->set_receive_speed_bits_per_second(*now.receive_speed);
    if (now.send_speed) difference->set_send_speed_bits_per_second(*now.send_speed);
    *sample->add_interfaces() = *std::move(difference);
  }
  for (const auto& [key, now] : later.nfs) {
    const auto before = earlier.nfs.find(key);
    if (before == earlier.nfs.end() || sample->nfs_size() >= limits::kNfsRows) continue;
    auto difference = Difference(before->second, now);
    if (!difference || difference->operations() == 0) continue;
    difference->set_mount(common::Printable(mounts_.at(key.first), kMaxNetworkText));
    difference->set_operation(common::Printable(key.second, kMaxNetworkText));
    *sample->add_nfs() = *std::move(difference);
  }
}

void StorageNetwork::AddRoutes(v1::PhaseResult* result) const {
  if (routes_.empty()) return;
  result->set_network_namespace(sources_.network_namespace());
  for (const v1::StorageRoute& route : routes_) {
    v1::StorageRoute* out = result->add_routes();
    *out = route;
    out->set_mount(common::Printable(route.mount(), kMaxNetworkText));
    out->set_server(common::Printable(route.server(), kMaxNetworkText));
    for (const std::string& name : route.interfaces()) {
      out->add_no_line_rate(common::Printable(WhyNoLineRate(name), kMaxNetworkText));
    }
  }
}

}  // namespace lockstep::worker
