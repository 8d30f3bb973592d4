#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/files.h"

namespace lockstep::worker {

// Counters of a network interface since it was made (ip-link(8), -statistics).
struct LinkCounters {
  uint64_t received_bytes = 0, received_packets = 0, received_drops = 0, received_errors = 0;
  uint64_t sent_bytes = 0, sent_packets = 0, sent_drops = 0, sent_errors = 0;
};

// A network interface.
struct NetLink {
  int index = 0;
  std::string name;
  std::string kind;              // vlan, bond, bridge, veth, loopback, …; empty for hardware
  int lower_index = 0;           // the interface that a VLAN or the like lies on; 0: none
  int master_index = 0;          // the bond or bridge that it is a part of; 0: none
  uint32_t carrier_changes = 0;  // since it was made
  LinkCounters counters;
};

// The queueing discipline at an interface's root.
struct RootQdisc {
  uint32_t drops = 0;                             // since it was made; wraps
  std::optional<uint64_t> limit_bits_per_second;  // of a token bucket filter
};

// Each reads messages of rtnetlink(7) in a row. Malformed ones are left out.
std::vector<NetLink> ParseLinks(std::string_view messages);
std::map<int, RootQdisc> ParseRootQdiscs(std::string_view messages);  // by interface index
// The interface that a route leads through; 0 where there is none.
int ParseRoute(std::string_view messages);

// The interfaces underneath one: the device of a VLAN, the members of a bond, the hardware ports of
// a bridge, and what is underneath these. Nearest first, each once. Pure.
std::vector<int> LinksUnderneath(const std::vector<NetLink>& links, int index);

// Where an interface's line rate comes from. The kernel has a number for each veth and tun, too,
// which limits nothing.
struct LineRateSource {
  int index = 0;     // of the interface whose speed it is, itself or one underneath; 0: it has none
  std::string none;  // why it has none, for people
};
LineRateSource LineRateSourceOf(const std::vector<NetLink>& links, int index);  // pure

// The interfaces of a network namespace, as the kernel describes them. Not thread-safe.
class NetLinks {
 public:
  virtual ~NetLinks() = default;
  virtual std::vector<NetLink> List() = 0;
  // Nothing for an interface that is gone.
  virtual std::optional<NetLink> Read(int index) = 0;
  virtual std::map<int, RootQdisc> RootQdiscs() = 0;
  // The index of the interface that leads to a numeric address; 0 where none does.
  virtual int RouteTo(const std::string& address) = 0;
  // Bits per second, as the kernel has it; nothing where it does not know it.
  virtual std::optional<uint64_t> SpeedOf(const std::string& name) = 0;
};

// The links of this process's network namespace. The kernel answers from memory: a call takes
// microseconds, and never waits for another host. Without the right to query it, everything is
// unknown.
class KernelNetLinks : public NetLinks {
 public:
  KernelNetLinks();
  std::vector<NetLink> List() override;
  std::optional<NetLink> Read(int index) override;
  std::map<int, RootQdisc> RootQdiscs() override;
  int RouteTo(const std::string& address) override;
  std::optional<uint64_t> SpeedOf(const std::string& name) override;

 private:
  // Sends a request of this type and returns the messages of the answer; empty after an error.
  std::string Ask(uint16_t type, uint16_t flags, std::string_view body);

  const common::FileDescriptor netlink_;
  const common::FileDescriptor socket_;  // for ethtool's requests
  uint32_t sequence_ = 0;
};

}  // namespace lockstep::worker
