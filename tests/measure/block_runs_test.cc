#include "measure/block_runs.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

struct Known {
  uint32_t generation = 0;
  BlockContent content = BlockContent::kKnown;
  bool operator==(const Known&) const = default;
};
using Blocks = std::map<uint64_t, Known>;

std::vector<std::string> Encode(const Blocks& blocks) {
  std::vector<std::string> encoded;
  BlockRunsWriter writer([&](std::string runs) { encoded.push_back(std::move(runs)); });
  for (const auto& [block, known] : blocks) writer.Add(block, known.generation, known.content);
  writer.Finish();
  return encoded;
}

Blocks Decode(const std::vector<std::string>& encoded, uint64_t blocks = uint64_t{1} << 40) {
  Blocks decoded;
  for (const std::string& runs : encoded) {
    const absl::Status status = ReadBlockRuns(
        runs, blocks,
        [&](uint64_t first, uint64_t count, uint32_t generation, BlockContent content) {
          for (uint64_t i = 0; i < count; ++i) decoded[first + i] = {generation, content};
        });
    EXPECT_TRUE(status.ok()) << status;
  }
  return decoded;
}

TEST(BlockRunsTest, WhatIsWrittenIsRead) {
  std::mt19937_64 random(7);
  Blocks blocks;
  for (int i = 0; i < 100000; ++i) {
    blocks[random() % 1000000] = {static_cast<uint32_t>(random() % 5), random() % 50 == 0
                                                                           ? BlockContent::kUnknown
                                                                           : BlockContent::kKnown};
  }
  blocks[(uint64_t{1} << 40) - 1] = {0xffffffff, BlockContent::kUnknown};
  const auto encoded = Encode(blocks);
  EXPECT_GT(encoded.size(), 4u);
  for (const std::string& runs : encoded) EXPECT_LT(runs.size(), 50u << 10);
  EXPECT_EQ(Decode(encoded), blocks);
}

TEST(BlockRunsTest, ASequentialPassIsOneRun) {
  Blocks blocks;
  for (uint64_t i = 0; i < 100000; ++i) blocks[i] = {3, BlockContent::kKnown};
  const auto encoded = Encode(blocks);
  ASSERT_EQ(encoded.size(), 1u);
  EXPECT_LE(encoded[0].size(), 8u);
  EXPECT_TRUE(Encode({}).empty());
}

TEST(BlockRunsTest, WhatMakesNoSenseIsRefusedAndNothingBeyondTheEndIsTaken) {
  uint64_t last = 0;
  const auto read = [&](const std::string& runs, uint64_t blocks) {
    return ReadBlockRuns(runs, blocks, [&](uint64_t first, uint64_t count, uint32_t, BlockContent) {
      last = std::max(last, first + count);
    });
  };
  std::mt19937_64 random(9);
  for (int i = 0; i < 20000; ++i) {
    std::string runs(random() % 40, 0);
    for (char& byte : runs) byte = static_cast<char>(random());
    (void)read(runs, 1000);
    EXPECT_LE(last, 1000u);
  }
  EXPECT_FALSE(read(std::string("\x00\x00\x02", 3), 1000).ok()) << "a run of no block";
  EXPECT_FALSE(read(std::string("\x00\x02", 2), 1000).ok()) << "cut off";
  EXPECT_FALSE(read(std::string("\x7f\x01\x02", 3), 100).ok()) << "beyond the end";
}

}  // namespace
}  // namespace lockstep::measure
