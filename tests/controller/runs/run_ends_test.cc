#include "controller/runs/run_ends.h"

#include <deque>
#include <utility>

#include "gtest/gtest.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

// Does what it is given when it is told to.
class ManualLoop final : public Loop {
 public:
  void Post(std::function<void()> call) override { calls_.push_back(std::move(call)); }
  void After(absl::Duration, std::function<void()> call) override {
    calls_.push_back(std::move(call));
  }
  void Persist(std::function<absl::Status()> work,
               std::function<void(const absl::Status&)> then) override {
    calls_.push_back([work = std::move(work), then = std::move(then)] { then(work()); });
  }
  void RunInBackground(std::function<absl::Status()> work,
                       std::function<void(const absl::Status&)> then) override {
    Persist(std::move(work), std::move(then));
  }
  // The next call; false when there is none.
  bool Step() {
    if (calls_.empty()) return false;
    const auto call = std::move(calls_.front());
    calls_.pop_front();
    call();
    return true;
  }

 private:
  std::deque<std::function<void()>> calls_;
};

class RefusingStore final : public storage::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  absl::Status EndRun(const std::string& run_id, const storage::RunEnd& end) override {
    if (refuses) return absl::InternalError("relation \"runs\" does not exist");
    return MemoryStore::EndRun(run_id, end);
  }
  bool refuses = false;
};

class RunEndsTest : public testing::Test {
 protected:
  RunEndsTest() {
    EXPECT_TRUE(store_.AcquireEpoch("test").ok());
    measure::RunRecord run;
    run.run_id = kRun;
    EXPECT_TRUE(store_.Enqueue(run).ok());
    EXPECT_TRUE(store_.StartRun(kRun, {}).ok());
  }
  static constexpr char kRun[] = "11111111-2222-4333-8444-555555555555";
  storage::MemoryDatabase database_;
  RefusingStore store_{&database_};
  ManualLoop loop_;
  RunEnds ends_{&loop_, &store_};
  bool recorded_ = false;
};

TEST_F(RunEndsTest, TheStoreIsAskedAgainWhateverItSays) {
  store_.refuses = true;
  ends_.Record(kRun, {.state = measure::RunState::kDone}, [this] { recorded_ = true; });
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(loop_.Step());
  EXPECT_FALSE(recorded_);
  EXPECT_EQ(store_.GetRun(kRun)->state, measure::RunState::kRunning);
  EXPECT_EQ(ends_.ProblemOf(kRun), "relation \"runs\" does not exist");
  store_.refuses = false;
  while (loop_.Step()) {
  }
  EXPECT_TRUE(recorded_);
  EXPECT_EQ(store_.GetRun(kRun)->state, measure::RunState::kDone);
  EXPECT_EQ(ends_.ProblemOf(kRun), "");
}

TEST_F(RunEndsTest, AControllerThatEndsLeavesItToTheNext) {
  store_.refuses = true;
  ends_.Record(kRun, {.state = measure::RunState::kDone}, [this] { recorded_ = true; });
  ASSERT_TRUE(loop_.Step());
  ends_.StopTrying();
  while (loop_.Step()) {
  }
  EXPECT_TRUE(recorded_);
  EXPECT_EQ(store_.GetRun(kRun)->state, measure::RunState::kRunning);
}

}  // namespace
}  // namespace lockstep::controller
