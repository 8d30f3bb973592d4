// Where an interface's line rate comes from.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "worker/host/net_links.h"

namespace lockstep::worker {
namespace {

NetLink Link(int index, const std::string& kind, int lower = 0, int master = 0) {
  NetLink link;
  link.index = index;
  link.name = (kind.empty() ? "eth" : kind) + std::to_string(index);
  link.kind = kind;
  link.lower_index = lower;
  link.master_index = master;
  return link;
}

// 1 to 3 are hardware.
std::vector<NetLink> With(std::vector<NetLink> links) {
  for (const int index : {1, 2, 3}) {
    const auto is_there = [&](const NetLink& link) { return link.index == index; };
    if (std::none_of(links.begin(), links.end(), is_there)) links.push_back(Link(index, ""));
  }
  return links;
}

int SourceOf(const std::vector<NetLink>& links, int index) {
  const LineRateSource source = LineRateSourceOf(links, index);
  EXPECT_EQ(source.none.empty(), source.index != 0) << source.none;
  return source.index;
}

std::string WhyNone(const std::vector<NetLink>& links, int index) {
  return LineRateSourceOf(links, index).none;
}

TEST(LineRateTest, HardwareHasItsOwn) {
  EXPECT_EQ(SourceOf(With({}), 1), 1);
  EXPECT_EQ(WhyNone(With({}), 99), "the kernel does not list it");
}

TEST(LineRateTest, WhatLiesOnHardwareHasThatOfTheHardware) {
  EXPECT_EQ(SourceOf(With({Link(5, "vlan", 1)}), 5), 1);
  EXPECT_EQ(SourceOf(With({Link(5, "vlan", 6), Link(6, "macvlan", 2)}), 5), 2);
  EXPECT_EQ(SourceOf(With({Link(5, "macvlan")}), 5), 5) << "its device is in another namespace";
}

TEST(LineRateTest, ABondHasWhatTheKernelAddsUp) {
  const auto links =
      With({Link(1, "", 0, 6), Link(2, "", 0, 6), Link(6, "bond"), Link(7, "vlan", 6)});
  EXPECT_EQ(SourceOf(links, 6), 6);
  EXPECT_EQ(SourceOf(links, 7), 6);
  EXPECT_EQ(WhyNone({Link(6, "bond"), Link(7, "veth", 0, 6)}, 6),
            "it lies on veth7: a virtual interface (veth) has no line rate of its own");
}

TEST(LineRateTest, ABridgeOfOnePortHasThatOfThePort) {
  EXPECT_EQ(SourceOf(With({Link(3, "", 0, 6), Link(6, "bridge")}), 6), 3);
  // The kernel has the speed of the fastest port, be it a guest's.
  const auto links = With({Link(3, "", 0, 6), Link(6, "bridge"), Link(8, "tun", 0, 6)});
  EXPECT_EQ(WhyNone(links, 6), "a bridge of several ports has no line rate of its own");
  EXPECT_EQ(SourceOf(links, 3), 3) << "the port's own";
  EXPECT_EQ(WhyNone({Link(6, "bridge")}, 6), "a bridge without ports has no line rate of its own");
  EXPECT_EQ(WhyNone({Link(6, "bridge"), Link(8, "tun", 0, 6)}, 6),
            "it lies on tun8: a virtual interface (tun) has no line rate of its own");
}

TEST(LineRateTest, VirtualInterfacesHaveNone) {
  for (const std::string kind : {"veth", "tun", "wireguard", "dummy"}) {
    EXPECT_EQ(WhyNone({Link(5, kind, 0)}, 5),
              "a virtual interface (" + kind + ") has no line rate of its own");
  }
  EXPECT_EQ(WhyNone({Link(5, "loopback")}, 5), "the loopback interface has no line rate");
  EXPECT_EQ(WhyNone({Link(4, "vlan", 5), Link(5, "veth")}, 4),
            "it lies on veth5: a virtual interface (veth) has no line rate of its own");
}

TEST(LineRateTest, LinksThatNameEachOtherEndTheSearch) {
  EXPECT_EQ(LineRateSourceOf({Link(4, "vlan", 5), Link(5, "vlan", 4)}, 4).index, 0);
}

}  // namespace
}  // namespace lockstep::worker
