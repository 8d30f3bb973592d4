// Blocks that do not match are saved for their owner alone, within bounds, and go with their run.

#include "worker/verify/mismatch_files.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "common/ids.h"
#include "common/limits.h"
#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

class MismatchFilesTest : public testing::Test {
 protected:
  MismatchFilesTest()
      : folder_(fs::path(getenv("TEST_TMPDIR")) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        files_(folder_ / "mismatches") {
    fs::create_directories(folder_);
  }
  ~MismatchFilesTest() override { fs::remove_all(folder_); }

  absl::Status Save(const std::string& run, const std::string& name, size_t bytes) const {
    return files_.Save(run, 0, 1, name, std::string(bytes, 'x')).status();
  }
  uint64_t Saved() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }
  static mode_t ModeOf(const fs::path& path) {
    struct stat facts;
    return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
  }

  const fs::path folder_;
  const MismatchFiles files_;
};

TEST_F(MismatchFilesTest, OnlyTheirOwnerReadsThem) {
  const std::string run = common::NewUuid();
  const auto path = files_.Save(run, 2, 1, "0-1-offset0.found", "secret");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(ModeOf(*path), 0600u);
  EXPECT_EQ(ModeOf(fs::path(*path).parent_path()), 0700u);
  EXPECT_EQ(ModeOf(folder_ / "mismatches"), 0700u);
  EXPECT_EQ(fs::path(*path).parent_path().filename(), run + "-phase2-attempt1");
}

TEST_F(MismatchFilesTest, ARunSavesSoMuchAndNoMore) {
  const std::string run = common::NewUuid();
  const auto half = static_cast<size_t>(limits::kMismatchRunBytes / 2);
  EXPECT_TRUE(Save(run, "a", half).ok());
  EXPECT_TRUE(Save(run, "b", half).ok());
  EXPECT_EQ(Save(run, "c", 1).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(MismatchFilesTest, TheOldestRunsMakeRoom) {
  const auto all = static_cast<size_t>(limits::kMismatchRunBytes);
  const std::string first = common::NewUuid();
  ASSERT_TRUE(Save(first, "a", all).ok());
  fs::last_write_time(folder_ / "mismatches" / (first + "-phase0-attempt1") / "a",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  for (int64_t i = 0; i < limits::kMismatchBytes / limits::kMismatchRunBytes; ++i) {
    ASSERT_TRUE(Save(common::NewUuid(), "a", all).ok());
  }
  EXPECT_LE(Saved(), static_cast<uint64_t>(limits::kMismatchBytes));
  EXPECT_FALSE(fs::exists(folder_ / "mismatches" / (first + "-phase0-attempt1")));
}

TEST_F(MismatchFilesTest, TheyGoWithTheirRun) {
  const std::string kept = common::NewUuid(), pruned = common::NewUuid();
  ASSERT_TRUE(Save(kept, "a", 10).ok());
  ASSERT_TRUE(Save(pruned, "a", 10).ok());
  files_.Remove({pruned, "../../etc", ""});
  EXPECT_TRUE(fs::exists(folder_ / "mismatches" / (kept + "-phase0-attempt1")));
  EXPECT_FALSE(fs::exists(folder_ / "mismatches" / (pruned + "-phase0-attempt1")));
}

}  // namespace
}  // namespace lockstep::worker
