// Work that is given up: it changes nothing afterwards, and whoever gave up knows whether it had
// begun to. The work waits for events, so that it is late whatever the machine's speed.

#include "worker/host/time_limit.h"

#include <future>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

TEST(TimeLimitTest, WhatWasGivenUpBeforeItsFirstChangeNeverMakesIt) {
  std::promise<void> hanging;
  std::promise<bool> answer;
  const absl::Status status =
      ChangeWithinLimit("a", 1, [&hanging, &answer](const BeginChange& begin) {
        hanging.get_future().wait();
        answer.set_value(begin());
        return absl::OkStatus();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("nothing was changed"), std::string::npos) << status;
  hanging.set_value();
  EXPECT_FALSE(answer.get_future().get());
}

TEST(TimeLimitTest, WhatHadBegunMayStillBeFinished) {
  std::promise<void> hanging;
  std::promise<void> over;
  // Late by its own account, once it has begun: as a session of iSCSI is.
  const absl::Status own = ChangeWithinLimit("b", INT64_MAX / 2, [](const BeginChange& begin) {
    EXPECT_TRUE(begin());
    return absl::DeadlineExceededError("b: too late");
  });
  EXPECT_NE(own.message().find("may still be finished"), std::string::npos) << own;
  absl::Status status;
  bool begun = false;
  // With a limit so short that the work may not have begun: again until it has.
  for (int64_t limit_ns = 1000000; !begun; limit_ns *= 2) {
    hanging = std::promise<void>();
    over = std::promise<void>();
    std::promise<bool> began;
    status = ChangeWithinLimit("c", limit_ns, [&](const BeginChange& begin) {
      began.set_value(begin());
      hanging.get_future().wait();
      over.set_value();
      return absl::OkStatus();
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    const absl::Status again =
        ChangeWithinLimit("c", limit_ns, [](const BeginChange&) { return absl::OkStatus(); });
    EXPECT_NE(again.message().find("still does not answer; nothing was changed"), std::string::npos)
        << again;
    begun = began.get_future().get();
    EXPECT_EQ(status.message().find("may still be finished") != std::string::npos, begun) << status;
    hanging.set_value();
    over.get_future().wait();
    // It is over for those who ask next once its thread has said so.
    while (!WithinLimit("c", INT64_MAX / 2, [] { return absl::OkStatus(); }).ok()) {
    }
  }
}

TEST(TimeLimitTest, WhatIsInTimeIsWhatItReturns) {
  EXPECT_EQ(ChangeWithinLimit("d", INT64_MAX / 2,
                              [](const BeginChange& begin) {
                                EXPECT_TRUE(begin());
                                return absl::DataLossError("x");
                              }),
            absl::DataLossError("x"));
}

}  // namespace
}  // namespace lockstep::worker
