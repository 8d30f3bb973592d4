// A worker speaks of blocks in its own part of a target, and of no others.

#include "controller/plan/block_claims.h"

#include "common/units.h"
#include "gtest/gtest.h"
#include "measure/block_runs.h"
#include "measure/target_key.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

using common::kMiB;

class BlockClaimsTest : public testing::Test {
 protected:
  // A LUN of 8 MiB that four hosts share so, and two private files of 1 MiB each.
  explicit BlockClaimsTest(v1::Sharing sharing = v1::SHARING_SLICED) {
    v1::Target* lun = run_.job.add_targets();
    lun->set_name("lun");
    lun->set_sharing(sharing);
    lun->set_stripe_bytes(1 << 16);
    lun->mutable_device()->set_path("/dev/sda");
    v1::Target* file = run_.job.add_targets();
    file->set_name("file");
    file->set_sharing(v1::SHARING_PRIVATE);
    file->mutable_file()->set_path("/data/{host}");
    file->mutable_file()->set_count(2);
    file->mutable_file()->set_size_bytes(kMiB);
    for (int i = 0; i < 4; ++i) {
      PlanWorker worker = Worker("node" + std::to_string(i), "boot" + std::to_string(i));
      v1::TargetInspection* found = worker.inspection.add_targets();
      found->set_device_identity(kLun);
      found->set_size_bytes(8 * kMiB);
      worker.inspection.add_targets()->set_target(1);
      run_.workers.push_back(worker);
    }
  }

  static v1::BlockWrites Writes(uint64_t place, uint64_t first, uint64_t count,
                                uint32_t generation = 1,
                                measure::BlockContent content = measure::BlockContent::kKnown) {
    v1::BlockWrites writes;
    writes.set_target_key(place);
    writes.set_block_size_bytes(4096);
    measure::BlockRunsWriter runs([&](std::string bytes) { writes.set_runs(std::move(bytes)); });
    for (uint64_t b = first; b < first + count; ++b) runs.Add(b, generation, content);
    runs.Finish();
    return writes;
  }

  SettledRun run_;
  const uint64_t lun_ = measure::TargetKey(kLun);
};

TEST_F(BlockClaimsTest, OfASlicedTargetOnlyTheOwnSlice) {
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 512, 1)).ok()) << "it does not write the target";
  for (uint32_t w = 0; w < 4; ++w) claims.AddWriter(w, 0);
  // Worker 1 of 4 has bytes 2 MiB to 4 MiB.
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 512, 512)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 511, 2)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 1023, 2)).ok());
  const absl::Status hidden =
      claims.Check(1, Writes(lun_, 0, 4, 0, measure::BlockContent::kUnknown));
  EXPECT_EQ(hidden.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(hidden.message().find("blocks 0 to 3 (4096 bytes each) of target lun"),
            absl::string_view::npos)
      << hidden;
}

TEST_F(BlockClaimsTest, SlicesOfAnEnrolledDeviceBeginBehindItsStamp) {
  for (PlanWorker& worker : run_.workers) {
    worker.inspection.mutable_targets(0)->set_stamp_bytes(kMiB);
  }
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  for (uint32_t w = 0; w < 4; ++w) claims.AddWriter(w, 0);
  // Blocks count from the device's begin: worker 1 has bytes 3 MiB to 5 MiB.
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 768, 512)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 767, 2)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 1279, 2)).ok());
  EXPECT_TRUE(claims.Check(3, Writes(lun_, 2303, 1)).ok());
  EXPECT_FALSE(claims.Check(0, Writes(lun_, 255, 1)).ok()) << "the stamp";
  EXPECT_FALSE(claims.Check(3, Writes(lun_, 2304, 1)).ok()) << "the other one";
}

TEST_F(BlockClaimsTest, NoNumberOfWritesThatCannotBe) {
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  claims.AddWriter(1, 0);
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 512, 1, measure::kMaxReportedGeneration)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 512, 1, measure::kMaxReportedGeneration + 1)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 512, 1, 0)).ok());
  v1::BlockWrites odd = Writes(lun_, 512, 1);
  odd.set_block_size_bytes(100);
  EXPECT_FALSE(claims.Check(1, odd).ok());
}

TEST_F(BlockClaimsTest, OfPrivateFilesTheOwnOnes) {
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  for (uint32_t w = 0; w < 4; ++w) claims.AddWriter(w, 1);
  const uint64_t second = measure::TargetKey("/data/node1.1 on node1");
  EXPECT_TRUE(claims.Check(1, Writes(second, 0, 256)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(second, 0, 257)).ok()) << "beyond the file";
  EXPECT_FALSE(claims.Check(2, Writes(second, 0, 1)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(12345, 0, 1)).ok());
}

class Interleaved : public BlockClaimsTest {
 protected:
  Interleaved() : BlockClaimsTest(v1::SHARING_INTERLEAVED) {}
};

TEST_F(Interleaved, OfStripesTheOwnOnes) {
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  claims.AddWriter(1, 0);
  // Stripes of 16 blocks; worker 1 has stripes 1, 5, 9, …
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 16, 16)).ok());
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 80, 16)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 16, 17)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 32, 1)).ok());
}

TEST_F(Interleaved, StripesOfAnEnrolledDeviceCountFromItsBegin) {
  for (PlanWorker& worker : run_.workers) {
    worker.inspection.mutable_targets(0)->set_stamp_bytes(kMiB);
  }
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  claims.AddWriter(1, 0);
  EXPECT_TRUE(claims.Check(1, Writes(lun_, 272, 16)).ok()) << "stripe 17";
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 256, 16)).ok()) << "stripe 16";
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 16, 16)).ok()) << "the stamp";
}

class Owned : public BlockClaimsTest {
 protected:
  Owned() : BlockClaimsTest(v1::SHARING_OWNED) {}
};

TEST_F(Owned, WhoWritesSpeaksOfAllOfIt) {
  BlockClaims claims(run_, BlockClaims::Writers::kNamed);
  claims.AddWriter(2, 0);
  EXPECT_TRUE(claims.Check(2, Writes(lun_, 0, 2048)).ok());
  EXPECT_FALSE(claims.Check(1, Writes(lun_, 0, 1)).ok());
  v1::BlockWrites nothing_known;
  nothing_known.set_target_key(lun_);
  EXPECT_TRUE(claims.Check(2, nothing_known).ok());
  EXPECT_FALSE(claims.Check(1, nothing_known).ok());
  BlockClaims taken_over(run_, BlockClaims::Writers::kAny);
  EXPECT_TRUE(taken_over.Check(1, Writes(lun_, 0, 1)).ok())
      << "an earlier controller's writers are not known";
}

}  // namespace
}  // namespace lockstep::controller
