#include "worker/workload/block_header.h"

#include <cstring>
#include <set>

#include "gtest/gtest.h"
#include "worker/workload/content.h"

namespace lockstep::worker {
namespace {

constexpr uint32_t kLength = 4096;

BlockHeader Header(uint32_t generation, uint64_t offset = 8192) {
  BlockHeader header;
  header.run_high = 1;
  header.run_low = 2;
  header.length = kLength;
  header.key = TargetKey("/data/file");
  header.offset = offset;
  header.generation = generation;
  header.content_seed = uint64_t{generation} * 77 + offset;
  return header;
}

std::string Block(const BlockHeader& header) {
  std::string block(kLength, 0);
  MakeBlock(header, block.data());
  return block;
}

BlockExpectation Expectation(uint32_t generation) {
  BlockExpectation e;
  e.run_high = 1;
  e.run_low = 2;
  e.key = TargetKey("/data/file");
  e.offset = 8192;
  e.length = kLength;
  e.generation = generation;
  return e;
}

BlockState StateOf(const std::string& block, const BlockExpectation& e) {
  const BlockFinding finding = CheckBlock(block.data(), e);
  EXPECT_EQ(finding.state == BlockState::kGood, finding.found.empty());
  return finding.state;
}

TEST(BlockHeaderTest, ABlockThatIsSealedAnewKeepsItsContent) {
  const std::string from = Block(Header(5, 4096));
  BlockHeader header = Header(1);
  header.content_seed = HeaderOf(from.data()).content_seed;
  std::string copy = from;
  SealBlock(header, copy.data());
  EXPECT_EQ(StateOf(copy, Expectation(1)), BlockState::kGood);
  EXPECT_TRUE(IsIntact(HeaderOf(copy.data())));
  EXPECT_EQ(copy, Block(header));  // made again from its header
  // Only the header and the marks at the ends of sectors are new.
  for (size_t i = sizeof(BlockHeader); i < kLength; ++i) {
    if (i % 512 < 504) {
      ASSERT_EQ(copy[i], from[i]) << i;
    }
  }
  copy[20] = static_cast<char>(copy[20] + 1);
  EXPECT_FALSE(IsIntact(HeaderOf(copy.data())));
}

TEST(BlockHeaderTest, EachFaultIsToldFromTheOthers) {
  const std::string now = Block(Header(5));
  const std::string before = Block(Header(4));
  EXPECT_EQ(StateOf(now, Expectation(5)), BlockState::kGood);
  EXPECT_EQ(StateOf(now, Expectation(0)), BlockState::kGood);  // nothing known but the header
  EXPECT_EQ(StateOf(before, Expectation(5)), BlockState::kStale);
  // A write completed here: what it wrote is lost or replaced.
  EXPECT_EQ(StateOf(std::string(kLength, 0), Expectation(5)), BlockState::kCorrupt);
  EXPECT_EQ(StateOf(std::string(kLength, 'x'), Expectation(5)), BlockState::kCorrupt);
  EXPECT_EQ(StateOf(std::string(kLength, 0), Expectation(0)), BlockState::kNeverWritten);
  EXPECT_EQ(StateOf(std::string(kLength, 'x'), Expectation(0)), BlockState::kNeverWritten);
  EXPECT_EQ(StateOf(Block(Header(5, 4096)), Expectation(5)), BlockState::kMisplaced);
  BlockHeader elsewhere = Header(5);
  elsewhere.key = TargetKey("/data/other");
  EXPECT_EQ(StateOf(Block(elsewhere), Expectation(5)), BlockState::kMisplaced);
  // The first half of the new content, the second of the old: at every sector boundary.
  for (size_t sector = 1; sector < kLength / 512; ++sector) {
    const std::string torn = now.substr(0, sector * 512) + before.substr(sector * 512);
    EXPECT_EQ(StateOf(torn, Expectation(5)), BlockState::kTorn) << sector;
    const std::string reversed = before.substr(0, sector * 512) + now.substr(sector * 512);
    EXPECT_EQ(StateOf(reversed, Expectation(5)), BlockState::kTorn) << sector;
  }
}

TEST(BlockHeaderTest, EveryFlippedBitIsSeen) {
  const std::string good = Block(Header(5));
  for (size_t bit = 0; bit < size_t{kLength} * 8; bit += 37) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(StateOf(bad, Expectation(5)), BlockState::kGood) << bit;
  }
}

TEST(BlockHeaderTest, BlocksOfAnotherRunCountOnlyWhenTheyMay) {
  BlockHeader other = Header(9);
  other.run_low = 3;
  BlockExpectation e = Expectation(0);
  EXPECT_EQ(StateOf(Block(other), e), BlockState::kStale);
  e.any_run = true;
  EXPECT_EQ(StateOf(Block(other), e), BlockState::kGood);
}

TEST(BlockHeaderTest, ABlockCanBeMadeAgainFromItsHeader) {
  const std::string block = Block(Header(7));
  BlockHeader read;
  memcpy(&read, block.data(), sizeof read);
  EXPECT_EQ(read.generation, 7u);
  EXPECT_EQ(Block(read), block);
}

TEST(ContentTest, CompressibleContentHasItsShareOfZeros) {
  std::string block(size_t{64} * 1024, 'x');
  FillContent(block.data(), block.size(), 0.3, 5);
  const auto zeros = static_cast<double>(std::count(block.begin(), block.end(), '\0'));
  EXPECT_NEAR(zeros / static_cast<double>(block.size()), 0.7, 0.01);
  FillContent(block.data(), block.size(), 1, 5);
  std::string again(block.size(), 0);
  FillContent(again.data(), again.size(), 1, 5);
  EXPECT_EQ(block, again);
  std::set<std::string> units;
  for (size_t at = 0; at < block.size(); at += 16) units.insert(block.substr(at, 16));
  EXPECT_EQ(units.size(), block.size() / 16);
}

TEST(ContentTest, StampedBlocksDiffer) {
  std::string a(8192, 'x'), b(8192, 'x');
  StampContent(a.data(), a.size(), 4096, 1);
  StampContent(b.data(), b.size(), 4096, 2);
  EXPECT_NE(a.substr(0, 4096), b.substr(0, 4096));
  EXPECT_NE(a.substr(4096), b.substr(4096));
}

TEST(BlockHeaderTest, AfterALossAnythingFromTheKnownGenerationOnIsGood) {
  BlockExpectation e = Expectation(5);
  e.at_least = true;
  EXPECT_EQ(CheckBlock(Block(Header(5)).data(), e).state, BlockState::kGood);
  EXPECT_EQ(CheckBlock(Block(Header(9)).data(), e).state, BlockState::kGood);
  const BlockFinding finding = CheckBlock(Block(Header(4)).data(), e);
  EXPECT_EQ(finding.state, BlockState::kStale);
  EXPECT_NE(finding.expected.find("generation 5 or newer"), std::string::npos) << finding.expected;
}

TEST(BlockHeaderTest, WritersAreNamedWithTheirTime) {
  const std::vector<std::string> writers = {"node1", "node2 as /dev/sdb"};
  BlockHeader header = Header(4);
  header.worker = 1;
  header.phase = 2;
  header.written_ns = 1763942400000000000;
  BlockExpectation e = Expectation(5);
  e.writers = &writers;
  e.writer = 0;
  const BlockFinding finding = CheckBlock(Block(header).data(), e);
  EXPECT_NE(finding.found.find("of worker 1 (node2 as /dev/sdb), phase 2, write 0 at "
                               "2025-11-24T00:00:00.000Z by its clock"),
            std::string::npos)
      << finding.found;
  EXPECT_NE(finding.expected.find(", by node1"), std::string::npos) << finding.expected;
}

TEST(BlockHeaderTest, AFaultIsOneOnlyIfNoWriteInProgressExplainsIt) {
  BlockExpectation e = Expectation(5);
  e.at_least = true;
  e.written_since = true;
  EXPECT_EQ(CheckBlock(Block(Header(5)).data(), e).state, BlockState::kGood);
  EXPECT_EQ(CheckBlock(Block(Header(7)).data(), e).state, BlockState::kGood);
  EXPECT_EQ(CheckBlock(Block(Header(4)).data(), e).state, BlockState::kStale);
  EXPECT_EQ(CheckBlock(std::string(kLength, 0).data(), e).state, BlockState::kCorrupt);
  EXPECT_EQ(CheckBlock(Block(Header(6, 4096)).data(), e).state, BlockState::kMisplaced);
  const auto mixed = [](uint32_t first, uint32_t then, size_t from) {
    return Block(Header(first)).substr(0, from) + Block(Header(then)).substr(from);
  };
  // Wherever the next write has come to, at a sector's end or in the middle of one.
  for (const size_t from : {size_t{60}, size_t{512}, size_t{700}, size_t{2048}, size_t{3000}}) {
    EXPECT_EQ(CheckBlock(mixed(6, 5, from).data(), e).state, BlockState::kUnsettled) << from;
    EXPECT_EQ(CheckBlock(mixed(5, 6, from).data(), e).state, BlockState::kUnsettled) << from;
    EXPECT_EQ(CheckBlock(mixed(7, 6, from).data(), e).state, BlockState::kUnsettled) << from;
  }
  // A sector from before what was acknowledged: no write leaves that behind.
  const BlockFinding torn = CheckBlock(mixed(5, 4, 1024).data(), e);
  EXPECT_EQ(torn.state, BlockState::kTorn);
  EXPECT_NE(torn.found.find("at byte 1024 generation 4"), std::string::npos) << torn.found;
  EXPECT_EQ(CheckBlock(mixed(4, 6, 512).data(), e).state, BlockState::kTorn);
}

}  // namespace
}  // namespace lockstep::worker
