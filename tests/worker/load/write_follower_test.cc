#include "worker/load/write_follower.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "measure/block_runs.h"
#include "tests/worker/simulated_time.h"

namespace lockstep::worker {
namespace {

v1::WriteLogPart Part(uint32_t worker, uint64_t sequence, uint64_t block, uint32_t generation) {
  v1::WriteLogPart part;
  part.set_worker_index(worker);
  part.set_sequence(sequence);
  part.mutable_writes()->set_target_key(77);
  measure::BlockRunsWriter writer(
      [&](std::string runs) { part.mutable_writes()->set_runs(std::move(runs)); });
  writer.Add(block, generation, measure::BlockContent::kKnown);
  writer.Finish();
  return part;
}

class WriteFollowerTest : public ::testing::Test {
 protected:
  WriteFollower::Followed Followed(int64_t staleness_ns) {
    WriteFollower::Followed followed;
    followed.request.add_target_keys(77);
    followed.ledgers[77] = ledger_;
    followed.staleness_ns = staleness_ns;
    return followed;
  }
  FetchWriteLog Fetch() {
    return [this](const v1::WriteLogRequest& request, int64_t limit_ns, const auto& take) {
      EXPECT_GT(limit_ns, 0);
      asked_.push_back(request);
      for (const v1::WriteLogPart& part : std::exchange(answer_, {})) {
        if (absl::Status status = take(part); !status.ok()) return status;
      }
      return status_;
    };
  }
  uint32_t Known(uint64_t block) { return BlockLedger::GenerationOf(ledger_->StateOf(block)); }

  SimulatedTime clock_;
  std::shared_ptr<BlockLedger> ledger_ = *BlockLedger::Make(16);
  std::vector<v1::WriteLogRequest> asked_;
  std::vector<v1::WriteLogPart> answer_;
  absl::Status status_;
};

TEST_F(WriteFollowerTest, WhatWasToldIsNotAskedForAgain) {
  WriteFollower follower(Fetch(), &clock_);
  follower.Add(Followed(0));
  answer_ = {Part(0, 4, 3, 1), Part(2, 9, 5, 7), Part(0, 6, 3, 2)};
  follower.Poll();
  EXPECT_EQ(Known(3), 2u);
  EXPECT_EQ(Known(5), 7u);
  EXPECT_TRUE(asked_[0].received().empty());
  // An answer that breaks off has told what came.
  answer_ = {Part(2, 11, 6, 1)};
  status_ = absl::UnavailableError("gone");
  follower.Poll();
  EXPECT_EQ(Known(6), 1u);
  follower.Poll();
  ASSERT_EQ(asked_[2].received_size(), 2);
  EXPECT_EQ(asked_[2].received(0).items(), 7u);
  EXPECT_EQ(asked_[2].received(1).worker_index(), 2u);
  EXPECT_EQ(asked_[2].received(1).items(), 12u);
}

TEST_F(WriteFollowerTest, WhatMayStayUnseenIsExpectedLater) {
  WriteFollower follower(Fetch(), &clock_);
  follower.Add(Followed(3000000000));
  answer_ = {Part(0, 0, 3, 1)};
  follower.Poll();
  EXPECT_EQ(Known(3), 0u);
  clock_.Pass(2999999999);
  follower.Poll();
  EXPECT_EQ(Known(3), 0u);
  clock_.Pass(1);
  follower.Poll();
  EXPECT_EQ(Known(3), 1u);
}

TEST_F(WriteFollowerTest, WhatIsNoEncodingOrOfAnotherPlaceTeachesNothing) {
  WriteFollower follower(Fetch(), &clock_);
  follower.Add(Followed(0));
  v1::WriteLogPart broken = Part(0, 0, 3, 1);
  broken.mutable_writes()->set_runs("\xff\xff");
  v1::WriteLogPart elsewhere = Part(0, 1, 3, 1);
  elsewhere.mutable_writes()->set_target_key(78);
  answer_ = {broken, elsewhere, Part(0, 2, 200, 1), Part(0, 3, 4, 1)};
  follower.Poll();
  EXPECT_EQ(Known(3), 0u);
  EXPECT_EQ(Known(4), 1u);
}

TEST_F(WriteFollowerTest, WhereNothingIsFollowedNothingIsAsked) {
  WriteFollower follower(Fetch(), &clock_);
  EXPECT_TRUE(follower.Begin().ok());
  follower.End();
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace lockstep::worker
