#include "worker/host/net_links.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// A message of a dump has at most 32 KiB (netlink_dump() in net/netlink/af_netlink.c).
constexpr size_t kAnswerBytes = 64 << 10;
// More than any answer takes. It only bounds a wait that a defect of the kernel would cause.
constexpr int kAnswerSeconds = 1;

// Calls `take` with type and payload of each message in a row.
template <typename Take>
void ForEachMessage(std::string_view messages, Take take) {
  while (messages.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head;
    memcpy(&head, messages.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > messages.size()) return;
    take(head, messages.substr(NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN));
    messages.remove_prefix(std::min<size_t>(messages.size(), NLMSG_ALIGN(head.nlmsg_len)));
  }
}

// The attributes behind a message's fixed part, by type.
std::map<int, std::string_view> AttributesIn(std::string_view text) {
  std::map<int, std::string_view> found;
  while (text.size() >= sizeof(rtattr)) {
    rtattr head;
    memcpy(&head, text.data(), sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > text.size()) break;
    found[head.rta_type & NLA_TYPE_MASK] = text.substr(RTA_LENGTH(0), head.rta_len - RTA_LENGTH(0));
    text.remove_prefix(std::min<size_t>(text.size(), RTA_ALIGN(head.rta_len)));
  }
  return found;
}

// The value of an attribute, which may be shorter or longer than this program's headers have it.
template <typename T>
T ValueOf(const std::map<int, std::string_view>& attributes, int type) {
  T value = {};
  const auto found = attributes.find(type);
  if (found != attributes.end()) {
    memcpy(&value, found->second.data(), std::min(sizeof value, found->second.size()));
  }
  return value;
}

std::string TextOf(const std::map<int, std::string_view>& attributes, int type) {
  const auto found = attributes.find(type);
  if (found == attributes.end()) return "";
  return std::string(found->second.substr(0, found->second.find('\0')));
}

std::map<int, std::string_view> NestedIn(const std::map<int, std::string_view>& attributes,
                                         int type) {
  const auto found = attributes.find(type);
  return found == attributes.end() ? std::map<int, std::string_view>()
                                   : AttributesIn(found->second);
}

// The message without its fixed part, of type T.
template <typename T>
std::string_view BehindHead(std::string_view payload) {
  return payload.substr(std::min<size_t>(payload.size(), NLMSG_ALIGN(sizeof(T))));
}

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

LinkCounters LinkCountersOf(const std::map<int, std::string_view>& attributes) {
  const auto stats = ValueOf<rtnl_link_stats64>(attributes, IFLA_STATS64);
  LinkCounters counters;
  counters.received_bytes = stats.rx_bytes;
  counters.received_packets = stats.rx_packets;
  // As /proc/net/dev has them: a device without a free buffer misses packets.
  counters.received_drops = stats.rx_dropped + stats.rx_missed_errors;
  counters.received_errors = stats.rx_errors;
  counters.sent_bytes = stats.tx_bytes;
  counters.sent_packets = stats.tx_packets;
  counters.sent_drops = stats.tx_dropped;
  counters.sent_errors = stats.tx_errors;
  return counters;
}

// Whether IFLA_LINK is the device that an interface of this kind lies on. For a veth it is the
// peer.
bool LiesOnItsLink(const std::string& kind) {
  static const std::set<std::string> kKinds = {"vlan",   "macvlan", "macvtap",
                                               "ipvlan", "ipvtap",  "macsec"};
  return kKinds.contains(kind);
}

bool IsBond(const std::string& kind) { return kind == "bond" || kind == "team"; }

// Whether the member carries the traffic of its master. A bridge's virtual ports lead to guests and
// containers of this host.
bool CarriesFor(const NetLink& master, const NetLink& member) {
  if (IsBond(master.kind)) return true;
  return master.kind == "bridge" &&
         (member.kind.empty() || member.kind == "vlan" || IsBond(member.kind));
}

// More than anybody stacks: it bounds the search should links ever name each other.
constexpr int kMaxLinksDeep = 16;

LineRateSource FindLineRate(const std::vector<NetLink>& links, int index, int levels);

// Of an interface that lies on others: all of them must have a line rate.
LineRateSource SourceAcross(const std::vector<NetLink>& links, const NetLink& above,
                            const std::vector<const NetLink*>& below, int levels) {
  LineRateSource only;
  for (const NetLink* link : below) {
    only = FindLineRate(links, link->index, levels - 1);
    if (only.index == 0) return {0, absl::StrCat("it lies on ", link->name, ": ", only.none)};
  }
  // The kernel adds up the speeds of a bond's members that carry traffic.
  return IsBond(above.kind) ? LineRateSource{above.index, ""} : only;
}

// Traffic between a bridge's ports and this host takes one of them. With one port it is known
// which.
LineRateSource SourceOfBridge(const std::vector<NetLink>& links, const NetLink& bridge,
                              const std::vector<const NetLink*>& ports, int levels) {
  if (ports.size() == 1) return SourceAcross(links, bridge, ports, levels);
  return {0, ports.empty() ? "a bridge without ports has no line rate of its own"
                           : "a bridge of several ports has no line rate of its own"};
}

LineRateSource FindLineRate(const std::vector<NetLink>& links, int index, int levels) {
  const NetLink* self = nullptr;
  const NetLink* lower = nullptr;
  std::vector<const NetLink*> members;
  for (const NetLink& link : links) {
    if (link.index == index) self = &link;
    if (link.master_index == index) members.push_back(&link);
  }
  if (self == nullptr || levels == 0) return {0, "the kernel does not list it"};
  for (const NetLink& link : links) {
    if (link.index == self->lower_index) lower = &link;
  }
  if (self->kind.empty()) return {index, ""};
  if (self->kind == "loopback") return {0, "the loopback interface has no line rate"};
  if (self->kind == "bridge") return SourceOfBridge(links, *self, members, levels);
  if (IsBond(self->kind)) return SourceAcross(links, *self, members, levels);
  if (LiesOnItsLink(self->kind)) {
    // One in another network namespace is not seen. The kernel has its speed all the same.
    if (lower == nullptr) return {index, ""};
    return SourceAcross(links, *self, {lower}, levels);
  }
  return {0, absl::StrCat("a virtual interface (", self->kind, ") has no line rate of its own")};
}

}  // namespace

std::vector<NetLink> ParseLinks(std::string_view messages) {
  std::vector<NetLink> links;
  ForEachMessage(messages, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type != RTM_NEWLINK || payload.size() < sizeof(ifinfomsg)) return;
    ifinfomsg fixed;
    memcpy(&fixed, payload.data(), sizeof fixed);
    const auto attributes = AttributesIn(BehindHead<ifinfomsg>(payload));
    NetLink link;
    link.index = fixed.ifi_index;
    link.name = TextOf(attributes, IFLA_IFNAME);
    link.kind = TextOf(NestedIn(attributes, IFLA_LINKINFO), IFLA_INFO_KIND);
    if ((fixed.ifi_flags & IFF_LOOPBACK) != 0) link.kind = "loopback";
    // With this attribute the index is one of another network namespace.
    if (LiesOnItsLink(link.kind) && !attributes.contains(IFLA_LINK_NETNSID)) {
      link.lower_index = ValueOf<int32_t>(attributes, IFLA_LINK);
    }
    link.master_index = ValueOf<int32_t>(attributes, IFLA_MASTER);
    link.carrier_changes = ValueOf<uint32_t>(attributes, IFLA_CARRIER_CHANGES);
    link.counters = LinkCountersOf(attributes);
    if (!link.name.empty()) links.push_back(std::move(link));
  });
  return links;
}

std::map<int, RootQdisc> ParseRootQdiscs(std::string_view messages) {
  std::map<int, RootQdisc> found;
  ForEachMessage(messages, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type != RTM_NEWQDISC || payload.size() < sizeof(tcmsg)) return;
    tcmsg fixed;
    memcpy(&fixed, payload.data(), sizeof fixed);
    if (fixed.tcm_parent != TC_H_ROOT) return;
    const auto attributes = AttributesIn(BehindHead<tcmsg>(payload));
    RootQdisc& qdisc = found[fixed.tcm_ifindex];
    qdisc.drops =
        ValueOf<gnet_stats_queue>(NestedIn(attributes, TCA_STATS2), TCA_STATS_QUEUE).drops;
    if (TextOf(attributes, TCA_KIND) != "tbf") return;
    const auto options = NestedIn(attributes, TCA_OPTIONS);
    // The 64-bit rate is there only where 32 bits do not hold it.
    uint64_t bytes_per_second = ValueOf<uint64_t>(options, TCA_TBF_RATE64);
    if (bytes_per_second == 0) {
      bytes_per_second = ValueOf<tc_tbf_qopt>(options, TCA_TBF_PARMS).rate.rate;
    }
    if (bytes_per_second != 0) qdisc.limit_bits_per_second = 8 * bytes_per_second;
  });
  return found;
}

int ParseRoute(std::string_view messages) {
  int index = 0;
  ForEachMessage(messages, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type != RTM_NEWROUTE || payload.size() < sizeof(rtmsg)) return;
    index = ValueOf<int32_t>(AttributesIn(BehindHead<rtmsg>(payload)), RTA_OIF);
  });
  return index;
}

std::vector<int> LinksUnderneath(const std::vector<NetLink>& links, int index) {
  std::vector<int> found = {index};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto above = std::find_if(links.begin(), links.end(),
                                    [&](const NetLink& link) { return link.index == found[i]; });
    if (above == links.end()) continue;
    for (const NetLink& link : links) {
      const bool below = link.index == above->lower_index ||
                         (link.master_index == above->index && CarriesFor(*above, link));
      if (below && std::find(found.begin(), found.end(), link.index) == found.end()) {
        found.push_back(link.index);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

LineRateSource LineRateSourceOf(const std::vector<NetLink>& links, int index) {
  return FindLineRate(links, index, kMaxLinksDeep);
}

KernelNetLinks::KernelNetLinks()
    : netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  const timeval limit = {kAnswerSeconds, 0};
  setsockopt(netlink_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

std::string KernelNetLinks::Ask(uint16_t type, uint16_t flags, std::string_view body) {
  if (!netlink_.valid()) return "";
  nlmsghdr head = {};
  head.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(body.size()));
  head.nlmsg_type = type;
  head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  head.nlmsg_seq = ++sequence_;
  std::string request(BytesOf(head));
  request.append(body);
  if (send(netlink_.get(), request.data(), request.size(), 0) < 0) return "";
  std::string answer;
  std::string buffer(kAnswerBytes, '\0');
  for (bool is_over = false; !is_over;) {
    const ssize_t size = recv(netlink_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return "";
    const std::string_view part(buffer.data(), static_cast<size_t>(size));
    bool is_answer = false;
    bool failed = false;
    ForEachMessage(part, [&](const nlmsghdr& message, std::string_view) {
      // An answer to an earlier request that was not waited for any more.
      if (message.nlmsg_seq != sequence_) return;
      is_answer = true;
      failed = failed || message.nlmsg_type == NLMSG_ERROR;
      // A dump ends with a message of its own, another answer with its only message.
      is_over = is_over || failed || message.nlmsg_type == NLMSG_DONE ||
                (message.nlmsg_flags & NLM_F_MULTI) == 0;
    });
    if (failed) return "";
    if (is_answer) answer.append(part);
  }
  return answer;
}

std::vector<NetLink> KernelNetLinks::List() {
  return ParseLinks(Ask(RTM_GETLINK, NLM_F_DUMP, BytesOf(ifinfomsg{})));
}

std::optional<NetLink> KernelNetLinks::Read(int index) {
  ifinfomsg wanted = {};
  wanted.ifi_index = index;
  std::vector<NetLink> links = ParseLinks(Ask(RTM_GETLINK, 0, BytesOf(wanted)));
  if (links.empty()) return std::nullopt;
  return std::move(links.front());
}

// The kernel has no dump of one interface alone, and an answer about one goes to all who listen to
// changes of queueing disciplines as well (qdisc_notify() before Linux 6.13).
std::map<int, RootQdisc> KernelNetLinks::RootQdiscs() {
  return ParseRootQdiscs(Ask(RTM_GETQDISC, NLM_F_DUMP, BytesOf(tcmsg{})));
}

int KernelNetLinks::RouteTo(const std::string& address) {
  std::array<char, sizeof(in6_addr)> bytes = {};
  rtmsg wanted = {};
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    wanted.rtm_family = AF_INET;
    wanted.rtm_dst_len = 32;
  } else if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) {
    wanted.rtm_family = AF_INET6;
    wanted.rtm_dst_len = 128;
  } else {
    return 0;
  }
  rtattr destination = {};
  destination.rta_type = RTA_DST;
  destination.rta_len = static_cast<uint16_t>(RTA_LENGTH(wanted.rtm_dst_len / 8));
  std::string body(BytesOf(wanted));
  body.append(BytesOf(destination));
  body.append(bytes.data(), wanted.rtm_dst_len / 8);
  return ParseRoute(Ask(RTM_GETROUTE, 0, body));
}

std::optional<uint64_t> KernelNetLinks::SpeedOf(const std::string& name) {
  // sysfs has the speed, too, but of the network namespace that it was mounted in.
  constexpr size_t kMasks = size_t{3} * 127 * sizeof(uint32_t);
  alignas(ethtool_link_settings) std::array<char, sizeof(ethtool_link_settings) + kMasks> memory{};
  auto* settings = reinterpret_cast<ethtool_link_settings*>(memory.data());
  ifreq request = {};
  if (!socket_.valid() || name.size() >= sizeof request.ifr_name) return std::nullopt;
  memcpy(request.ifr_name, name.data(), name.size());
  request.ifr_data = memory.data();
  settings->cmd = ETHTOOL_GLINKSETTINGS;
  // The first call returns how many words the kernel's masks have, as a negative number. Only a
  // call with this number returns the settings (linux/ethtool.h).
  for (int call = 0; call < 2; ++call) {
    if (ioctl(socket_.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;
    if (settings->link_mode_masks_nwords >= 0) break;
    settings->link_mode_masks_nwords = static_cast<int8_t>(-settings->link_mode_masks_nwords);
    settings->cmd = ETHTOOL_GLINKSETTINGS;
  }
  if (settings->speed == 0 || settings->speed == static_cast<uint32_t>(SPEED_UNKNOWN)) {
    return std::nullopt;
  }
  constexpr uint64_t kMegabit = 1000000;
  return settings->speed * kMegabit;
}

}  // namespace lockstep::worker
