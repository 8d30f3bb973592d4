// Signatures and keyed hashes: known answers, and that nothing else is accepted.

#include "common/signing.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace lockstep::common {
namespace {

// RFC 8032, section 7.1, test 1: the empty message.
TEST(SigningTest, KnownAnswer) {
  const auto key = SigningKey::FromSecret(
      absl::HexStringToBytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(absl::BytesToHexString(key->public_key()),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(
      absl::BytesToHexString(key->Sign("")),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
      "f9b46bd25bf5f0595bbe24655141438e7a100b");
}

TEST(SigningTest, OnlyTheOwnersSignatureOfThisMessageIsAccepted) {
  const SigningKey key = SigningKey::Make();
  const std::string signature = key.Sign("message");
  EXPECT_TRUE(IsSignedBy(key.public_key(), "message", signature));
  EXPECT_FALSE(IsSignedBy(key.public_key(), "messagf", signature));
  EXPECT_FALSE(IsSignedBy(SigningKey::Make().public_key(), "message", signature));
  for (size_t i = 0; i < signature.size(); ++i) {
    std::string other = signature;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(IsSignedBy(key.public_key(), "message", other)) << i;
  }
  EXPECT_FALSE(IsSignedBy("", "message", signature));
  EXPECT_FALSE(IsSignedBy(key.public_key(), "message", ""));
  EXPECT_FALSE(IsSignedBy(key.public_key(), "message", signature + "x"));
}

TEST(SigningTest, AKeyIsKeptByItsSecret) {
  const SigningKey key = SigningKey::Make();
  const auto again = SigningKey::FromSecret(key.secret());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->public_key(), key.public_key());
  EXPECT_FALSE(SigningKey::FromSecret("short").ok());
}

// RFC 4231, test case 2.
TEST(SigningTest, KeyedHashKnownAnswer) {
  EXPECT_EQ(absl::BytesToHexString(KeyedHash("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace lockstep::common
