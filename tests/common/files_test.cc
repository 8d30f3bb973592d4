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

// Opening a FIFO would wait for a writer, and reading a directory or a device tells nothing.
TEST(RegularFileTest, NothingElseIsRead) {
  std::string directory = "/tmp/lockstep-files-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string fifo = directory + "/fifo";
  const std::string file = directory + "/file";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileAtomically(file, "text").ok());
  const std::string name = directory + "/socket";
  ASSERT_EQ(mknod(name.c_str(), S_IFSOCK | 0600, 0), 0);
  for (const std::string& path : {fifo, name, directory, std::string("/dev/null")}) {
    EXPECT_EQ(ReadRegularFile(path).status(),
              absl::InvalidArgumentError(path + ": is not a regular file"));
  }
  EXPECT_EQ(*ReadRegularFile(file, 4), "text");
  EXPECT_TRUE(absl::IsResourceExhausted(ReadRegularFile(file, 3).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadRegularFile(directory + "/none").status()));
  unlink(fifo.c_str());
  unlink(name.c_str());
  unlink(file.c_str());
  rmdir(directory.c_str());
}

}  // namespace
}  // namespace lockstep::common
