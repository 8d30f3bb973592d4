#include "worker/host/certificate_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

class CertificateRequestTest : public ::testing::Test {
 protected:
  CertificateRequestTest() {
    char path[] = "/tmp/lockstep-request-XXXXXX";
    base_ = mkdtemp(path);
  }
  ~CertificateRequestTest() override { std::filesystem::remove_all(base_); }

  absl::Status Request(const std::string& input) {
    std::istringstream in(input);
    out_.str("");
    return RequestCertificate(base_ + "/tls", &in, &out_);
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat facts = {};
    return stat((base_ + name).c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
  }

  std::string base_;
  std::ostringstream out_;
};

TEST_F(CertificateRequestTest, TheKeyStaysInItsDirectory) {
  umask(0);
  const absl::Status made = Request("0123456789abcdef\n");
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_EQ(ModeOf("/tls"), 0700u);
  EXPECT_EQ(ModeOf("/tls/key.pem"), 0600u);
  const auto key = common::ReadFile(base_ + "/tls/key.pem");
  ASSERT_TRUE(key.ok());
  EXPECT_NE(key->find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(out_.str().find("PRIVATE"), std::string::npos);
  EXPECT_EQ(out_.str().find("-----BEGIN CERTIFICATE REQUEST-----"), 0u) << out_.str();
}

TEST_F(CertificateRequestTest, AKeyThatIsThereIsNotReplaced) {
  ASSERT_TRUE(Request("").ok());
  const auto before = common::ReadFile(base_ + "/tls/key.pem");
  EXPECT_TRUE(absl::IsAlreadyExists(Request("")));
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(*common::ReadFile(base_ + "/tls/key.pem"), *before);
}

TEST_F(CertificateRequestTest, AChallengeIsShortAndPlain) {
  for (const std::string& wrong : {std::string(limits::kChallengeBytes + 1, 'x'),
                                   std::string("a\x1b[31m"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Request(wrong + "\n"))) << wrong;
    EXPECT_FALSE(std::filesystem::exists(base_ + "/tls"));
  }
  EXPECT_TRUE(Request(std::string(limits::kChallengeBytes, 'x') + "\nmore").ok());
}

TEST_F(CertificateRequestTest, WithoutInputThereIsNoChallenge) {
  EXPECT_TRUE(RequestCertificate(base_ + "/tls", nullptr, &out_).ok());
}

}  // namespace
}  // namespace lockstep::worker
