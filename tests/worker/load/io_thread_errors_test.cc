// I/Os that fail, and engines that the kernel refuses.

#include <cerrno>
#include <utility>
#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/load/io_thread_run.h"

namespace lockstep::worker {
namespace {

using timing::kSecond;

// As io_uring on a kernel that does not have it.
class RefusedEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup&) override { return absl::UnimplementedError("no rings"); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest>, int, int64_t,
                               absl::Span<IoCompletion>) override {
    return absl::InternalError("was never opened");
  }
  std::string Describe() const override { return "refused"; }
};

TEST(IoThreadTest, AFallbackDoesTheLoadAndTheNotesSayWhy) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({100000}, &time, 1);
  const auto real = setup.make_engine;
  setup.make_engine = [] { return std::make_unique<RefusedEngine>(); };
  setup.fallbacks = {setup.make_engine, real};
  const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, kSecond);
  EXPECT_GT(outcome.reads.counts().operations, 0u);
  EXPECT_EQ(outcome.io.engine, real()->Describe());
  ASSERT_FALSE(outcome.io.notes.empty());
  EXPECT_EQ(outcome.io.notes[0], real()->Describe() + " instead of the default engine: no rings");
}

TEST(IoThreadTest, WithoutAFallbackARefusedEngineIsAnError) {
  SimulatedTime time;
  Timeline timeline(kSecond, 0);
  IoThreadSetup setup = SetupOf({100000}, &time, 1);
  setup.make_engine = [] { return std::make_unique<RefusedEngine>(); };
  IoThread thread(std::move(setup), RandomReads(), &timeline, &time);
  EXPECT_EQ(thread.Arm().message(), "no rings");
}

// Fails the n-th I/O as scripted, once each.
class FailingEngine final : public IoEngine {
 public:
  FailingEngine(std::vector<int32_t> results, const SimulatedTime* time)
      : results_(std::move(results)), time_(time) {}
  absl::Status Open(const EngineSetup&) override { return absl::OkStatus(); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      time_->Pass(1000);
      completions[i] = {requests[i].slot, next_ < results_.size()
                                              ? results_[next_]
                                              : static_cast<int32_t>(requests[i].length)};
      ++next_;
    }
    return static_cast<int>(requests.size());
  }
  std::string Describe() const override { return "failing"; }

 private:
  const std::vector<int32_t> results_;
  const SimulatedTime* time_;
  size_t next_ = 0;
};

Outcome RunFailing(std::vector<int32_t> results, uint64_t error_limit) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({}, &time, 1);
  setup.make_engine = [&] { return std::make_unique<FailingEngine>(results, &time); };
  setup.quota = 10;
  setup.error_limit = error_limit;
  return RunFor(std::move(setup), RandomReads(), &time, kSecond);
}

TEST(IoThreadTest, EachErrorHasItsConsequence) {
  Outcome retried = RunFailing({-EINTR, -EAGAIN, -EINTR}, 5);
  EXPECT_EQ(retried.reads.counts().operations, 10u);
  EXPECT_EQ(retried.reads.counts().errors, 0u);
  EXPECT_EQ(retried.io.retries, 3u);
  Outcome counted = RunFailing({-EIO, 4096, -EIO}, 5);
  EXPECT_EQ(counted.reads.counts().operations, 8u);
  EXPECT_EQ(counted.reads.counts().errors, 2u);
  EXPECT_EQ(counted.io.fatal, "");
  EXPECT_NE(counted.io.first_error.find("read of 4096 bytes at offset"), std::string::npos)
      << counted.io.first_error;
  Outcome over = RunFailing({-EIO, -EIO, -EIO}, 2);
  EXPECT_EQ(over.reads.counts().errors, 2u);
  EXPECT_NE(over.io.fatal.find("error_limit"), std::string::npos);
  Outcome hopeless = RunFailing({4096, -ENODEV}, 5);
  EXPECT_EQ(hopeless.reads.counts().operations, 1u);
  EXPECT_NE(hopeless.io.fatal.find("No such device"), std::string::npos);
  Outcome shortened = RunFailing({512}, 5);
  EXPECT_EQ(shortened.reads.counts().short_transfers, 1u);
  EXPECT_NE(shortened.io.first_error.find("short, 512 bytes"), std::string::npos);
  // beyond the end of a target that was cut: no fast reads of nothing
  Outcome ended = RunFailing({0, 0}, 5);
  EXPECT_EQ(ended.reads.counts().errors, 2u);
  EXPECT_NE(ended.io.first_error.find("the target ends"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::worker
