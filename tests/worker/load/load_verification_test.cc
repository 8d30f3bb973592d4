#include "worker/load/load_verification.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "measure/block_runs.h"
#include "tests/worker/simulated_time.h"
#include "worker/load/workload_setup.h"
#include "worker/workload/block_header.h"

namespace lockstep::worker {
namespace {

constexpr uint32_t kCheckedBlock = 4096;
constexpr uint64_t kCheckedBlocks = 16;
constexpr char kShared[] = "/shared/file";

// The write log of one file that several workers write.
class LoadVerificationTest : public testing::Test {
 protected:
  LoadVerificationTest() {
    assignment_.mutable_phase()->set_run_id("this run");
    workload_.mutable_workload()->set_block_size_bytes(kCheckedBlock);
    workload_.mutable_workload()->set_verify(true);
    targets_.emplace_back().set_is_shared(true);
    OpenedFile& file = opened_.files.emplace_back();
    file.path = kShared;
    file.thing = kShared;
    file.engine_file.size_bytes = kCheckedBlocks * kCheckedBlock;
    environment_.clock = &clock_;
    environment_.ledgers = &ledgers_;
    environment_.write_log = [this](const v1::WriteLogRequest& request, int64_t,
                                    const auto& take) -> absl::Status {
      EXPECT_EQ(request.target_keys_size(), 1);
      for (const v1::WriteLogPart& part : log_) {
        if (absl::Status status = take(part); !status.ok()) return status;
      }
      return absl::OkStatus();
    };
  }

  // Blocks of this size, of which the third is in its fifth generation.
  void Written(uint32_t block_size) {
    v1::BlockWrites* writes = log_.emplace_back().mutable_writes();
    writes->set_target_key(TargetKey(kShared));
    writes->set_block_size_bytes(block_size);
    measure::BlockRunsWriter writer([&](std::string runs) { writes->set_runs(std::move(runs)); });
    writer.Add(3, 5, measure::BlockContent::kKnown);
    writer.Finish();
  }
  // A worker was lost while it wrote.
  void Lost() { log_.emplace_back().set_unfinished(2); }

  absl::Status Prepare() {
    LoadVerification verification(&assignment_, &environment_);
    return verification.Prepare(workload_, targets_, opened_);
  }
  // Null where none was made.
  std::shared_ptr<BlockLedger> Ledger() {
    return ledgers_.Find(LedgerNameOf(opened_.files[0], workload_), kCheckedBlock);
  }

  SimulatedTime clock_;
  LedgerBook ledgers_;
  LoadEnvironment environment_;
  v1::Assignment assignment_;
  v1::WorkloadAssignment workload_;
  std::vector<v1::TargetAssignment> targets_;
  OpenTargets opened_;
  std::vector<v1::WriteLogPart> log_;
};

// The log has something of the file, but nothing that there would be a ledger for.
TEST_F(LoadVerificationTest, AWorkerThatIsLostAfterBlocksOfAnotherSizeIsSurvived) {
  Written(2 * kCheckedBlock);
  Lost();
  EXPECT_TRUE(Prepare().ok());
  EXPECT_EQ(Ledger(), nullptr);
}

TEST_F(LoadVerificationTest, WhatComesAfterBlocksOfAnotherSizeIsLearned) {
  Written(2 * kCheckedBlock);
  Written(kCheckedBlock);
  Lost();
  ASSERT_TRUE(Prepare().ok());
  ASSERT_NE(Ledger(), nullptr);
  EXPECT_EQ(BlockLedger::GenerationOf(Ledger()->StateOf(3)), 5u);
  EXPECT_EQ(BlockLedger::GenerationOf(Ledger()->StateOf(4)), 0u);
  EXPECT_TRUE(BlockLedger::IsAtLeast(Ledger()->StateOf(3)));
}

TEST_F(LoadVerificationTest, BlocksOfAnotherSizeOverwriteWhatWasLearned) {
  Written(kCheckedBlock);
  Written(2 * kCheckedBlock);
  ASSERT_TRUE(Prepare().ok());
  ASSERT_NE(Ledger(), nullptr);
  EXPECT_EQ(BlockLedger::GenerationOf(Ledger()->StateOf(3)), 0u);
}

// Otherwise all that the other run has written there would count as stale.
TEST_F(LoadVerificationTest, ARunThatWroteOnlyBlocksOfAnotherSizeCannotBeVerified) {
  workload_.set_check_run_id("another run");
  Written(2 * kCheckedBlock);
  const absl::Status refused = Prepare();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_NE(refused.message().find("wrote no block of 4096 bytes on /shared/file"),
            std::string::npos)
      << refused;
  Written(kCheckedBlock);
  EXPECT_TRUE(Prepare().ok());
}

}  // namespace
}  // namespace lockstep::worker
