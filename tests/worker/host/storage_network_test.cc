// What a worker samples of the network between it and the servers of its targets, by made up
// interfaces.

#include "worker/host/storage_network.h"

#include <sys/sysmacros.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/worker/host/network_records.h"

namespace lockstep::worker {
namespace {

// Interfaces whose counters a test sets.
class FakeLinks : public NetLinks {
 public:
  struct Facts {
    std::vector<NetLink> links;
    std::map<int, RootQdisc> qdiscs;
    std::map<std::string, int> routes;
    std::map<std::string, uint64_t> speeds;
    int asked_for_speed = 0;
  };
  explicit FakeLinks(Facts* facts) : facts_(facts) {}
  std::vector<NetLink> List() override { return facts_->links; }
  std::optional<NetLink> Read(int index) override {
    for (const NetLink& link : facts_->links) {
      if (link.index == index) return link;
    }
    return std::nullopt;
  }
  std::map<int, RootQdisc> RootQdiscs() override { return facts_->qdiscs; }
  int RouteTo(const std::string& address) override { return facts_->routes[address]; }
  std::optional<uint64_t> SpeedOf(const std::string& name) override {
    ++facts_->asked_for_speed;
    const auto speed = facts_->speeds.find(name);
    return speed == facts_->speeds.end() ? std::nullopt : std::optional(speed->second);
  }

 private:
  Facts* const facts_;
};

class StorageNetworkTest : public ::testing::Test {
 protected:
  StorageNetworkTest()
      : network_({[this] { return std::make_unique<FakeLinks>(&facts_); },
                  [this] { return mountstats_; }, [] { return std::string("net:[1]"); }}) {
    facts_.links = StackedLinks();
    facts_.routes = {{"10.0.0.1", 5}, {"10.0.0.2", 9}};
    facts_.speeds = {{"eth0", 10000000000},
                     {"bond0", 20000000000},
                     {"storage.100", 20000000000},
                     {"veth0", 10000000000}};
  }

  static StorageServer Server(const std::string& protocol, const std::string& address) {
    StorageServer server;
    server.protocol = protocol;
    server.address = address;
    return server;
  }
  v1::IntervalSample Sample(const StorageNetwork::Reading& earlier) {
    v1::IntervalSample sample;
    network_.AddDifference(earlier, network_.Read(), &sample);
    return sample;
  }

  FakeLinks::Facts facts_;
  std::string mountstats_;
  StorageNetwork network_;
};

TEST_F(StorageNetworkTest, AVlanOnABondIsSampledWithAllUnderneath) {
  network_.Add(0, Server("iscsi", "10.0.0.1"));
  network_.Add(2, Server("iscsi", "10.0.0.1"));
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  ASSERT_EQ(result.routes_size(), 1);
  EXPECT_EQ(result.network_namespace(), "net:[1]");
  const v1::StorageRoute& route = result.routes(0);
  EXPECT_EQ(std::vector<uint32_t>(route.targets().begin(), route.targets().end()),
            (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(std::vector<std::string>(route.interfaces().begin(), route.interfaces().end()),
            (std::vector<std::string>{"storage.100", "bond0", "eth0", "eth1"}));
  EXPECT_EQ(route.not_sampled(), "");
  EXPECT_EQ(route.no_line_rate_size(), 4);
  const auto earlier = network_.Read();
  facts_.links[3].counters.sent_bytes += 1000;
  facts_.links[3].counters.received_drops += 7;
  const v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.interfaces_size(), 4);
  const v1::InterfaceSample& bond = sample.interfaces(0);
  EXPECT_EQ(bond.name(), "bond0");
  EXPECT_EQ(bond.sent_bytes(), 1000u);
  EXPECT_EQ(bond.received_drops(), 7u);
  EXPECT_EQ(bond.send_speed_bits_per_second(), 20000000000u);
  EXPECT_EQ(sample.interfaces(2).name(), "eth1");
  EXPECT_FALSE(sample.interfaces(2).has_receive_speed_bits_per_second()) << "no carrier";
}

TEST_F(StorageNetworkTest, AVirtualInterfaceHasNoSpeedButThatOfAFilter) {
  network_.Add(0, Server("iscsi", "10.0.0.2"));
  facts_.qdiscs[9].drops = 4294967290;
  const auto earlier = network_.Read();
  facts_.qdiscs[9].drops = 4;
  v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.interfaces_size(), 1);
  EXPECT_FALSE(sample.interfaces(0).has_send_speed_bits_per_second());
  EXPECT_EQ(sample.interfaces(0).sent_drops(), 10u) << "over the end of 32 bits";
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  EXPECT_EQ(result.routes(0).no_line_rate(0),
            "a virtual interface (veth) has no line rate of its own");
  facts_.qdiscs[9].limit_bits_per_second = 16000000;
  sample = Sample(earlier);
  EXPECT_EQ(sample.interfaces(0).send_speed_bits_per_second(), 16000000u);
  EXPECT_FALSE(sample.interfaces(0).has_receive_speed_bits_per_second());
}

TEST_F(StorageNetworkTest, ASpeedIsReadAgainWhenTheCarrierChanges) {
  network_.Add(0, Server("iscsi", "10.0.0.1"));
  const auto earlier = network_.Read();
  const int asked = facts_.asked_for_speed;
  (void)network_.Read();
  EXPECT_EQ(facts_.asked_for_speed, asked);
  facts_.links[1].carrier_changes = 2;
  facts_.speeds["eth0"] = 1000000000;
  const v1::IntervalSample sample = Sample(earlier);
  EXPECT_EQ(sample.interfaces(1).name(), "eth0");
  EXPECT_EQ(sample.interfaces(1).receive_speed_bits_per_second(), 1000000000u);
  // A bond keeps its carrier when it loses a member.
  facts_.links[2].carrier_changes = 1;
  facts_.speeds["bond0"] = 1000000000;
  EXPECT_EQ(Sample(earlier).interfaces(0).receive_speed_bits_per_second(), 1000000000u);
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  const auto& why = result.routes(0).no_line_rate();
  EXPECT_EQ(std::vector<std::string>(why.begin(), why.end()),
            (std::vector<std::string>{"", "", "", "its driver does not know its line rate"}));
}

TEST_F(StorageNetworkTest, AnInterfaceThatWasMadeAnewHasNoSample) {
  network_.Add(0, Server("iscsi", "10.0.0.2"));
  const auto earlier = network_.Read();
  facts_.links[8].counters.sent_bytes = 0;
  EXPECT_EQ(Sample(earlier).interfaces_size(), 0);
  facts_.links.erase(facts_.links.begin() + 8);
  EXPECT_EQ(Sample(earlier).interfaces_size(), 0);
}

TEST_F(StorageNetworkTest, WhatIsNotSampledSaysWhy) {
  StorageServer rdma = Server("nvme-rdma", "10.0.0.1");
  rdma.not_known = "its traffic is RDMA";
  network_.Add(0, rdma);
  network_.Add(1, Server("iscsi", "10.9.9.9"));
  StorageServer bound = Server("iscsi", "10.9.9.8");
  bound.interface = "eth2";
  network_.Add(2, bound);
  network_.Add(3, Server("nfs", "fe80::1%veth0"));
  bound.interface = "eth0";  // another session with the same portal
  network_.Add(2, bound);
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  ASSERT_EQ(result.routes_size(), 5);
  EXPECT_EQ(result.routes(4).interfaces(0), "eth0");
  EXPECT_EQ(result.routes(0).not_sampled(), "its traffic is RDMA");
  EXPECT_EQ(result.routes(1).not_sampled(), "the kernel knows no route to it");
  EXPECT_EQ(result.routes(2).interfaces(0), "eth2");
  EXPECT_EQ(result.routes(3).interfaces(0), "veth0");
}

TEST_F(StorageNetworkTest, NoMoreInterfacesAreSampledThanTheLimit) {
  for (int i = 0; i < 20; ++i) {
    NetLink link;
    link.index = 100 + i;
    link.name = absl::StrCat("eth", 100 + i);
    facts_.links.push_back(link);
    facts_.routes[absl::StrCat("10.1.0.", i)] = link.index;
  }
  for (uint32_t i = 0; i < 20; ++i) network_.Add(i, Server("iscsi", absl::StrCat("10.1.0.", i)));
  EXPECT_EQ(network_.Read().interfaces.size(), static_cast<size_t>(limits::kSampledInterfaces));
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  EXPECT_EQ(result.routes(0).not_sampled(), "");
  EXPECT_EQ(result.routes(19).not_sampled(), "a worker samples at most 8 interfaces");
}

TEST_F(StorageNetworkTest, AnNfsMountIsSampledByOperation) {
  StorageServer nas = ServersOfMount(kMounts, makedev(0, 52)).at(0);
  network_.Add(0, nas);
  mountstats_ = MountStats(100);
  const auto earlier = network_.Read();
  mountstats_ = MountStats(150);
  const v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.nfs_size(), 1) << "operations that there were";
  EXPECT_EQ(sample.nfs(0).mount(), "/mnt/my nas");
  EXPECT_EQ(sample.nfs(0).operation(), "READ");
  EXPECT_EQ(sample.nfs(0).operations(), 50u);
}

TEST_F(StorageNetworkTest, WithoutAServerNothingIsAsked) {
  StorageNetwork::Sources sources;
  sources.links = []() -> std::unique_ptr<NetLinks> {
    ADD_FAILURE();
    return nullptr;
  };
  sources.mountstats = sources.network_namespace = [] {
    ADD_FAILURE();
    return std::string();
  };
  StorageNetwork network(std::move(sources));
  v1::IntervalSample sample;
  network.AddDifference(network.Read(), network.Read(), &sample);
  v1::PhaseResult result;
  network.AddRoutes(&result);
  EXPECT_EQ(sample.interfaces_size() + result.routes_size(), 0);
}

}  // namespace
}  // namespace lockstep::worker
