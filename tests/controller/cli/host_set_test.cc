#include "controller/cli/ssh/host_set.h"

#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

std::vector<std::string> Names(const std::vector<std::string>& sets) {
  const auto hosts = ParseHosts(sets);
  std::vector<std::string> names;
  if (!hosts.ok()) return {std::string(hosts.status().message())};
  for (const SshHost& host : *hosts) names.push_back(host.name);
  return names;
}

bool IsRefused(const std::string& set) { return !ParseHosts({set}).ok(); }

using Expected = std::vector<std::string>;

TEST(HostSetTest, RangesListsAndSeveralBrackets) {
  EXPECT_EQ(Names({"node[1-3]"}), (Expected{"node1", "node2", "node3"}));
  EXPECT_EQ(Names({"n[08-10,2]", "db"}), (Expected{"n08", "n09", "n10", "n2", "db"}));
  EXPECT_EQ(Names({"r[1-2]n[1,3],login"}), (Expected{"r1n1", "r1n3", "r2n1", "r2n3", "login"}));
}

TEST(HostSetTest, AUserAndAnAddressArePartOfTheDestination) {
  const auto hosts = ParseHosts({"bench@node[1-2]", "2001:db8::1", "root@10.0.0.7"});
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ((*hosts)[1], (SshHost{"bench@node2", "node2"}));
  EXPECT_EQ((*hosts)[2], (SshHost{"2001:db8::1", "2001-db8--1"}));
  EXPECT_EQ((*hosts)[3], (SshHost{"root@10.0.0.7", "10.0.0.7"}));
}

TEST(HostSetTest, NothingThatSshOrAShellWouldTakeForSomethingElse) {
  for (const char* set : {"-oProxyCommand=id",
                          "--",
                          "-",
                          "",
                          "node1,",
                          "a@-oProxyCommand=id",
                          "-l@node1",
                          "@node1",
                          "node 1",
                          "node1;id",
                          "$(id)",
                          "`id`",
                          "node'1",
                          "ssh://node1",
                          "node1:22",
                          "no/de",
                          "node%h",
                          "a@b@c",
                          "node\n1",
                          "node\x01"}) {
    EXPECT_TRUE(IsRefused(set)) << set;
  }
}

TEST(HostSetTest, WrongAndHugeSetsAreRefused) {
  for (const char* set :
       {"n[", "n[1-", "n[]", "n[1-2-3]", "n[3-1]", "n[a-b]", "n[1--2]", "n[-1]", "n[1,,2]",
        "n[0-4294967295]", "n[1-99999]", "a[1-999]b[1-999]c[1-999]", "n]1["}) {
    EXPECT_TRUE(IsRefused(set)) << set;
  }
  EXPECT_FALSE(ParseHosts({"node1", "root@node1"}).ok());
}

TEST(HostSetTest, FilesHaveCommentsAndSeveralHostsALine) {
  EXPECT_EQ(HostFileSets("# the rack\nnode[1-2]  db\r\n\n\tlogin # not a host\n"),
            (Expected{"node[1-2]", "db", "login"}));
}

}  // namespace
}  // namespace lockstep::cli
