// Laying out files, and removing them again: in a directory of this test, through the real guard.

#include "worker/targets/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "worker/targets/foreign_files.h"
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

TEST_F(PrepareTest, ACopySDestinationIsItsOwnersAloneFromTheStart) {
  v1::Assignment assignment = Assignment("file", 1, 1 << 20);
  const std::string path = directory_ / "file";
  const auto mode = [&path] {
    struct stat facts;
    return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
  };
  ASSERT_TRUE(Prepare(assignment).ok());
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  std::ifstream early(path);  // as by anybody
  assignment.mutable_targets(0)->set_owner_only(true);
  const auto replaced = Prepare(assignment);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->files_made, 1u);
  EXPECT_EQ(mode(), 0600u);
  std::ofstream(path, std::ios::in) << "secret";
  std::string seen(6, ' ');
  early.read(seen.data(), 6);
  EXPECT_NE(seen, "secret") << "it is another file";
  const auto kept = Prepare(assignment);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->files_reused, 1u);
  EXPECT_EQ(*Remove(assignment), 1u);
  ASSERT_TRUE(Prepare(assignment).ok());
  EXPECT_EQ(mode(), 0600u);
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

// Files that Lockstep did not make, and that the job and the worker declare expendable.
class ForeignFilesTest : public PrepareTest {
 protected:
  static constexpr uint64_t kBytes = 32 << 20;

  ForeignFilesTest() {
    std::vector<std::string> paths;
    for (const char* name : {"file", "file.1"}) {
      std::ofstream(directory_ / name) << std::string(kBytes, 'p');
      paths.push_back(fs::canonical(directory_ / name));
    }
    guard_ = std::make_unique<Guard>(*Guard::Make({directory_.string()}, paths));
    assignment_ = Assignment("file", 2, kBytes);
    assignment_.mutable_prepare()->set_parallel(1);
    for (const std::string& path : paths) assignment_.add_expendable(path);
    for (uint32_t i = 0; i < 2; ++i) *Target()->add_foreign_files() = Now(i, FileDepth::kWhole);
  }

  v1::TargetAssignment* Target() { return assignment_.mutable_targets(0); }
  fs::path PathOf(uint32_t file) const {
    return directory_ / (file == 0 ? "file" : "file." + std::to_string(file));
  }
  v1::ForeignFile Now(uint32_t file, FileDepth depth) const {
    const common::FileDescriptor fd(open(PathOf(file).c_str(), O_RDONLY | O_CLOEXEC));
    auto now = DescribeForeign(file, fd, PathOf(file), depth);
    EXPECT_TRUE(now.ok()) << now.status();
    return now.ok() ? *now : v1::ForeignFile();
  }
  // One byte, where no sample is taken.
  void Change(uint32_t file) const {
    const common::FileDescriptor fd(open(PathOf(file).c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(pwrite(fd.get(), "x", 1, (10 << 20) + 12345), 1);
  }
  bool IsLaidOut(uint32_t file) const {
    // Laid out at random: a byte alone may be any.
    std::ifstream in(PathOf(file));
    std::string begin(16, '\0');
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    return begin != std::string(begin.size(), 'p');
  }

  v1::Assignment assignment_;
};

TEST_F(ForeignFilesTest, WhatWasConfirmedIsLaidOutAnew) {
  const auto made = Prepare(assignment_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(IsLaidOut(0) && IsLaidOut(1));
  ASSERT_EQ(made->left_contents.size(), 2u);
  EXPECT_EQ(made->left_contents[1].file(), 1u);
  EXPECT_EQ(made->left_contents[1].fingerprint(), Now(1, FileDepth::kSamples).fingerprint());
  EXPECT_FALSE(fs::exists(PathOf(0).string() + ".lockstep")) << "it is still somebody else's";
}

TEST_F(ForeignFilesTest, ATimeOfModificationThatWasSetBackHidesNothing) {
  struct stat before;
  ASSERT_EQ(stat(PathOf(1).c_str(), &before), 0);
  Change(1);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, PathOf(1).c_str(), times, 0), 0);
  const auto refused = Prepare(assignment_);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_FALSE(IsLaidOut(0) || IsLaidOut(1)) << "nothing before all are known";
}

// While the first is laid out somebody writes to the second.
TEST_F(ForeignFilesTest, EachIsLookedAtAgainRightBeforeItIsWritten) {
  std::atomic<bool> changed{false};
  const auto refused = PrepareFiles(*guard_, assignment_, who_, stop_, [&](uint64_t, uint64_t) {
    if (!changed.exchange(true)) Change(1);
  });
  EXPECT_TRUE(changed);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_TRUE(IsLaidOut(0));
  EXPECT_FALSE(IsLaidOut(1));
}

TEST_F(ForeignFilesTest, AfterTheRunHasWrittenThemTheyAreAsItLeftThem) {
  Target()->set_written_before(true);
  Change(1);
  for (uint32_t i = 0; i < 2; ++i) {
    v1::LeftContent* left = Target()->add_left_contents();
    left->set_file(i);
    left->set_fingerprint(Now(i, FileDepth::kSamples).fingerprint());
  }
  ASSERT_TRUE(Prepare(assignment_).ok()) << "not what was confirmed, but what the run left";
  const auto refused = Prepare(assignment_);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_NE(refused.status().message().find("when the run had last written to it"),
            std::string::npos)
      << refused.status();
}

TEST_F(ForeignFilesTest, AnotherFileOfThatNameIsRefused) {
  fs::rename(PathOf(1), directory_ / "before");
  fs::copy(directory_ / "before", PathOf(1));
  const auto refused = Prepare(assignment_);
  EXPECT_NE(refused.status().message().find("another file than when the run was confirmed"),
            std::string::npos)
      << refused.status();
}

}  // namespace
}  // namespace lockstep::worker
