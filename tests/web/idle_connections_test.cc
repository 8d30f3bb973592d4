#include "web/idle_connections.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::web {
namespace {

class IdleConnectionsTest : public testing::Test {
 protected:
  IdleConnections::Key Add(const std::string& from, IdleConnections::Served served,
                           const std::string& name) {
    return idle_.Add(boost::asio::ip::make_address(from), served,
                     [this, name] { closed_.push_back(name); });
  }

  IdleConnections idle_;
  std::vector<std::string> closed_;
};

TEST_F(IdleConnectionsTest, TheOldestOfTheNetworkWithMostOfThemGoesFirst) {
  Add("10.0.0.1", IdleConnections::Served::kNo, "a browser");
  Add("10.0.0.2", IdleConnections::Served::kNo, "flood 1");
  Add("::ffff:10.0.0.2", IdleConnections::Served::kNo, "flood 2");
  EXPECT_TRUE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"flood 1"}));
}

TEST_F(IdleConnectionsTest, AnIPv6NetworkIsOneWhateverTheHostsPart) {
  Add("2001:db8:0:1::1", IdleConnections::Served::kNo, "a browser");
  Add("2001:db8:0:2::1", IdleConnections::Served::kNo, "flood 1");
  Add("2001:db8:0:2:ffff::2", IdleConnections::Served::kNo, "flood 2");
  EXPECT_TRUE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"flood 1"}));
}

TEST_F(IdleConnectionsTest, ThoseThatHadAnAnswerGoLastAndEachGoesOnce) {
  Add("10.0.0.2", IdleConnections::Served::kYes, "served 1");
  Add("10.0.0.2", IdleConnections::Served::kYes, "served 2");
  const auto busy = Add("10.0.0.2", IdleConnections::Served::kNo, "begins a request");
  Add("10.0.0.1", IdleConnections::Served::kNo, "silent");
  idle_.Remove(busy);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(idle_.CloseOne());
  EXPECT_FALSE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"silent", "served 1", "served 2"}));
}

}  // namespace
}  // namespace lockstep::web
