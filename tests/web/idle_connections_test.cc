#include "web/idle_connections.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::web {
namespace {

class IdleConnectionsTest : public testing::Test {
 protected:
  IdleConnections::Key Add(const std::string& from, bool served, const std::string& name) {
    return idle_.Add(boost::asio::ip::make_address(from), served,
                     [this, name] { closed_.push_back(name); });
  }

  IdleConnections idle_;
  std::vector<std::string> closed_;
};

TEST_F(IdleConnectionsTest, TheOldestOfTheNetworkWithMostOfThemGoesFirst) {
  Add("10.0.0.1", /*served=*/false, "a browser");
  Add("10.0.0.2", /*served=*/false, "flood 1");
  Add("::ffff:10.0.0.2", /*served=*/false, "flood 2");
  EXPECT_TRUE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"flood 1"}));
}

TEST_F(IdleConnectionsTest, AnIPv6NetworkIsOneWhateverTheHostsPart) {
  Add("2001:db8:0:1::1", /*served=*/false, "a browser");
  Add("2001:db8:0:2::1", /*served=*/false, "flood 1");
  Add("2001:db8:0:2:ffff::2", /*served=*/false, "flood 2");
  EXPECT_TRUE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"flood 1"}));
}

TEST_F(IdleConnectionsTest, ThoseThatHadAnAnswerGoLastAndEachGoesOnce) {
  Add("10.0.0.2", /*served=*/true, "served 1");
  Add("10.0.0.2", /*served=*/true, "served 2");
  const auto busy = Add("10.0.0.2", /*served=*/false, "begins a request");
  Add("10.0.0.1", /*served=*/false, "silent");
  idle_.Remove(busy);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(idle_.CloseOne());
  EXPECT_FALSE(idle_.CloseOne());
  EXPECT_EQ(closed_, (std::vector<std::string>{"silent", "served 1", "served 2"}));
}

}  // namespace
}  // namespace lockstep::web
