// Copies of blocks of a working set.

#include "worker/load/block_content.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

constexpr size_t kContentBlock = 4096;

// How often each content was written, of so many writes of two threads.
std::map<std::string, int> Written(uint64_t duplicate_blocks, double ratio, int writes) {
  ContentOptions options;
  options.duplicate_ratio = ratio;
  options.duplicate_blocks = duplicate_blocks;
  std::map<std::string, int> counts;
  for (const uint64_t seed : {1, 2}) {
    BlockContent content(options, seed);
    auto buffers =
        IoBuffers::Make(2 + content.extra_buffers(), kContentBlock, IoBuffers::Pages::kNormal);
    EXPECT_TRUE(buffers.ok());
    content.Prepare(**buffers, 0, 2);
    for (int i = 0; i < writes; ++i) {
      IoRequest request;
      request.kind = IoKind::kWrite;
      request.length = kContentBlock;
      request.offset = static_cast<uint64_t>(i) * kContentBlock;
      request.buffer = static_cast<uint32_t>(i % 2);
      content.Fill(**buffers, static_cast<uint64_t>(i) + 1, &request);
      ++counts[std::string((*buffers)->at(request.buffer), kContentBlock)];
    }
  }
  return counts;
}

TEST(BlockContentTest, AllThreadsCopyTheBlocksOfOneWorkingSet) {
  for (const uint64_t blocks : {4, 16, 17, 40}) {
    const auto counts = Written(blocks, 1, 2000);
    EXPECT_EQ(counts.size(), blocks);
    for (const auto& [content, count] : counts) EXPECT_GT(count, 0);
  }
}

TEST(BlockContentTest, TheOthersAreNoCopies) {
  for (const uint64_t blocks : {16, 40}) {
    int copied = 0;
    int alone = 0;
    for (const auto& [content, count] : Written(blocks, 0.5, 2000)) {
      (count > 1 ? copied : alone) += count;
    }
    EXPECT_NEAR(copied, 2000, 250) << blocks;
    EXPECT_EQ(copied + alone, 4000);
  }
}

}  // namespace
}  // namespace lockstep::worker
