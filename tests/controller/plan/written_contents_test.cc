// Contents that a run may overwrite without a confirmation: those that it has written itself,
// device by device, and only as it left them.

#include "controller/plan/written_contents.h"

#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

using testing::Test;

// Two hosts. Target 0 is one LUN that both see, target 1 a device of each one's own, target 2 a
// file of each one's own, target 3 one file that both see.
class WrittenContentsTest : public Test {
 protected:
  WrittenContentsTest() {
    for (const char* name : {"lun", "disk", "file", "common"}) {
      v1::Target* target = run_.job.add_targets();
      target->set_name(name);
      const bool is_file = run_.job.targets_size() > 2;
      is_file ? target->mutable_file()->set_path("/data") : target->mutable_device()->set_path("x");
    }
    for (uint32_t i = 0; i < 2; ++i) {
      const std::string number = std::to_string(i);
      PlanWorker worker = Worker("node" + number, "boot" + number);
      Inspect(&worker, 0)->set_device_identity("naa.600");
      Inspect(&worker, 1)->set_device_identity("loop-file:8:1:131");
      Inspect(&worker, 2)->set_filesystem_id("boot" + number + ":8:1");
      Inspect(&worker, 3)->set_filesystem_id("net:server:/export");
      run_.workers.push_back(worker);
    }
    written_ = WrittenContents(run_);
  }

  static v1::TargetInspection* Inspect(PlanWorker* worker, uint32_t target) {
    v1::TargetInspection* found = worker->inspection.add_targets();
    found->set_target(target);
    found->add_paths("/data");
    return found;
  }

  // An attempt in which the workers write the target.
  void Write(WrittenContents::Attempt attempt, const std::vector<uint32_t>& workers,
             uint32_t target) {
    std::vector<v1::Assignment> assignments;
    for (const uint32_t worker : workers) {
      v1::Assignment& assignment = assignments.emplace_back();
      assignment.set_worker_index(worker);
      v1::TargetAssignment* assigned = assignment.add_targets();
      assigned->set_index(target);
      assigned->set_written(true);
    }
    written_.Assign(attempt, assignments);
    written_.Start();
  }
  void Leave(WrittenContents::Attempt attempt, uint32_t worker, uint32_t target,
             const std::string& fingerprint) {
    v1::PhaseResult result;
    v1::LeftContent* left = result.add_left_contents();
    left->set_target(target);
    left->set_fingerprint(fingerprint);
    written_.TakeResult(attempt, worker, result);
  }
  v1::TargetAssignment Describe(WrittenContents::Attempt attempt, uint32_t worker,
                                uint32_t target) const {
    v1::TargetAssignment assigned;
    assigned.set_index(target);
    written_.Describe(attempt, worker, &assigned);
    return assigned;
  }
  std::vector<std::string> Left(WrittenContents::Attempt attempt, uint32_t worker,
                                uint32_t target) const {
    const v1::TargetAssignment assigned = Describe(attempt, worker, target);
    std::vector<std::string> left;
    for (const v1::LeftContent& one : assigned.left_contents()) left.push_back(one.fingerprint());
    return left;
  }

  using Contents = std::vector<std::string>;
  SettledRun run_;
  WrittenContents written_;
};

TEST_F(WrittenContentsTest, WhatOneHostWroteIsTheRunsOnThatDeviceAlone) {
  Write({1, 1}, {0}, 1);
  EXPECT_TRUE(Describe({2, 1}, 0, 1).written_before());
  EXPECT_FALSE(Describe({2, 1}, 1, 1).written_before()) << "another device of the same identity";
  Write({2, 1}, {0}, 0);
  EXPECT_TRUE(Describe({3, 1}, 1, 0).written_before()) << "the same LUN";
  Write({3, 1}, {0}, 2);
  EXPECT_FALSE(Describe({4, 1}, 1, 2).written_before()) << "a file of the other host's own";
  Write({4, 1}, {0}, 3);
  EXPECT_TRUE(Describe({5, 1}, 1, 3).written_before()) << "a file that both see";
}

TEST_F(WrittenContentsTest, AnAttemptDoesNotExcuseItself) {
  Write({1, 1}, {0}, 1);
  EXPECT_FALSE(Describe({1, 1}, 0, 1).written_before());
  EXPECT_TRUE(Describe({1, 2}, 0, 1).written_before()) << "an earlier attempt had its go";
}

TEST_F(WrittenContentsTest, WithoutAGoNothingWasWritten) {
  v1::Assignment assignment;
  assignment.add_targets()->set_index(1);
  assignment.mutable_targets(0)->set_written(true);
  written_.Assign({1, 1}, {assignment});
  EXPECT_FALSE(Describe({2, 1}, 0, 1).written_before());
}

TEST_F(WrittenContentsTest, TheNextPhaseFindsWhatTheLastWritersLeft) {
  Write({1, 1}, {0}, 0);
  Leave({1, 1}, 0, 0, "one");
  EXPECT_EQ(Left({2, 1}, 1, 0), Contents{"one"});
  Write({2, 1}, {0, 1}, 0);
  EXPECT_EQ(Left({3, 1}, 0, 0), Contents{}) << "nobody has said";
  Leave({2, 1}, 0, 0, "early");
  EXPECT_EQ(Left({3, 1}, 0, 0), Contents{}) << "the other may have written since";
  Leave({2, 1}, 1, 0, "late");
  EXPECT_EQ(Left({3, 1}, 0, 0), (Contents{"early", "late"}));
  EXPECT_EQ(Left({2, 1}, 0, 0), Contents{}) << "of the phase in progress nothing is known";
}

TEST_F(WrittenContentsTest, OnlyWritersSayWhatIsThere) {
  Write({1, 1}, {0}, 0);
  Leave({1, 1}, 1, 0, "of one that did not write");
  EXPECT_EQ(Left({2, 1}, 0, 0), Contents{});
  Leave({1, 2}, 0, 0, "of another attempt");
  EXPECT_EQ(Left({2, 1}, 0, 0), Contents{});
  Leave({1, 1}, 0, 77, "of no target");
  Leave({1, 1}, 0, 0, "left");
  written_.Start();  // the go is sent again
  EXPECT_EQ(Left({2, 1}, 0, 0), Contents{"left"});
}

TEST_F(WrittenContentsTest, APrepareWritesTheFilesThatItLaysOut) {
  v1::Assignment assignment;
  assignment.mutable_prepare();
  for (const uint32_t target : {2U, 3U}) {
    assignment.add_targets()->set_index(target);
  }
  assignment.mutable_targets(0)->set_file_count(1);
  written_.Assign({0, 1}, {assignment});
  written_.Start();
  EXPECT_TRUE(Describe({1, 1}, 0, 2).written_before());
  EXPECT_FALSE(Describe({1, 1}, 0, 3).written_before()) << "another worker's to lay out";
}

// Two files of one target that Lockstep did not make, of which a worker says what it left in each;
// a worker whose files are all Lockstep's has nothing to say.
TEST_F(WrittenContentsTest, OfFilesEachIsKnownByItsNumber) {
  Write({1, 1}, {0, 1}, 3);
  v1::PhaseResult result;
  for (const uint32_t file : {0U, 7U}) {
    v1::LeftContent* left = result.add_left_contents();
    left->set_target(3);
    left->set_file(file);
    left->set_fingerprint("left" + std::to_string(file));
  }
  written_.TakeResult({1, 1}, 0, result);
  EXPECT_EQ(Left({2, 1}, 1, 3), Contents{}) << "the other has no result yet";
  written_.TakeResult({1, 1}, 1, {});
  const v1::TargetAssignment next = Describe({2, 1}, 1, 3);
  ASSERT_EQ(next.left_contents_size(), 2);
  EXPECT_EQ(next.left_contents(1).file(), 7u);
  EXPECT_EQ(next.left_contents(1).fingerprint(), "left7");
}

}  // namespace
}  // namespace lockstep::controller
