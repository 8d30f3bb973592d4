#include "controller/runs/run_actor.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "controller/runs/run_plan.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(RunActorTest, FilesAreLaidOutByPrepareAndByLoadsThatCreateThem) {
  v1::JobSpec job;
  job.add_phases()->mutable_prepare();
  job.add_phases()->mutable_run()->add_workloads();
  job.add_phases()->mutable_run()->add_workloads()->set_create(true);
  job.add_phases()->mutable_cleanup();
  EXPECT_TRUE(StillLaysOut(job, 0));
  EXPECT_TRUE(StillLaysOut(job, 1));
  EXPECT_TRUE(StillLaysOut(job, 2));
  EXPECT_FALSE(StillLaysOut(job, 3));
}

TEST(RunActorTest, PhasesToComeAreThoseOfTheJob) {
  v1::JobSpec job;
  for (const char* name : {"prepare", "mix", "scan", "verify"}) job.add_phases()->set_name(name);
  EXPECT_EQ(PhasesAfter(job, 0, 5), (std::vector<std::string>{"mix", "scan", "verify"}));
  EXPECT_EQ(PhasesAfter(job, 0, 2), (std::vector<std::string>{"mix", "scan"}));
  EXPECT_TRUE(PhasesAfter(job, 3, 5).empty());
}

TEST(RunActorTest, LostHostsAreCountedAndTheFirstAreNamed) {
  SettledRun run;
  run.workers.resize(4);
  for (int i = 0; i < 4; ++i) {
    run.workers[i].hello.mutable_host()->set_name(absl::StrCat("node", i));
  }
  v1::PhaseChange change;
  DescribeLost(run, {1, 2, 3}, 2, &change);
  EXPECT_EQ(change.run_hosts(), 4u);
  EXPECT_EQ(change.lost_count(), 3u);
  ASSERT_EQ(change.lost_size(), 2);
  EXPECT_EQ(change.lost(0), "node1");
  EXPECT_EQ(change.lost(1), "node2");
}

// Counts what would be written to the store.
class CountingLoop final : public Loop {
 public:
  void Post(std::function<void()>) override {}
  void After(absl::Duration, std::function<void()>) override {}
  void Persist(std::function<absl::Status()>, std::function<void(const absl::Status&)>) override {
    ++written;
  }
  void RunInBackground(std::function<absl::Status()>,
                       std::function<void(const absl::Status&)>) override {}
  int written = 0;
};

class NobodyAttached final : public FleetLink {
 public:
  bool Send(const std::string&, v1::ControllerMessage) override { return false; }
  void PingBurst(const std::vector<std::string>&) override {}
  ClockEstimator::Estimate ClockAt(const std::string&, int64_t) const override { return {}; }
  std::vector<v1::Hello> Hellos() const override { return {}; }
  int64_t WallDifferenceNs(const std::string&) const override { return 0; }
  int64_t lease_ns() const override { return timing::kDefaultLeaseNs; }
};

// Each note is a row of the store, and a bad link breaks as long as a run lasts.
TEST(RunActorTest, ALinkThatBreaksAgainAndAgainIsNotedFiftyTimes) {
  SettledRun run;
  run.run_id = "11111111-2222-4333-8444-555555555555";
  run.job.add_phases()->mutable_run()->add_workloads();
  run.workers.resize(1);
  run.workers[0].hello.set_worker_id("w");
  run.workers[0].hello.mutable_host()->set_name("node1");
  CountingLoop loop;
  NobodyAttached fleet;
  Watchers watchers;
  ActorServices services{};
  services.fleet = &fleet;
  services.watchers = &watchers;
  services.clock = &common::SystemClock();
  services.loop = &loop;
  const auto actor = std::make_shared<RunActor>(std::move(run), std::move(services), [] {});
  actor->OnDetached("of another run");
  EXPECT_EQ(loop.written, 0);
  actor->OnDetached("w");
  EXPECT_EQ(loop.written, 1);
  for (int i = 0; i < 100; ++i) actor->OnDetached("w");
  EXPECT_EQ(loop.written, 50);
}

}  // namespace
}  // namespace lockstep::controller
