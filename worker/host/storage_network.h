#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/result.pb.h"
#include "worker/host/net_links.h"
#include "worker/host/nfs_stats.h"
#include "worker/host/storage_servers.h"

namespace lockstep::worker {

// The network between this worker and the servers of a phase's targets: the interfaces that the
// traffic takes, and the NFS mounts. At most limits::kSampledInterfaces and limits::kSampledMounts
// of them. Everything is read from this host's kernel, so that a server that is silent holds
// nothing up. Not thread-safe.
class StorageNetwork {
 public:
  // Each is called when there is a server to be reached, not before.
  struct Sources {
    std::function<std::unique_ptr<NetLinks>()> links = [] {
      return std::make_unique<KernelNetLinks>();
    };
    std::function<std::string()> mountstats;         // as /proc/self/mountstats
    std::function<std::string()> network_namespace;  // "net:[4026531840]"
  };
  // Samples the network of this process.
  StorageNetwork();
  explicit StorageNetwork(Sources sources) : sources_(std::move(sources)) {}

  // A target of the job that the server serves; none for what is only observed. Finds the route.
  // Beyond 64 routes it does nothing.
  void Add(std::optional<uint32_t> target, const StorageServer& server);

  // Counters at one instant.
  struct Reading {
    struct Interface {
      LinkCounters counters;
      std::optional<uint32_t> qdisc_drops;                // wraps
      std::optional<uint64_t> receive_speed, send_speed;  // bits per second
    };
    std::map<std::string, Interface> interfaces;
    NfsCounters nfs;
  };
  Reading Read();
  // Adds what happened between two readings to a sample.
  void AddDifference(const Reading& earlier, const Reading& later,
                     v1::IntervalSample* sample) const;
  void AddRoutes(v1::PhaseResult* result) const;

 private:
  struct Interface {
    int index = 0;
    std::string name;
    LineRateSource line_rate;
    // The interface whose speed it has, and those underneath it. The speed is read again when the
    // carrier of one changes: some drivers ask their firmware for it.
    std::vector<int> watched;
    std::optional<uint64_t> carrier_changes;  // of all of them
    std::optional<uint64_t> speed;
  };

  // The interface that leads to the server; 0 where none is known.
  int InterfaceTo(const StorageServer& server);
  // Adds an interface and those underneath it to what is sampled, and to the route.
  void AddInterfaces(int index, v1::StorageRoute* route);
  void ReadSpeed(Interface* interface);
  // Why no line rate is known of the interface of this name; empty if one is.
  std::string WhyNoLineRate(const std::string& name) const;

  Sources sources_;
  std::unique_ptr<NetLinks> links_;
  std::vector<NetLink> known_links_;  // when the first server was added
  std::vector<Interface> interfaces_;
  std::map<std::string, std::string> mounts_;  // NFS: as mountstats writes it → as people do
  std::vector<StorageServer> servers_;
  std::vector<v1::StorageRoute> routes_;  // to each of servers_
};

}  // namespace lockstep::worker
