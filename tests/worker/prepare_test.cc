// Laying out files, and removing them again: in a directory of this test, through the real guard.

#include "worker/targets/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "worker/targets/marks.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

class PrepareTest : public testing::Test {
 protected:
  PrepareTest() {
    directory_ = fs::path(getenv("TEST_TMPDIR")) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(directory_);
    guard_ = std::make_unique<Guard>(*Guard::Make({directory_.string()}, {}));
  }
  ~PrepareTest() override { fs::remove_all(directory_); }

  v1::Assignment Assignment(const std::string& path, uint32_t count, uint64_t bytes) const {
    v1::Assignment assignment;
    v1::TargetAssignment* target = assignment.add_targets();
    target->mutable_target()->set_name("t");
    target->mutable_target()->mutable_file()->set_path((directory_ / path).string());
    target->mutable_target()->mutable_file()->set_count(count);
    target->mutable_target()->mutable_file()->set_size_bytes(static_cast<int64_t>(bytes));
    target->set_file_count(count);
    assignment.mutable_prepare();
    return assignment;
  }
  absl::StatusOr<PrepareResult> Prepare(const v1::Assignment& assignment) {
    return PrepareFiles(*guard_, assignment, who_, stop_, [](uint64_t, uint64_t) {});
  }
  absl::StatusOr<uint64_t> Remove(const v1::Assignment& assignment) {
    return RemoveFiles(*guard_, assignment, who_, [] { return false; });
  }

  fs::path directory_;
  std::unique_ptr<Guard> guard_;
  std::atomic<bool> stop_{false};
  const RunIdentity who_{"node1", 0};
};

TEST_F(PrepareTest, FilesAreMadeOnceKeptWhileTheyFitAndRemovedWithTheirMarks) {
  const v1::Assignment assignment = Assignment("{host}/deep/file", 3, 1 << 20);
  auto made = Prepare(assignment);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->files_made, 3u);
  EXPECT_EQ(made->bytes_written, 3u << 20);
  const fs::path first = directory_ / "node1/deep/file";
  EXPECT_EQ(fs::file_size(first), 1u << 20);
  EXPECT_TRUE(fs::exists(first.string() + ".lockstep"));
  EXPECT_TRUE(fs::exists(first.string() + ".2"));
  auto kept = Prepare(assignment);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->files_made, 0u);
  EXPECT_EQ(kept->files_reused, 3u);
  EXPECT_EQ(kept->bytes_written, 0u);
  EXPECT_EQ(*Remove(assignment), 3u);
  EXPECT_FALSE(fs::exists(directory_ / "node1"));  // made for them, and empty
  EXPECT_EQ(*Remove(assignment), 0u);
}

TEST_F(PrepareTest, AFileOfAnotherSizeOrContentIsLaidOutAnew) {
  ASSERT_TRUE(Prepare(Assignment("file", 1, 1 << 20)).ok());
  auto larger = Prepare(Assignment("file", 1, 2 << 20));
  ASSERT_TRUE(larger.ok()) << larger.status();
  EXPECT_EQ(larger->files_made, 1u);
  EXPECT_EQ(fs::file_size(directory_ / "file"), 2u << 20);
  v1::Assignment zeros = Assignment("file", 1, 2 << 20);
  zeros.mutable_prepare()->mutable_content()->mutable_zeros();
  auto other = Prepare(zeros);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->files_made, 1u);
}

TEST_F(PrepareTest, SomebodyElsesFileIsNeitherWrittenNorRemoved) {
  std::ofstream(directory_ / "file") << "precious";
  const v1::Assignment assignment = Assignment("file", 1, 1 << 20);
  const auto refused = Prepare(assignment);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_NE(refused.status().message().find((directory_ / "file").string()), std::string::npos);
  EXPECT_FALSE(Remove(assignment).ok());
  std::string text;
  std::ifstream(directory_ / "file") >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_FALSE(fs::exists(directory_ / "file.lockstep"));
}

// One of several cannot be made: the others are gone again.
TEST_F(PrepareTest, WhatAFailedPrepareMadeIsRemoved) {
  std::ofstream(directory_ / "file.2") << "precious";
  ASSERT_FALSE(Prepare(Assignment("file", 3, 1 << 20)).ok());
  EXPECT_FALSE(fs::exists(directory_ / "file"));
  EXPECT_FALSE(fs::exists(directory_ / "file.lockstep"));
  EXPECT_FALSE(fs::exists(directory_ / "file.1"));
  EXPECT_TRUE(fs::exists(directory_ / "file.2"));
}

TEST_F(PrepareTest, AStopLeavesNothingBehind) {
  stop_ = true;
  EXPECT_FALSE(Prepare(Assignment("file", 2, 1 << 20)).ok());
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(PrepareTest, MoreThanTheFileSystemHoldsIsRefusedBeforeAnythingIsMade) {
  const auto refused = Prepare(Assignment("file", 1, uint64_t{1} << 60));
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(PrepareTest, OnceItIsTooLateNothingMoreIsRemoved) {
  const v1::Assignment assignment = Assignment("file", 2, 1 << 20);
  ASSERT_TRUE(Prepare(assignment).ok());
  const auto late = RemoveFiles(*guard_, assignment, who_, [] { return true; });
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(fs::exists(directory_ / "file"));
  EXPECT_TRUE(fs::exists(directory_ / "file.1"));
}

TEST_F(PrepareTest, OutsideTheAllowListNothingIsMade) {
  v1::Assignment assignment = Assignment("file", 1, 4096);
  const fs::path outside = directory_.parent_path() / "outside";
  assignment.mutable_targets(0)->mutable_target()->mutable_file()->set_path(outside.string());
  EXPECT_EQ(Prepare(assignment).status().code(), absl::StatusCode::kPermissionDenied);
  assignment.mutable_targets(0)->mutable_target()->mutable_file()->set_path(
      (directory_ / "../outside").string());
  EXPECT_FALSE(Prepare(assignment).ok());
  EXPECT_FALSE(fs::exists(outside));
}

}  // namespace
}  // namespace lockstep::worker
