// Network interfaces, by recorded messages, and the loopback interface of this machine.

#include "worker/host/net_links.h"

#include <linux/rtnetlink.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "tests/worker/host/network_records.h"

namespace lockstep::worker {
namespace {

TEST(NetLinksTest, MessagesSayWhatLiesOnWhat) {
  const std::vector<NetLink> links = StackedLinks();
  ASSERT_EQ(links.size(), 10u);
  EXPECT_EQ(links[4].name, "storage.100");
  EXPECT_EQ(links[4].kind, "vlan");
  EXPECT_EQ(links[4].counters.sent_bytes, 5u);
  EXPECT_EQ(links[4].counters.received_drops, 5u);
  using List = std::vector<int>;
  EXPECT_EQ(LinksUnderneath(links, 5), (List{4, 2, 3}));
  EXPECT_EQ(LinksUnderneath(links, 6), List{7}) << "the tap leads to a guest";
  EXPECT_EQ(LinksUnderneath(links, 9), List{}) << "a veth lies on nothing";
  EXPECT_EQ(LinksUnderneath(links, 10), List{}) << "in another network namespace";
  EXPECT_EQ(LinksUnderneath(links, 99), List{});
}

TEST(NetLinksTest, BrokenMessagesAreLeftOut) {
  std::string message = LinkMessage(2, "eth0", "", 0, 0, 1);
  EXPECT_TRUE(ParseLinks(message.substr(0, 40)).empty());
  EXPECT_TRUE(ParseLinks("x").empty());
  memset(message.data() + NLMSG_LENGTH(sizeof(ifinfomsg)), 0, 2);  // an attribute of length 0
  EXPECT_TRUE(ParseLinks(message).empty());
  EXPECT_EQ(ParseRoute(message), 0);
}

// "tc qdisc add dev va root tbf rate 16mbit burst 64kb limit 1mb", as Linux 6.18 sent it.
constexpr char kTbf[] =
    "bc0000002400020007000000e4670000000000000300000000000180ffffffff0300000008000100746266002c0002"
    "0028000100000100000000000080841e000000000000000000000000000000100000d007000000000005000c000000"
    "00003000070014000100b00000000000000002000000000000001800030000000000000000000000000000000000"
    "000000002c000300b00000000000000002000000000000000000000000000000000000000000000000000000000000"
    "00";

TEST(NetLinksTest, ATokenBucketFilterLimitsWhatIsSent) {
  const auto qdiscs = ParseRootQdiscs(absl::HexStringToBytes(kTbf));
  ASSERT_EQ(qdiscs.size(), 1u);
  EXPECT_EQ(qdiscs.at(3).limit_bits_per_second, 16000000u);
  EXPECT_EQ(qdiscs.at(3).drops, 0u);
  std::string child = absl::HexStringToBytes(kTbf);
  memset(child.data() + NLMSG_LENGTH(0) + 12, 1, 4);  // tcm_parent
  EXPECT_TRUE(ParseRootQdiscs(child).empty());
}

TEST(NetLinksTest, TheKernelKnowsTheLoopbackInterface) {
  KernelNetLinks kernel;
  const std::vector<NetLink> links = kernel.List();
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links[0].name, "lo");
  EXPECT_EQ(links[0].kind, "loopback");
  const auto again = kernel.Read(links[0].index);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->name, "lo");
  EXPECT_GE(again->counters.sent_bytes, links[0].counters.sent_bytes);
  EXPECT_FALSE(kernel.SpeedOf("lo").has_value());
  EXPECT_FALSE(kernel.Read(1 << 30).has_value());
  EXPECT_EQ(kernel.RouteTo("a name"), 0);
  const int route = kernel.RouteTo("127.0.0.1");
  EXPECT_TRUE(route == links[0].index || route == 0) << "0 while it is down";
}

}  // namespace
}  // namespace lockstep::worker
