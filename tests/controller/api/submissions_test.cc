// A job that is submitted twice with one key: which run it is, and when it is none.

#include "controller/api/submissions.h"

#include "common/ids.h"
#include "gtest/gtest.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

constexpr char kKey[] = "00112233445566778899aabbccddeeff";

class SubmissionsTest : public testing::Test {
 protected:
  SubmissionsTest() { EXPECT_TRUE(store_.AcquireEpoch("test").ok()); }

  static measure::RunRecord Run() {
    measure::RunRecord run;
    run.run_id = Submissions::RunIdOf("anna", kKey);
    run.source = "name: a";
    run.job.set_name("a");
    run.job.add_phases()->mutable_observe()->set_compare_with("last");
    run.job.add_phases()->mutable_verify()->set_of_run("last");
    run.job.add_phases()->mutable_run()->set_duration_ns(7);
    return run;
  }
  // As the store has it: the runs that it names are resolved.
  void Store(measure::RunRecord run) {
    v1::ObservePhase* observe = run.job.mutable_phases(0)->mutable_observe();
    observe->set_compare_with("11111111-1111-4111-8111-111111111111");
    observe->add_limits();
    run.job.mutable_phases(1)->mutable_verify()->set_of_run(observe->compare_with());
    ASSERT_TRUE(store_.Enqueue(run).ok());
  }
  absl::Status WhyNot(const measure::RunRecord& run) const {
    return submissions_.IsStored(run).status();
  }

  storage::MemoryDatabase database_;
  storage::MemoryStore store_{&database_};
  Submissions submissions_{&store_};
};

TEST_F(SubmissionsTest, AKeyIsOneRunOfOneCaller) {
  const std::string run = Submissions::RunIdOf("anna", kKey);
  // Of earlier versions, too: a controller that takes over may be a newer one.
  EXPECT_EQ(run, "9bf1250d-12a7-81d7-90b6-a06e0bb939ee");
  EXPECT_TRUE(common::IsUuid(run));
  EXPECT_EQ(Submissions::RunIdOf("anna", kKey), run);
  EXPECT_NE(Submissions::RunIdOf("bert", kKey), run);
  EXPECT_NE(Submissions::RunIdOf("anna", "00112233445566778899aabbccddeefe"), run);
}

TEST_F(SubmissionsTest, AKeyHas32Digits) {
  EXPECT_TRUE(Submissions::IsKey(kKey));
  for (const std::string& wrong :
       {std::string(), std::string(31, '0'), std::string(33, '0'), std::string(32, 'g'),
        std::string(32, 'A'), std::string(32, '\0')}) {
    EXPECT_FALSE(Submissions::IsKey(wrong)) << wrong;
  }
}

TEST_F(SubmissionsTest, ARunIsSubmittedByOneCallAtATime) {
  const std::string run = Submissions::RunIdOf("anna", kKey);
  std::shared_ptr<void> first = submissions_.Begin(run);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(submissions_.Begin(run), nullptr);
  EXPECT_NE(submissions_.Begin("another"), nullptr);
  // A copy of it goes on, as that of a run whose caller has given up.
  const std::shared_ptr<void> copy = std::move(first);
  EXPECT_EQ(submissions_.Begin(run), nullptr);
}

TEST_F(SubmissionsTest, ARunCanBeSubmittedAgainAfterACallThatFailed) {
  EXPECT_NE(submissions_.Begin("run"), nullptr);
  EXPECT_NE(submissions_.Begin("run"), nullptr);
}

TEST_F(SubmissionsTest, AMarkOutlivesItsService) {
  std::shared_ptr<void> mark;
  {
    Submissions other(&store_);
    mark = other.Begin("run");
  }
  EXPECT_NE(mark, nullptr);
}

TEST_F(SubmissionsTest, TheRunOfAnEarlierCallIsFound) {
  EXPECT_EQ(*submissions_.IsStored(Run()), false);
  Store(Run());
  const auto found = submissions_.IsStored(Run());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(*found);
}

TEST_F(SubmissionsTest, ARunThatHasEndedIsFoundToo) {
  Store(Run());
  ASSERT_TRUE(store_.EndRun(Run().run_id, {.state = measure::RunState::kCancelled}).ok());
  EXPECT_TRUE(submissions_.IsStored(Run()).ok());
  EXPECT_TRUE(*submissions_.IsStored(Run()));
}

TEST_F(SubmissionsTest, AnotherJobIsNot) {
  Store(Run());
  measure::RunRecord text = Run();
  text.source += " # now";
  EXPECT_TRUE(absl::IsAlreadyExists(WhyNot(text))) << WhyNot(text);
  // --set changes the job, and not its text.
  measure::RunRecord set = Run();
  set.job.mutable_phases(2)->mutable_run()->set_duration_ns(8);
  EXPECT_TRUE(absl::IsAlreadyExists(WhyNot(set))) << WhyNot(set);
  EXPECT_NE(WhyNot(set).message().find(Run().run_id), std::string::npos) << WhyNot(set);
}

TEST_F(SubmissionsTest, AStoreThatIsUnavailableIsNoAnswer) {
  store_.set_fate([](bool) { return storage::MemoryStore::Fate::kUnavailable; });
  EXPECT_TRUE(absl::IsUnavailable(WhyNot(Run()))) << WhyNot(Run());
}

}  // namespace
}  // namespace lockstep::controller
