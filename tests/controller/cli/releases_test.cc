#include "controller/cli/releases.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

v1::StatusReply WithWorkers(int count, const std::string& release) {
  v1::StatusReply reply;
  reply.set_version("1.0");
  for (int i = 0; i < count; ++i) {
    v1::Hello* hello = reply.add_workers()->mutable_hello();
    hello->mutable_host()->set_name(absl::StrCat("node", i + 1));
    hello->set_software_version(release);
    hello->set_spoken_version(15);
  }
  return reply;
}

TEST(Releases, WorkersOfAnotherReleaseAreNamed) {
  EXPECT_EQ(OtherReleases(WithWorkers(3, "1.0")), "");
  v1::StatusReply reply = WithWorkers(2, "1.0");
  reply.mutable_workers(1)->mutable_hello()->set_software_version("1.1");
  EXPECT_EQ(OtherReleases(reply), "RELEASE: node2 has 1.1; its session speaks protocol 15\n");
  reply.mutable_workers(1)->mutable_hello()->clear_software_version();
  EXPECT_EQ(OtherReleases(reply),
            "RELEASE: node2 has an unnamed release; its session speaks protocol 15\n");
}

TEST(Releases, LinesOfManyHostsAreCut) {
  const std::string lines = OtherReleases(WithWorkers(25, "1.1"));
  EXPECT_NE(lines.find("node20 has 1.1"), std::string::npos);
  EXPECT_EQ(lines.find("node21 "), std::string::npos);
  EXPECT_NE(lines.find("RELEASE: 5 more workers"), std::string::npos);
}

TEST(Releases, TheControllersProtocolsAreShown) {
  v1::StatusReply reply;
  EXPECT_EQ(SpokenProtocols(reply), "") << "a controller that does not say it";
  reply.mutable_protocol()->set_lowest(15);
  reply.mutable_protocol()->set_highest(15);
  EXPECT_EQ(SpokenProtocols(reply), ", protocol 15");
  reply.mutable_protocol()->set_highest(17);
  EXPECT_EQ(SpokenProtocols(reply), ", protocols 15 to 17");
}

}  // namespace
}  // namespace lockstep::cli
