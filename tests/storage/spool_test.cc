#include "storage/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/fakes/memory_spool.h"

namespace lockstep::storage {
namespace {

std::string Directory() {
  static int number = 0;
  return std::string(getenv("TEST_TMPDIR")) + "/spool" + std::to_string(++number);
}

std::vector<std::string> Files(const std::string& directory) {
  std::vector<std::string> files;
  DIR* dir = opendir(directory.c_str());
  while (const dirent* entry = readdir(dir)) {
    if (std::string(entry->d_name).find(".spool") != std::string::npos) {
      files.push_back(directory + "/" + entry->d_name);
    }
  }
  closedir(dir);
  return files;
}

// The fake and the real one do the same.
class SpoolTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Spool> Make(uint64_t limit) {
    if (GetParam()) return std::make_unique<MemorySpool>(limit);
    auto opened = FileSpool::Open(Directory(), limit);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
};

TEST_P(SpoolTest, FirstInFirstOut) {
  const auto spool = Make(1 << 20);
  EXPECT_TRUE(spool->empty());
  EXPECT_TRUE(spool->Peek(100)->empty());
  ASSERT_TRUE(spool->Append({"a", "bb"}).ok());
  ASSERT_TRUE(spool->Append({"ccc", std::string("\0d", 2)}).ok());
  EXPECT_EQ(*spool->Peek(1000),
            (std::vector<std::string>{"a", "bb", "ccc", std::string("\0d", 2)}));
  EXPECT_EQ(*spool->Peek(1), (std::vector<std::string>{"a"}));
  ASSERT_TRUE(spool->Drop(2).ok());
  EXPECT_EQ(*spool->Peek(3), (std::vector<std::string>{"ccc"}));
  ASSERT_TRUE(spool->Drop(2).ok());
  EXPECT_TRUE(spool->empty());
  ASSERT_TRUE(spool->Append({"e"}).ok());
  EXPECT_EQ(*spool->Peek(3), (std::vector<std::string>{"e"}));
}

TEST_P(SpoolTest, WhatDoesNotFitIsRefusedWhole) {
  const auto spool = Make(100);
  ASSERT_TRUE(spool->Append({std::string(40, 'a')}).ok());
  EXPECT_EQ(spool->Append({std::string(10, 'b'), std::string(80, 'c')}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(spool->Peek(1000)->size(), 1u);
  ASSERT_TRUE(spool->Drop(1).ok());
  EXPECT_TRUE(spool->Append({std::string(60, 'd')}).ok());
}

INSTANTIATE_TEST_SUITE_P(RealAndFake, SpoolTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Fake" : "Real"; });

TEST(FileSpoolTest, WhatWasAppendedIsThereAgainAndSegmentsGo) {
  const std::string directory = Directory();
  {
    auto spool = *FileSpool::Open(directory, 1 << 30);
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(spool->Append({std::to_string(i) + std::string(1 << 20, 'x')}).ok());
    }
    ASSERT_TRUE(spool->Drop(20).ok());
  }
  EXPECT_GE(Files(directory).size(), 2u);
  auto spool = *FileSpool::Open(directory, 1 << 30);
  int seen = 0;
  int last = -1;
  while (!spool->empty()) {
    const auto records = *spool->Peek(1);
    const int number = std::stoi(records[0]);
    EXPECT_TRUE(last == -1 || number == last + 1);
    last = number;
    ++seen;
    ASSERT_TRUE(spool->Drop(1).ok());
  }
  EXPECT_EQ(last, 39);
  EXPECT_GE(seen, 20);  // some that were dropped may be there again
  EXPECT_TRUE(Files(directory).empty());
}

// At every byte: a write that a crash cut off is dropped, what was before it stays.
TEST(FileSpoolTest, ATornWriteIsDropped) {
  for (int cut = 1; cut < 40; cut += 3) {
    const std::string directory = Directory();
    {
      auto spool = *FileSpool::Open(directory, 1 << 20);
      ASSERT_TRUE(spool->Append({"first", std::string(24, 's')}).ok());
    }
    const std::string file = Files(directory)[0];
    ASSERT_EQ(truncate(file.c_str(), 16 + 5 + 40 - cut), 0);
    auto spool = FileSpool::Open(directory, 1 << 20);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ(*(*spool)->Peek(1000), (std::vector<std::string>{"first"})) << cut;
  }
}

// Not what a crash cuts short: the record behind it is whole.
TEST(FileSpoolTest, ABrokenRecordBeforeAGoodOneIsSaidAndKept) {
  const std::string directory = Directory();
  {
    auto spool = *FileSpool::Open(directory, 1 << 20);
    ASSERT_TRUE(spool->Append({"first", "second", "third"}).ok());
  }
  const std::string file = Files(directory)[0];
  const int fd = open(file.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "X", 1, 16 + 5 + 16), 1);
  close(fd);
  const auto spool = FileSpool::Open(directory, 1 << 20);
  EXPECT_EQ(spool.status().code(), absl::StatusCode::kDataLoss) << spool.status();
  EXPECT_NE(spool.status().message().find("the record at offset 21 is broken"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(file), 3u * 16 + 5 + 6 + 5) << "nothing was cut off";
}

TEST(FileSpoolTest, ALinkInPlaceOfASegmentIsNotFollowed) {
  const std::string directory = Directory();
  { ASSERT_TRUE((*FileSpool::Open(directory, 1 << 20))->Append({"first"}).ok()); }
  const std::string file = Files(directory)[0];
  const std::string precious = directory + ".precious";
  ASSERT_EQ(rename(file.c_str(), precious.c_str()), 0);
  ASSERT_EQ(truncate(precious.c_str(), 18), 0);
  std::filesystem::create_symlink(precious, file);
  EXPECT_FALSE(FileSpool::Open(directory, 1 << 20).ok());
  EXPECT_EQ(std::filesystem::file_size(precious), 18u);
  std::filesystem::remove(precious);
}

TEST(FileSpoolTest, ABrokenRecordBeforeGoodSegmentsIsSaidWithItsPlace) {
  const std::string directory = Directory();
  {
    auto spool = *FileSpool::Open(directory, 1 << 30);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(spool->Append({std::string(1 << 20, 'x')}).ok());
  }
  std::vector<std::string> files = Files(directory);
  std::sort(files.begin(), files.end());
  const int fd = open(files[0].c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "y", 1, 100), 1);
  close(fd);
  const auto spool = FileSpool::Open(directory, 1 << 30);
  EXPECT_EQ(spool.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(spool.status().message().find(files[0] + ": the record at offset 0 is broken"),
            std::string::npos)
      << spool.status();
}

}  // namespace
}  // namespace lockstep::storage
