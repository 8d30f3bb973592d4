// On which version a worker and a controller agree, and what they are told where on none.

#include "proto/protocol_version.h"

#include <limits>

#include "gtest/gtest.h"
#include "proto/fields.h"

namespace lockstep::v1 {
namespace {

constexpr uint32_t kGuard = 12;
constexpr char kOwnRelease[] = "2.0";
constexpr int kUnknown = 77;

ProtocolOffer Own() { return {12, 15, {PROTOCOL_FEATURE_STAMPS}}; }

Hello From(uint32_t lowest, uint32_t highest, const std::string& release = "1.0") {
  Hello hello;
  hello.set_software_version(release);
  SetOffer({lowest, highest, {PROTOCOL_FEATURE_STAMPS}}, &hello);
  return hello;
}

absl::StatusOr<ProtocolAgreement> Answer(const Hello& hello, uint32_t guard = kGuard) {
  return Agree(hello, Own(), guard, kOwnRelease);
}

std::string Refusal(const Hello& hello, uint32_t guard = kGuard) {
  const auto agreed = Answer(hello, guard);
  EXPECT_EQ(agreed.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(agreed.status().message());
}

TEST(ProtocolVersionTest, TheHighestCommonVersionIsSpoken) {
  struct Case {
    uint32_t lowest, highest, spoken;
  };
  for (const Case& c : std::vector<Case>{{12, 15, 15},  // the same
                                         {13, 14, 14},  // within
                                         {10, 20, 15},  // around
                                         {10, 13, 13},  // overlapping below
                                         {14, 20, 15},  // overlapping above
                                         {9, 12, 12},   // touching below
                                         {15, 19, 15},  // touching above
                                         {15, 15, 15},  // one version
                                         {0, 14, 14},   // from before there were ranges
                                         {1, 9999, 15}}) {
    const auto agreed = Answer(From(c.lowest, c.highest));
    ASSERT_TRUE(agreed.ok()) << c.lowest << " to " << c.highest << ": " << agreed.status();
    EXPECT_EQ(agreed->version, c.spoken) << c.lowest << " to " << c.highest;
  }
}

TEST(ProtocolVersionTest, AnOlderWorkerIsToldWhatToInstallOnItsHost) {
  EXPECT_EQ(Refusal(From(9, 11), 9),
            "the worker (Lockstep 1.0) speaks protocol versions 9 to 11, this controller (Lockstep "
            "2.0) speaks versions 12 to 15: install Lockstep 2.0 on the worker's host");
  // From before there were ranges.
  EXPECT_EQ(Refusal(From(0, 11), 9),
            "the worker (Lockstep 1.0) speaks protocol version 11, this controller (Lockstep 2.0) "
            "speaks versions 12 to 15: install Lockstep 2.0 on the worker's host");
}

TEST(ProtocolVersionTest, ANewerWorkerIsToldWhatToInstallOnTheController) {
  EXPECT_EQ(Refusal(From(16, 17, "3.0")),
            "the worker (Lockstep 3.0) speaks protocol versions 16 to 17, this controller "
            "(Lockstep 2.0) speaks versions 12 to 15: install Lockstep 3.0 on the controller's "
            "host");
  EXPECT_NE(Refusal(From(16, 16, "")).find("install an unnamed Lockstep"), std::string::npos);
}

// The ranges overlap, and all features are common: the guard decides alone.
TEST(ProtocolVersionTest, AnOldGuardIsRefusedWhateverElseIsCommon) {
  EXPECT_EQ(Refusal(From(10, 13), 14),
            "the guard of Lockstep 1.0 is of protocol version 13, and Lockstep 2.0 on this "
            "controller admits none older than version 14: install Lockstep 2.0 on the worker's "
            "host");
  EXPECT_NE(Refusal(From(0, 13), 14).find("the guard of"), std::string::npos);
  EXPECT_EQ(Answer(From(10, 14), 14)->version, 14u);
  // A worker's lowest version says nothing of its guard.
  EXPECT_EQ(Answer(From(1, 15), 14)->version, 15u);
}

TEST(ProtocolVersionTest, RangesThatAreNoneAreRefused) {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  EXPECT_EQ(Refusal(From(0, 0)), "its Hello names no protocol version");
  EXPECT_EQ(Refusal(From(5, 0)), "its Hello names no protocol version");
  EXPECT_EQ(Refusal(From(15, 12)),
            "its Hello names the protocol versions 15 to 12, which is no range");
  EXPECT_NE(Refusal(From(kMost, 15)).find("which is no range"), std::string::npos);
  EXPECT_NE(Refusal(From(1, kMost)).find("the highest possible number is 9999"), std::string::npos);
  EXPECT_NE(Refusal(From(1, 10000)).find("the highest possible number is 9999"), std::string::npos);
}

TEST(ProtocolVersionTest, UnknownFeaturesAreLeftOut) {
  Hello hello = From(12, 15);
  hello.add_features(static_cast<ProtocolFeature>(kUnknown));
  hello.add_features(static_cast<ProtocolFeature>(-1));
  hello.add_features(PROTOCOL_FEATURE_STAMPS);  // twice
  // They come over the wire as numbers.
  Hello received;
  ASSERT_TRUE(received.ParseFromString(hello.SerializeAsString()));
  EXPECT_EQ(Answer(received)->features, (std::set<int>{PROTOCOL_FEATURE_STAMPS}));
  EXPECT_EQ(FeatureNames({kUnknown, PROTOCOL_FEATURE_STAMPS}),
            (std::vector<std::string>{"stamps"}));
  // A feature that only the controller knows is no feature of the session, either.
  EXPECT_TRUE(Agree(From(12, 15), {12, 15, {kUnknown}}, kGuard, kOwnRelease)->features.empty());
  hello.clear_features();
  EXPECT_TRUE(Answer(hello)->features.empty());
  for (int i = 0; i < 65; ++i) hello.add_features(PROTOCOL_FEATURE_STAMPS);
  EXPECT_EQ(Refusal(hello), "its Hello names 65 features; the maximum is 64");
}

TEST(ProtocolVersionTest, AWorkerChecksTheAnswer) {
  Welcome welcome;
  welcome.set_software_version("3.0");
  for (const uint32_t spoken : {12u, 15u}) {
    welcome.set_protocol_version(spoken);
    EXPECT_TRUE(CheckWelcome(welcome, Own(), kOwnRelease).ok());
  }
  welcome.set_protocol_version(16);
  EXPECT_EQ(CheckWelcome(welcome, Own(), kOwnRelease).message(),
            "it (Lockstep 3.0) answers in protocol version 16; this worker (Lockstep 2.0) speaks "
            "versions 12 to 15: install Lockstep 3.0 on this host");
  welcome.set_protocol_version(11);
  welcome.clear_software_version();
  EXPECT_EQ(CheckWelcome(welcome, Own(), kOwnRelease).message(),
            "it (an unnamed Lockstep) answers in protocol version 11; this worker (Lockstep 2.0) "
            "speaks versions 12 to 15: install Lockstep 2.0 on the controller's host");
}

TEST(ProtocolVersionTest, ThisProgramAgreesWithItself) {
  Hello hello;
  SetOffer(OwnProtocol(), &hello);
  const auto agreed = Agree(hello, OwnProtocol(), kLowestGuardVersion, "0");
  ASSERT_TRUE(agreed.ok()) << agreed.status();
  EXPECT_EQ(agreed->version, static_cast<uint32_t>(PROTOCOL_VERSION_CURRENT));
  EXPECT_EQ(agreed->features, OwnProtocol().features);
  EXPECT_TRUE(HasFeature(hello, PROTOCOL_FEATURE_STAMPS));
  EXPECT_EQ(FirstProblem(hello), "");
  EXPECT_GE(OwnProtocol().lowest, kLowestGuardVersion);
  EXPECT_NE(OwnProtocolJson().find("\"features\": [\"stamps\"]"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::v1
