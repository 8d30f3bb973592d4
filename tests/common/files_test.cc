// Directories in which other users could replace what this one keeps.

#include "common/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/users.h"
#include "gtest/gtest.h"

namespace lockstep::common {
namespace {

constexpr gid_t kOthers = 12345;

class DirectoryOfOthersTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(path_.data()), nullptr); }
  void TearDown() override { rmdir(path_.c_str()); }

  std::string Problem(mode_t mode) {
    EXPECT_EQ(chmod(path_.c_str(), mode), 0);
    const absl::Status status = CheckNobodyElses(path_);
    return status.ok() ? "" : std::string(status.message()).substr(path_.size());
  }

  std::string path_ = "/tmp/lockstep-files-XXXXXX";
};

TEST_F(DirectoryOfOthersTest, EverybodyMayWriteToIt) {
  EXPECT_EQ(Problem(0755), "");
  EXPECT_NE(Problem(0757).find("everybody may write to it"), std::string::npos);
  EXPECT_EQ(Problem(01777), "");
}

TEST_F(DirectoryOfOthersTest, AGroupMayWriteToIt) {
  EXPECT_EQ(Problem(0775).empty(), getegid() == 0 || IsOwnGroup(geteuid(), getegid()));
  if (chown(path_.c_str(), static_cast<uid_t>(-1), kOthers) != 0) GTEST_SKIP() << "needs root";
  EXPECT_NE(Problem(0775).find("the members of group 12345 may write to it"), std::string::npos);
  EXPECT_NE(Problem(02770).find("the members of group 12345 may write to it"), std::string::npos);
  EXPECT_EQ(Problem(0755), "");
  EXPECT_EQ(Problem(01775), "") << "nobody else's names can be replaced";
}

TEST_F(DirectoryOfOthersTest, AnotherUserOwnsIt) {
  if (chown(path_.c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root";
  EXPECT_NE(Problem(0700).find("belongs to user 12345"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::common
