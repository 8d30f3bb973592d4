// Which directory the name of an allowed one leads to, when somebody else may rename what lies
// above it: real directories and links.

#include "worker/host/allowed_directory.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

class AllowedDirectoryTest : public testing::Test {
 protected:
  AllowedDirectoryTest()
      : folder_(fs::canonical(getenv("TEST_TMPDIR")) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        above_(folder_ / "above") {
    fs::create_directories(above_ / "allowed");
    fs::create_directories(folder_ / "elsewhere");
    directory_ = *AllowedDirectory::Make(above_ / "allowed");
  }
  ~AllowedDirectoryTest() override { fs::remove_all(folder_); }

  void SetMode(const fs::path& path, mode_t mode) const { ASSERT_EQ(chmod(path.c_str(), mode), 0); }
  // Another directory, or a link to one, takes the name.
  void Replace(bool by_link) const {
    fs::rename(above_ / "allowed", above_ / "before");
    if (by_link) {
      fs::create_directory_symlink(folder_ / "elsewhere", above_ / "allowed");
    } else {
      fs::create_directory(above_ / "allowed");
    }
  }

  const fs::path folder_, above_;
  std::shared_ptr<const AllowedDirectory> directory_;
};

TEST_F(AllowedDirectoryTest, WhereOthersCanRenameItMustBeTheOneThatWasAllowed) {
  SetMode(above_, 0777);
  EXPECT_EQ(directory_->RealPath(), above_ / "allowed") << "it is the same";
  for (const bool by_link : {true, false}) {
    Replace(by_link);
    const auto opened = directory_->Open();
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied) << opened.status();
    EXPECT_NE(opened.status().message().find("another directory"), std::string::npos);
    EXPECT_EQ(directory_->RealPath(), "");
    fs::remove(above_ / "allowed");
    fs::rename(above_ / "before", above_ / "allowed");
    EXPECT_TRUE(directory_->Open().ok()) << "it is back";
  }
}

TEST_F(AllowedDirectoryTest, WhereNobodyElseCanTheNameIsFollowed) {
  SetMode(above_, 0755);
  Replace(/*by_link=*/true);
  EXPECT_EQ(directory_->RealPath(), folder_ / "elsewhere");
}

TEST_F(AllowedDirectoryTest, InAStickyDirectoryOthersCanOnlyMakeLinks) {
  SetMode(above_, 01777);
  Replace(/*by_link=*/false);
  EXPECT_TRUE(directory_->Open().ok());
  fs::remove(above_ / "allowed");
  fs::create_directory_symlink(folder_ / "elsewhere", above_ / "allowed");
  EXPECT_FALSE(directory_->Open().ok());
}

// The directory above what a link leads to decides as well.
TEST_F(AllowedDirectoryTest, EveryStepOfTheWayCounts) {
  fs::create_directory_symlink("elsewhere", folder_ / "link");
  fs::create_directory(folder_ / "elsewhere/below");
  const auto through_link = *AllowedDirectory::Make(folder_ / "link/below");
  SetMode(folder_ / "elsewhere", 0777);
  EXPECT_EQ(through_link->RealPath(), folder_ / "elsewhere/below");
  fs::rename(folder_ / "elsewhere/below", folder_ / "elsewhere/before");
  fs::create_directory_symlink(above_, folder_ / "elsewhere/below");
  EXPECT_EQ(through_link->RealPath(), "");
}

TEST_F(AllowedDirectoryTest, WhatIsNoDirectoryIsNone) {
  EXPECT_EQ(AllowedDirectory::Make(above_ / "missing").status().code(),
            absl::StatusCode::kNotFound);
  fs::create_directory_symlink("loop", folder_ / "loop");
  EXPECT_FALSE(AllowedDirectory::Make(folder_ / "loop").ok());
}

}  // namespace
}  // namespace lockstep::worker
